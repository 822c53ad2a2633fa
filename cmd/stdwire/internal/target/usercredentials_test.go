package target

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	streamableclient "github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/credential"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/auth"
	"github.com/stdwire/stdwire/server/streamable"
)

// A recorder keeps all that it is written, and every request to a handler.
type recorder struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// requests records the requests to h, with their headers and bodies.
func (r *recorder) requests(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		fmt.Fprintf(r, "%s %s %v\n%s\n", req.Method, req.RequestURI, req.Header, body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, req)
	})
}

// quotes returns a part of a secret that text has.
func quotes(text, secret string) string {
	const n = 12
	for i := range len(secret) - n + 1 {
		if strings.Contains(text, secret[i:i+n]) {
			return secret[i : i+n]
		}
	}
	return ""
}

type whoKey struct{}

// whoServer serves an MCP server over HTTP whose tool who says with which credentials it was
// called. It knows those that accepts returns true for, and the service's own, which can only list.
func whoServer(t *testing.T, seen *recorder, accepts func(http.Header) string) string {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "who", Summary: "Says who calls.", Type: dispatch.Read},
		func(ctx context.Context, _ struct{}) (string, error) {
			who, _ := ctx.Value(whoKey{}).(string)
			return "I know " + who, nil
		})
	h := streamable.Options{Authorize: func(r *http.Request) (streamable.Caller, error) {
		who := accepts(r.Header)
		if who == "" {
			return streamable.Caller{}, &streamable.Refusal{Status: 401}
		}
		return streamable.Caller{Principal: who,
			Context: context.WithValue(r.Context(), whoKey{}, who)}, nil
	}}.New(server.New(server.Info{Name: "who", Version: "1"}, c))
	s := httptest.NewServer(seen.requests(h))
	t.Cleanup(s.Close)
	return s.URL
}

