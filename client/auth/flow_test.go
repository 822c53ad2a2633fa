package auth_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

// The whole flow, request by request.
func TestFlow(t *testing.T) {
	w := newWorld(t)
	c := w.client(w.options())
	c.ok()
	assert.DeepEqual(t, w.requestsAt(""), []string{
		"POST https://mcp.example/mcp",
		"GET https://mcp.example/.well-known/oauth-protected-resource/mcp",
		"GET https://as.example/.well-known/oauth-authorization-server/t",
		"POST https://as.example/register",
		"GET https://as.example/authorize",
		"POST https://as.example/token",
		"POST https://mcp.example/mcp",
	})
	c.ok()
	assert.Equal(t, len(w.requestsAt("")), 8, "and then one request is one request")

	var made map[string]any
	assert.NilError(t, json.Unmarshal([]byte(w.requestsTo("/register")[0].body), &made))
	assert.DeepEqual(t, made, map[string]any{
		"redirect_uris": []any{redirect}, "client_name": "test", "application_type": "native",
		"grant_types":    []any{"authorization_code", "refresh_token"},
		"response_types": []any{"code"}, "token_endpoint_auth_method": "none", "scope": "read",
	})
	q := w.requestsTo("/authorize")[0].URL.Query()
	assert.Equal(t, len(q.Get("state")) >= 26 && len(q.Get("code_challenge")) == 43, true)
	q.Del("state")
	q.Del("code_challenge")
	assert.DeepEqual(t, q, url.Values{
		"tenant": {"t"}, "response_type": {"code"}, "client_id": {"registered"},
		"redirect_uri": {redirect}, "code_challenge_method": {"S256"}, "resource": {endpoint},
		"scope": {"read"},
	})
	form := w.requestsTo("/token")[0].form
	assert.Assert(t, len(form.Get("code_verifier")) >= 43 && len(form.Get("code_verifier")) <= 128)
	form.Del("code_verifier")
	assert.DeepEqual(t, form,
		url.Values{"grant_type": {"authorization_code"}, "code": {"s3cret-code-1"},
			"redirect_uri": {redirect}, "client_id": {"registered"}, "resource": {endpoint}})

	calls := w.requestsTo("/mcp")
	assert.Equal(t, calls[0].Header.Get("Authorization"), "")
	assert.Equal(t, calls[1].Header.Get("Authorization"), "Bearer s3cret-token-2")
	for _, r := range calls {
		assert.Equal(t, r.body, "message", "the message is sent again as it is")
		assert.Equal(t, r.URL.RawQuery, "")
	}
	for _, r := range append(w.requestsTo("/token"),
		append(w.requestsTo("/register"),
			w.requestsTo("/.well-known/oauth-authorization-server/t")...)...) {
		assert.Equal(t, r.Header.Get("Authorization"), "")
	}
}

// Every kind of request is authorized. One whose body cannot be sent again is not repeated.
func TestEveryRequestMustBeAuthorized(t *testing.T) {
	w := newWorld(t)
	c := w.client(w.options())
	c.ok()
	for _, method := range []string{"GET", "DELETE", "POST"} {
		req, err := http.NewRequest(method, endpoint, nil)
		assert.NilError(t, err)
		resp, err := c.RoundTrip(req)
		assert.NilError(t, err)
		assert.Equal(t, resp.StatusCode, 200)
		assert.NilError(t, resp.Body.Close())
		assert.Equal(t, len(req.Header), 0, "the request of the caller is left as it is")
	}
	// as with HTTP+SSE
	req, err := http.NewRequest("POST", "https://mcp.example:443/messages?sessionId=1", nil)
	assert.NilError(t, err)
	resp, err := c.RoundTrip(req)
	assert.ErrorContains(t, err, "no such host")
	assert.Assert(t, resp == nil)
	last := w.seen[len(w.seen)-1]
	assert.Equal(t, last.Header.Get("Authorization"), "Bearer s3cret-token-2")

	w.mu.Lock()
	w.current = "another"
	w.mu.Unlock()
	before := len(w.requestsAt(""))
	req, err = http.NewRequest("POST", endpoint, io.NopCloser(strings.NewReader("once")))
	assert.NilError(t, err)
	resp, err = c.RoundTrip(req)
	assert.NilError(t, err)
	assert.Equal(t, resp.StatusCode, 401)
	assert.NilError(t, resp.Body.Close())
	assert.Equal(t, len(w.requestsAt("")), before+1)
}

