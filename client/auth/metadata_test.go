package auth_test

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

const (
	prmPath = "/.well-known/oauth-protected-resource/mcp"
	asmPath = "/.well-known/oauth-authorization-server/t"
)

// fails sends a request that must fail with an [*auth.Error], and returns the error.
func (c *caller) fails(step auth.Step, want string) *auth.Error {
	c.w.t.Helper()
	status, err := c.call()
	assert.Assert(c.w.t, err != nil, "want %q, got status %d", want, status)
	e, ok := errors.AsType[*auth.Error](err)
	assert.Assert(c.w.t, ok, "%T %v", err, err)
	assert.ErrorContains(c.w.t, err, want)
	assert.Equal(c.w.t, e.Step, step, "%v", err)
	assert.Assert(c.w.t, !strings.Contains(e.URL, "?"), e.URL)
	return e
}

func (w *testServers) handle(host, path string, h http.HandlerFunc) {
	mux, ok := w.hosts[host].(*http.ServeMux)
	if !ok {
		mux = http.NewServeMux()
		w.hosts[host] = mux
	}
	mux.HandleFunc(path, h)
}

func merged(base map[string]any, more map[string]any) map[string]any {
	all := maps.Clone(base)
	maps.Copy(all, more)
	return all
}

// The resource metadata is at the URL in the challenge, or at one of two well-known URLs.
func TestResourceMetadataURLs(t *testing.T) {
	const bare = `Bearer realm="x"`
	for name, tc := range map[string]struct {
		challenge string
		at        string // on the server's host
		asked     []string
	}{
		"named": {`Bearer resource_metadata="https://mcp.example/custom"`, "/custom",
			[]string{"/custom"}},
		"named, DPoP too": {
			`DPoP algs="ES256", Bearer resource_metadata="https://mcp.example/custom"`, "/custom",
			[]string{"/custom"}},
		"not named":    {bare, prmPath, []string{prmPath}},
		"no challenge": {"", prmPath, []string{prmPath}},
		"a broken one": {`Bearer resource_metadata="https://mcp.example/custom`, prmPath,
			[]string{prmPath}},
		"at the root": {bare, "/.well-known/oauth-protected-resource",
			[]string{prmPath, "/.well-known/oauth-protected-resource"}},
		"named, not there": {`Bearer resource_metadata="https://mcp.example/custom"`, prmPath,
			[]string{"/custom", prmPath}},
		"named without TLS": {`Bearer resource_metadata="http://mcp.example/custom"`, prmPath,
			[]string{prmPath}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.challenge = tc.challenge
			doc := w.prm
			mux := http.NewServeMux()
			mux.HandleFunc("/mcp", w.serveMCP)
			mux.HandleFunc(tc.at, document(&doc))
			w.hosts["https://mcp.example"] = mux
			w.client(w.options()).ok()
			var asked []string
			for _, r := range w.seen {
				if r.Method == "GET" && r.URL.Host == "mcp.example" {
					asked = append(asked, r.URL.Path)
				}
			}
			assert.DeepEqual(t, asked, tc.asked)
		})
	}
}

// The resource is the endpoint or above it, and is sent exactly as in the metadata.
func TestResourceMustMatchTheEndpoint(t *testing.T) {
	for resource, good := range map[string]bool{
		endpoint: true, "https://mcp.example": true, "https://mcp.example/": true,
		"HTTPS://MCP.example/mcp": true, "https://mcp.example:443/mcp": true,
		"https://mcp.example/mcp/": true,
		"https://evil.example/mcp": false, "http://mcp.example/mcp": false,
		"https://mcp.example/mc": false, "https://mcp.example/mcp/below": false,
		"https://mcp.example/mcp?x=1":  false,
		"https://mcp.example:8443/mcp": false, "https://mcp.example.evil/mcp": false,
		"https://mcp.example/MCP": false,
	} {
		w := newWorld(t)
		w.prm["resource"] = resource
		c := w.client(w.options())
		if good {
			c.ok()
			assert.Equal(t, w.requestsTo("/authorize")[0].URL.Query().Get("resource"), resource)
			assert.Equal(t, w.requestsTo("/token")[0].form.Get("resource"), resource)
			continue
		}
		c.fails(auth.StepResource, "the metadata is of another resource")
		assert.Equal(t, len(w.requestsAt("as.example")), 0, resource)
	}
}