// Users of a gateway call servers with their own credentials, in both eras, and whatever they call
// the gateway with reaches no server that has not asked for it by name: no request upstream, no
// line of the logs and no error has 12 bytes of a token.
func TestUserCredentials(t *testing.T) {
	tokens := map[string]string{"ada": "inbound-0123456789-of-ada",
		"bob": "inbound-9876543210-of-bob", "eve": "inbound-5555500000-of-eve"}
	keys := map[string]string{"ada": "key-aaaaaaaaaaaaaaaa", "bob": "key-bbbbbbbbbbbbbbbb"}
	seen, exchanged, log, audit := new(recorder), new(recorder), new(recorder), new(recorder)
	byKey := new(recorder)
	as := httptest.NewServer(exchanged.requests(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			w.Header().Set("Content-Type", "application/json")
			for user, token := range tokens {
				if user != "eve" && r.PostForm.Get("subject_token") == token {
					fmt.Fprintf(w, `{"access_token":"upstream-of-%s","token_type":"Bearer",`+
						`"expires_in":3600,"issued_token_type":`+
						`"urn:ietf:params:oauth:token-type:access_token"}`, user)
					return
				}
			}
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"no user has %s"}`,
				r.PostForm.Get("subject_token"))
		})))
	defer as.Close()
	service := func(h http.Header, who string) string {
		if h.Get("Authorization") == "Bearer of-the-service" {
			return "service"
		}
		return who
	}
	ex := whoServer(t, seen, func(h http.Header) string {
		user, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer upstream-of-")
		if !ok {
			user = ""
		}
		return service(h, user)
	})
	hd := whoServer(t, byKey, func(h http.Header) string { return service(h, h.Get("X-Up-Key")) })
	env := &config.Environment{Dir: t.TempDir(), Home: t.TempDir(), LookupEnv: os.LookupEnv,
		ReadFile: os.ReadFile, Exists: func(string) bool { return false }}
	f := config.Parse(env, config.Source{Path: "mcp.json", Workspace: env.Dir},
		fmt.Appendf(nil, `{"mcpServers": {
			"ex": {"url": %q, "headers": {"Authorization": "Bearer of-the-service"},
				"credentials": {"type": "exchange", "tokenEndpoint": %q, "clientId": "gateway",
					"clientSecret": "s3cret"}},
			"hd": {"url": %q, "headers": {"Authorization": "Bearer of-the-service"},
				"credentials": {"type": "header", "headers": {"X-Key": "X-Up-Key"}}}}}`,
			strings.Replace(ex, "://", "://service:s3cret@", 1), as.URL+"/token", hd))
	assert.NilError(t, f.Err())

	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	front := server.New(server.Info{Name: "front", Version: "1"}, dispatch.NewCatalog())
	g := gateway.Options{Logger: logger, Audit: audit, AuditValues: true}.New(front)
	defer g.Close()
	for _, s := range f.Servers {
		assert.NilError(t, s.Err)
		assert.NilError(t, g.Add(GatewayUpstream(s, &term.Streams{},
			func() (*config.Endpoint, error) { return s.Resolve(env) }, g, nil, logger)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	g.Settle(ctx)
	resource, err := auth.Options{Resource: "https://gw.example/mcp",
		AuthorizationServers: []string{"https://as.example"}, Logger: logger,
		Verify: func(_ context.Context, token string) (*auth.Identity, error) {
			for user, known := range tokens {
				if token == known {
					return &auth.Identity{Issuer: "https://as.example", Subject: user}, nil
				}
			}
			return nil, &auth.TokenError{Reason: "unknown"}
		}}.New()
	assert.NilError(t, err)
	web := httptest.NewServer(credential.Inbound(
		streamable.Options{Authorize: resource.Authorize}.New(front)))
	defer web.Close()

	var errs []string
	for _, era := range []mcp.Era{mcp.Modern, mcp.Legacy} {
		for user, token := range tokens {
			header := http.Header{"Authorization": {"Bearer " + token}}
			if keys[user] != "" {
				header.Set("X-Key", keys[user])
			}
			c, err := client.Options{Era: era}.Connect(ctx,
				streamableclient.Options{Header: header}.Dial(web.URL))
			assert.NilError(t, err)
			tools := 0
			for _, err := range c.Tools(ctx) {
				assert.NilError(t, err)
				tools++
			}
			want := 2
			if user == "eve" { // whose credentials are refused
				want = 0
			}
			assert.Equal(t, tools, want, user)
			for tool, want := range map[string]string{"ex__who": user, "hd__who": keys[user]} {
				for range 2 {
					result, err := c.CallTool(ctx, tool, nil)
					if user == "eve" {
						assert.Check(t, err != nil, "%s: %v", tool, result)
						errs = append(errs, fmt.Sprint(err))
						continue
					}
					assert.NilError(t, err)
					text, _ := mcp.Marshal(result)
					assert.Check(t, cmp.Contains(string(text), "I know "+want+`"`))
				}
			}
			_ = c.Close()
		}
	}
	assert.Check(t, cmp.Contains(fmt.Sprint(errs), "needs the header X-Key of its callers"))
	assert.Check(t, cmp.Contains(fmt.Sprint(errs), "invalid_grant"),
		"the token endpoint refuses eve")
	for _, request := range strings.Split(seen.String()+byKey.String(), "POST /") {
		assert.Check(t, !strings.Contains(request, "of-the-service") ||
			!strings.Contains(request, `"method":"tools/call"`),
			"nobody is served with the credentials of the service: %s", request)
	}
	for user, token := range tokens {
		for name, text := range map[string]string{"a request": seen.String() + byKey.String(),
			"the log": log.String(), "the audit log": audit.String(), "an error": fmt.Sprint(errs)} {
			assert.Check(t, cmp.Equal(quotes(text, token), ""), "%s has a part of a token", name)
			if keys[user] != "" && name != "a request" {
				assert.Check(t, cmp.Equal(quotes(text, keys[user]), ""), name)
			}
		}
	}
	assert.Check(t, !strings.Contains(seen.String(), "key-"), "only for the server that names it")
	assert.Check(t, cmp.Contains(byKey.String(), keys["ada"]))
	assert.Check(t, cmp.Contains(audit.String(), "https://as.example#ada"))
	assert.Equal(t, strings.Count(exchanged.String(), "POST /token"), 3,
		"one exchange for each user, in whatever era he calls: %s", exchanged.String())
}