// A token is sent to its server only, and an Authorization header of the application is kept.
func TestTokensMustBeSentToTheirServerOnly(t *testing.T) {
	w := newWorld(t)
	evil := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { rw.WriteHeader(401) })
	for _, host := range []string{"https://evil.example", "http://mcp.example",
		"https://mcp.example:8443", "https://mcp.example.evil"} {
		w.hosts[host] = evil
	}
	c := w.client(w.options())
	c.ok()
	before := len(w.requestsAt(""))
	for host := range w.hosts {
		if host == "https://mcp.example" || host == "https://as.example" {
			continue
		}
		req, err := http.NewRequest("POST", host+"/mcp", strings.NewReader("x"))
		assert.NilError(t, err)
		resp, err := c.RoundTrip(req)
		assert.NilError(t, err)
		assert.Equal(t, resp.StatusCode, 401)
		assert.NilError(t, resp.Body.Close())
	}
	for _, r := range w.seen[before:] {
		assert.Equal(t, r.Header.Get("Authorization"), "", "%v", r)
	}
	assert.Equal(t, len(w.requestsAt("")), before+4, "and nobody is asked for a token for them")

	req, err := http.NewRequest("POST", endpoint, strings.NewReader("x"))
	assert.NilError(t, err)
	req.Header.Set("Authorization", "Basic mine")
	resp, err := c.RoundTrip(req)
	assert.NilError(t, err)
	assert.Equal(t, resp.StatusCode, 401)
	assert.NilError(t, resp.Body.Close())
	assert.Equal(t, w.seen[len(w.seen)-1].Header.Get("Authorization"), "Basic mine")
	assert.Equal(t, len(w.requestsAt("")), before+5)
}

// If no token can be obtained, the server's refusal is returned, and no user is asked.
func TestWithoutGrant(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.Grant = nil
	status, err := w.client(o).call()
	assert.NilError(t, err)
	assert.Equal(t, status, 401)
	assert.Equal(t, len(w.requestsAt("")), 1)

	// The same holds for a server that requires another scheme.
	w = newWorld(t)
	w.challenge = `Basic realm="x", Negotiate`
	status, err = w.client(w.options()).call()
	assert.NilError(t, err)
	assert.Equal(t, status, 401)
	assert.Equal(t, len(w.requestsAt("")), 1)
}

// After Login, no request is refused. Login can be repeated.
func TestLogin(t *testing.T) {
	w := newWorld(t)
	store := &memoryStore{}
	o := w.options()
	o.Store = store
	c := w.client(o)
	_, ok := c.Credentials()
	assert.Assert(t, !ok)
	assert.NilError(t, c.Login(context.Background()))
	got, ok := c.Credentials()
	assert.Assert(t, ok)
	assert.Equal(t, got.AccessToken, "s3cret-token-2")
	assert.Equal(t, got.Issuer+" "+got.Resource, issuer+" "+endpoint)
	assert.DeepEqual(t, got.Scopes, []string{"read"})
	assert.Equal(t, store.one(t).AccessToken, got.AccessToken)
	assert.Equal(t, w.count("/mcp"), 1)
	assert.Equal(t, w.requestsTo("/mcp")[0].Method, "GET")
	c.ok()
	assert.Equal(t, w.count("/mcp"), 2)

	assert.NilError(t, c.Login(context.Background()))
	assert.Equal(t, w.count("/authorize"), 2)
	assert.Equal(t, w.count("/register"), 1, "it is registered already")
	c.ok()

	assert.NilError(t, c.Login(context.Background(), "extra", "read"))
	assert.Equal(t, w.requestsTo("/authorize")[2].URL.Query().Get("scope"), "read extra")
	assert.DeepEqual(t, store.one(t).Scopes, []string{"read", "extra"})

	// Another run of the program uses the stored credentials.
	before := len(w.requestsAt(""))
	again := w.client(o)
	again.ok()
	assert.Equal(t, len(w.requestsAt("")), before+1)

	assert.NilError(t, again.Logout(context.Background()))
	assert.Equal(t, len(store.all), 0)
	_, ok = again.Credentials()
	assert.Assert(t, !ok)

	o.Grant = nil
	assert.ErrorContains(t, w.client(o).Login(context.Background()), "Login needs Options.Grant")
}