// Invalid resource metadata is an error.
func TestBadResourceMetadata(t *testing.T) {
	huge := `{"resource":"` + endpoint + `","x":"` + strings.Repeat("x", 300<<10) + `"}`
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"half": {respondWith(200, `{"resource":`), "the document is not valid"},
		"a type": {respondWith(200, `{"resource":["`+endpoint+`"]}`),
			"the document is not valid"},
		"twice": {
			respondWith(200, `{"resource":"https://evil.example","resource":"`+endpoint+`"}`),
			"the key occurs twice"},
		"no resource": {respondWith(200, `{"authorization_servers":["`+issuer+`"]}`),
			"resource is missing"},
		"no server": {respondWith(200, `{"resource":"`+endpoint+`"}`),
			"the metadata names no authorization server"},
		"too much":  {respondWith(200, huge), "the response is larger than 262144 bytes"},
		"a failure": {respondWith(503, `{}`), "503 Service Unavailable"},
		"too many":  {respondWith(429, ``), "429 Too Many Requests"},
		"a http issuer": {
			respondWith(200, `{"resource":"`+endpoint+
				`","authorization_servers":["http://as.example/t"]}`), "the URL must be https:"},
		"elsewhere": {func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "https://evil.example/?s3cret", 302)
		}, "redirects to another server, https://evil.example/: not followed"},
		"down": {func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "http://mcp.example/x", 302)
		}, "another server"},
		"round": {func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, prmPath, 302)
		}, "redirects too many times"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			mux := http.NewServeMux()
			mux.HandleFunc("/mcp", w.serveMCP)
			mux.HandleFunc(prmPath, tc.handler)
			w.hosts["https://mcp.example"] = mux
			step := auth.StepResource
			if name == "a http issuer" {
				step = auth.StepServer
			}
			w.client(w.options()).fails(step, tc.want)
			assert.Equal(t, len(w.requestsAt("as.example"))+len(w.requestsAt("evil.example")), 0)
		})
	}
	// A redirect within the origin is followed.
	w := newWorld(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", w.serveMCP)
	mux.HandleFunc(prmPath, func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "/prm", 307)
	})
	mux.HandleFunc("/prm", document(&w.prm))
	w.hosts["https://mcp.example"] = mux
	w.client(w.options()).ok()
}

func respondWith(status int, text string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) { response(rw, status, text) }
}

// The authorization server metadata is at one of three URLs, tried in this order.
func TestServerMetadataURLs(t *testing.T) {
	for _, tc := range []struct {
		issuer string
		asked  []string
	}{
		{"https://as.example/t",
			[]string{"/.well-known/oauth-authorization-server/t",
				"/.well-known/openid-configuration/t", "/t/.well-known/openid-configuration"}},
		{"https://as.example",
			[]string{"/.well-known/oauth-authorization-server",
				"/.well-known/openid-configuration"}},
	} {
		for i := range tc.asked {
			w := newWorld(t)
			mux := http.NewServeMux()
			mux.HandleFunc("/authorize", w.serveAuthorize)
			mux.HandleFunc("/token", w.serveToken)
			mux.HandleFunc("/register", w.serveRegister)
			w.asm["issuer"] = tc.issuer
			w.prm["authorization_servers"] = []string{tc.issuer}
			mux.HandleFunc(tc.asked[i], document(&w.asm))
			if i > 0 { // a page that is served for any URL is not metadata
				mux.HandleFunc(tc.asked[0], respondWith(200, "<html>{}"))
			}
			w.hosts["https://as.example"] = mux
			w.client(w.options()).ok()
			var asked []string
			for _, r := range w.seen {
				if strings.Contains(r.URL.Path, ".well-known") && r.URL.Host == "as.example" {
					asked = append(asked, r.URL.Path)
				}
			}
			assert.DeepEqual(t, asked, tc.asked[:i+1])
		}
	}
}

// Metadata of another issuer is refused, however similar.
func TestIssuerMustMatch(t *testing.T) {
	for _, other := range []string{"https://attacker.example", issuer + "/", "https://AS.example/t",
		"https://as.example:443/t", "https://as.example/T", "https://as.example"} {
		w := newWorld(t)
		w.asm["issuer"] = other
		w.client(w.options()).fails(auth.StepServer,
			"the metadata is of another authorization server")
		assert.Equal(t, w.count("/register")+w.count("/authorize")+w.count("/token"), 0, other)
	}
}

