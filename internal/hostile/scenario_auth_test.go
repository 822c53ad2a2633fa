package hostile

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/auth"
)

// network answers requests as an MCP server and its authorization server do, without a network.
type network struct{ http.Handler }

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	n.ServeHTTP(rec, r)
	res := rec.Result()
	res.Request = r
	return res, nil
}

func authServers() http.Handler {
	var mu sync.Mutex
	refused := 0
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		rw.Header().Set("Content-Type", "application/json")
		body := ""
		switch path := r.URL.Path; {
		case strings.Contains(path, "oauth-protected-resource"):
			body = `{"resource":"https://mcp.example/mcp","authorization_servers":["https://as.example"]}`
		case strings.Contains(path, "oauth-authorization-server"):
			body = `{"issuer":"https://as.example","token_endpoint":"https://as.example/token","revocation_endpoint":"https://as.example/revoke",
				"token_endpoint_auth_methods_supported":["client_secret_basic"],"grant_types_supported":["refresh_token"]}`
		case path == "/token":
			body = `{"access_token":"a","token_type":"Bearer","expires_in":3600,"refresh_token":"r"}`
		case refused < 2: // at first, and once with a token
			refused++
			rw.Header().Set("WWW-Authenticate",
				`Bearer resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"`)
			rw.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = rw.Write([]byte(body))
	})
}

func authScenario(run *scenarioRun) {
	net := network{authServers()}
	a, err := auth.Options{
		Grant: auth.JWTBearer{Assertion: func(context.Context, string) (string, error) {
			run.enter("client/auth.JWTBearer.Assertion")
			return "assertion", nil
		}},
		Clients: []auth.Registration{
			{Issuer: "https://as.example", ClientID: "mine", Secret: "secret"}},
		Store: credentials{run.enter}, HTTP: &http.Client{Transport: net},
		Logger: run.logger("client/auth.Options.Logger"),
	}.New("https://mcp.example/mcp")
	run.must(err)
	other := network{authServers()}
	exchange, err := auth.Options{Eager: true, HTTP: &http.Client{Transport: other},
		Grant: auth.TokenExchange{TokenEndpoint: "https://as.example/token",
			Client: auth.Registration{ClientID: "mine", Secret: "secret"},
			Subject: func(context.Context) (string, time.Time, error) {
				run.enter("client/auth.TokenExchange.Subject")
				return "subject", time.Time{}, nil
			}}}.New("https://mcp.example/mcp")
	run.must(err)
	r, err := http.NewRequestWithContext(run.ctx, "GET", "https://mcp.example/mcp", nil)
	run.must(err)
	if resp, err := exchange.Wrap(other).RoundTrip(r); err == nil {
		_ = resp.Body.Close()
	}
	c := &http.Client{Transport: a.Wrap(net)}
	var asking sync.WaitGroup
	for range 3 { // all wait for one token request
		asking.Go(func() {
			r, err := http.NewRequestWithContext(run.ctx, "GET", "https://mcp.example/mcp", nil)
			run.must(err)
			if res, err := c.Do(r); err == nil {
				_ = res.Body.Close()
			}
		})
	}
	asking.Wait()
	a.Credentials()
	_ = a.Logout(run.ctx)
}