func TestOptionsAreChecked(t *testing.T) {
	show := func(context.Context, string) error { return nil }
	follow := func(context.Context, string) (string, error) { return "", nil }
	for _, tc := range []struct {
		o    auth.Options
		want string
	}{
		{auth.Options{MetadataURL: "http://a.example/x"}, "Options.MetadataURL"},
		{auth.Options{MetadataURL: "https://a.example"}, "Options.MetadataURL"},
		{auth.Options{MetadataURL: "https://a.example/x#f"}, "Options.MetadataURL"},
		{auth.Options{Grant: auth.AuthorizationCode{}}, "set either OpenBrowser or FetchRedirect"},
		{auth.Options{Grant: auth.AuthorizationCode{OpenBrowser: show, FetchRedirect: follow}},
			"set either OpenBrowser or FetchRedirect"},
		{auth.Options{Grant: auth.AuthorizationCode{FetchRedirect: follow}}, "want an https: URL"},
		{auth.Options{Grant: auth.AuthorizationCode{FetchRedirect: follow,
			RedirectURL: "http://a.example/callback"}}, "want an https: URL"},
		{auth.Options{Grant: auth.AuthorizationCode{FetchRedirect: follow,
			RedirectURL: "com.example.app:/callback"}}, "want an https: URL"},
		{auth.Options{Grant: auth.AuthorizationCode{FetchRedirect: follow,
			RedirectURL: "https:/callback"}}, "want an https: URL"},
		{auth.Options{Grant: auth.AuthorizationCode{OpenBrowser: show,
			RedirectURL: "https://a.example/callback"}}, "want an http: URL of this machine"},
		{auth.Options{Grant: auth.AuthorizationCode{OpenBrowser: show,
			RedirectURL: "http://a.example:80/callback"}}, "want an http: URL of this machine"},
		{auth.Options{Grant: auth.AuthorizationCode{OpenBrowser: show,
			RedirectURL: "http://localhost/callback#f"}}, "not a valid redirect URI"},
		{auth.Options{Grant: auth.JWTBearer{}}, "JWTBearer without Assertion"},
		{auth.Options{HTTP: new(http.Client), TLS: new(tls.Config)}, "Options.TLS"},
		{auth.Options{HTTP: new(http.Client), AllowPrivate: true}, "AllowPrivate"},
		{auth.Options{Grant: auth.IdentityAssertion{}}, "IdentityAssertion without Token"},
		{auth.Options{Clients: []auth.Registration{{}}}, "has no ClientID"},
		{auth.Options{Clients: []auth.Registration{{ClientID: "a", Issuer: "as.example"}}},
			`the Issuer of client "a": the URL has no host`},
		{auth.Options{Clients: []auth.Registration{{ClientID: "a"}, {ClientID: "b"}}},
			"two registrations"},
	} {
		_, err := tc.o.New(endpoint)
		assert.ErrorContains(t, err, tc.want)
	}
	for _, text := range []string{"", "mcp.example", "ftp://mcp.example",
		"https://s3cret:s3cret@%"} {
		_, err := auth.Options{}.New(text)
		assert.Error(t, err, "auth: the endpoint is not an http: or https: URL")
	}
}