func TestBadServerMetadata(t *testing.T) {
	for name, tc := range map[string]struct {
		more map[string]any
		want string
	}{
		"no PKCE": {map[string]any{"code_challenge_methods_supported": nil},
			"does not declare support for PKCE"},
		"only plain": {
			map[string]any{"code_challenge_methods_supported": []string{"plain"}},
			"does not declare support for PKCE"},
		"no endpoint": {map[string]any{"authorization_endpoint": nil},
			"has no authorization endpoint or no token endpoint"},
		"no token endpoint": {map[string]any{"token_endpoint": nil},
			"has no authorization endpoint or no token endpoint"},
		"http": {map[string]any{"token_endpoint": "http://as.example/token"},
			"the URL must be https:"},
		"a scheme": {map[string]any{"authorization_endpoint": "javascript:alert(1)"},
			"has no host"},
		"a file": {map[string]any{"authorization_endpoint": "file:///etc/passwd"},
			"has no host"},
		"a user": {
			map[string]any{"authorization_endpoint": "https://as.example@evil.example/"},
			"the URL must not contain a user"},
		"a type": {map[string]any{"scopes_supported": "all"}, "the document is not valid"},
		"no way to register": {map[string]any{"registration_endpoint": nil},
			"offers no dynamic registration"},
		"http registration": {
			map[string]any{"registration_endpoint": "http://as.example/register"},
			"the URL must be https:"},
		"nothing to be shown": {
			map[string]any{"token_endpoint_auth_methods_supported": []string{"tls_client_auth"},
				"registration_endpoint": nil}, "offers no dynamic registration"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.asm = merged(w.asm, tc.more)
			step := auth.StepServer
			if strings.Contains(name, "regist") || strings.Contains(name, "shown") {
				step = auth.StepRegistration
			}
			w.client(w.options()).fails(step, tc.want)
			assert.Equal(t, w.count("/authorize")+w.count("/token"), 0)
		})
	}
}

// A server of 2025-03-26 is its own authorization server, with metadata or with the default
// endpoints.
func TestServersOf20250326(t *testing.T) {
	for _, metadata := range []bool{true, false} {
		w := newWorld(t)
		w.challenge = ""
		w.prm = nil
		own := map[string]any{
			"issuer":                                "https://mcp.example",
			"authorization_endpoint":                "https://mcp.example/oauth/authorize",
			"token_endpoint":                        "https://mcp.example/oauth/token",
			"registration_endpoint":                 "https://mcp.example/oauth/register",
			"code_challenge_methods_supported":      []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"},
		}
		w.asm["issuer"] = "https://mcp.example" // for iss
		prefix := ""
		if metadata {
			prefix = "/oauth"
			w.handle("https://mcp.example", "/.well-known/oauth-authorization-server",
				document(&own))
		}
		w.handle("https://mcp.example", prefix+"/authorize", w.serveAuthorize)
		w.handle("https://mcp.example", prefix+"/token", w.serveToken)
		w.handle("https://mcp.example", prefix+"/register", w.serveRegister)
		w.client(w.options()).ok()
		assert.DeepEqual(t, w.requestsAt(""), []string{
			"POST https://mcp.example/mcp",
			"GET https://mcp.example/.well-known/oauth-protected-resource/mcp",
			"GET https://mcp.example/.well-known/oauth-protected-resource",
			"GET https://mcp.example/.well-known/oauth-authorization-server",
			"POST https://mcp.example" + prefix + "/register",
			"GET https://mcp.example" + prefix + "/authorize",
			"POST https://mcp.example" + prefix + "/token",
			"POST https://mcp.example/mcp",
		})
		assert.Equal(t, w.requestsTo("/.well-known/oauth-authorization-server")[0].Header.Get(
			"MCP-Protocol-Version"), "2025-03-26")
		assert.Equal(t, w.requestsTo(prefix + "/token")[0].form.Get("resource"), endpoint)
		assert.Assert(t, !w.requestsTo(prefix + "/authorize")[0].URL.Query().Has("scope"))
	}
	// If such a server expects another kind of token, its registration endpoint does not exist.
	w := newWorld(t)
	w.challenge, w.prm = "", nil
	e := w.client(w.options()).fails(auth.StepRegistration,
		"does the server expect another kind of token?")
	assert.Equal(t, e.Status, 404)
}
