package auth_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

// oddResponses are responses to a URL of metadata that are neither metadata nor "there is none".
var oddResponses = map[string]http.HandlerFunc{
	"JSON of something else": respondWith(200, `{"status":"ok"}`),
	"half":                   respondWith(200, `{"issuer":`),
	"a failure":              respondWith(502, `<html>`),
	"too many":               respondWith(429, ``),
	"a type":                 respondWith(200, `{"issuer":["x"],"resource":["x"]}`),
	"of another":             respondWith(200, `{"issuer":"https://evil.example","resource":"https://evil.example"}`),
	"too much":               respondWith(200, `{"x":"`+strings.Repeat("x", 300<<10)+`"}`),
	"elsewhere": func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "https://evil.example/", http.StatusFound)
	},
}

// Discovery goes on to the next URL after any response that is not the metadata.
func TestDiscoveryGoesOn(t *testing.T) {
	asm := newWorld(t).asm
	refused := map[string]http.HandlerFunc{}
	for name, more := range map[string]map[string]any{
		"no PKCE":     {"code_challenge_methods_supported": nil},
		"only plain":  {"code_challenge_methods_supported": []string{"plain"}},
		"no endpoint": {"token_endpoint": nil},
		"an endpoint without TLS": {
			"authorization_endpoint": "http://as.example/authorize"},
		"a used member": {"scopes_supported": "all"},
	} {
		doc := merged(asm, more)
		refused[name] = document(&doc)
	}
	for name, h := range oddResponses {
		refused[name] = h
	}
	for name, h := range refused {
		t.Run("server, "+name, func(t *testing.T) {
			w := newWorld(t)
			w.hosts["https://as.example"] = nil
			w.handle("https://as.example", asmPath, h)
			w.handle("https://as.example", "/t/.well-known/openid-configuration", document(&w.asm))
			w.handle("https://as.example", "/authorize", w.serveAuthorize)
			w.handle("https://as.example", "/token", w.serveToken)
			w.handle("https://as.example", "/register", w.serveRegister)
			w.client(w.options()).ok()
			assert.Equal(t, w.count(asmPath), 1)
			assert.Equal(t, len(w.requestsAt("evil.example")), 0)
		})
	}
	for name, h := range oddResponses {
		t.Run("resource, "+name, func(t *testing.T) {
			w := newWorld(t)
			w.hosts["https://mcp.example"] = nil
			w.handle("https://mcp.example", "/mcp", w.serveMCP)
			w.handle("https://mcp.example", prmPath, h)
			w.handle("https://mcp.example", "/.well-known/oauth-protected-resource",
				document(&w.prm))
			w.client(w.options()).ok()
			assert.Equal(t, w.count(prmPath), 1)
			assert.Equal(t, len(w.requestsAt("evil.example")), 0)
		})
	}
}

// A member that the client does not use disables nothing.
func TestUnusedMembersOfMetadata(t *testing.T) {
	w := newWorld(t)
	w.asm["jwks_uri"], w.asm["grant_types_supported"] = false, "authorization_code"
	w.asm["revocation_endpoint"], w.prm["resource_name"] = []string{"x"}, map[string]any{"en": "x"}
	w.client(w.options()).ok()
}

// If no URL serves, the error has all of them, and nothing is sent elsewhere. In particular the
// default endpoints are not used in place of metadata without PKCE.
func TestDiscoveryReportsAll(t *testing.T) {
	w := newWorld(t)
	w.hosts["https://as.example"] = nil
	plain := merged(w.asm, map[string]any{"code_challenge_methods_supported": []string{"plain"}})
	w.handle("https://as.example", asmPath, respondWith(502, ""))
	w.handle("https://as.example", "/.well-known/openid-configuration/t", document(&plain))
	w.handle("https://as.example", "/t/.well-known/openid-configuration",
		respondWith(200, `{"status":"ok"}`))
	e := w.client(w.options()).fails(auth.StepServer, "the document is not metadata")
	assert.Equal(t, e.Error(), "authorization server metadata: https://as.example/t: "+
		"https://as.example/.well-known/oauth-authorization-server/t: 502 Bad Gateway; "+
		"https://as.example/.well-known/openid-configuration/t: the authorization server does not "+
		"declare support for PKCE with S256, which is required; "+
		"https://as.example/t/.well-known/openid-configuration: the document is not metadata: "+
		"issuer is missing")

	for name, h := range map[string]http.HandlerFunc{
		"no PKCE": respondWith(200, `{"issuer":"https://mcp.example","authorization_endpoint":`+
			`"https://mcp.example/authorize","token_endpoint":"https://mcp.example/token"}`),
		"a failure":    respondWith(502, ""),
		"not metadata": respondWith(200, `{}`),
		"of another":   respondWith(200, `{"issuer":"https://evil.example"}`),
	} {
		w := newWorld(t)
		w.challenge, w.prm = "", nil
		w.handle("https://mcp.example", "/.well-known/oauth-authorization-server", h)
		w.handle("https://mcp.example", "/authorize", w.serveAuthorize)
		w.handle("https://mcp.example", "/register", w.serveRegister)
		w.client(w.options()).fails(auth.StepServer, "/.well-known/oauth-authorization-server: ")
		assert.Equal(t, w.count("/register")+w.count("/authorize"), 0, name)
	}
}

// A site that answers all unknown URLs with JSON may be a server of 2025-03-26 with metadata.
func TestLegacyServerWithJSONEverywhere(t *testing.T) {
	w := newWorld(t)
	w.challenge = ""
	w.hosts["https://mcp.example"] = nil
	own := merged(w.asm, map[string]any{"issuer": "https://mcp.example"})
	w.asm["issuer"] = "https://mcp.example" // for iss
	w.handle("https://mcp.example", "/", respondWith(200, `{"message":"not found"}`))
	w.handle("https://mcp.example", "/mcp", w.serveMCP)
	e := w.client(w.options()).fails(auth.StepServer, "the document is not metadata")
	for _, path := range []string{prmPath, "/.well-known/oauth-protected-resource",
		"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		assert.Assert(t, strings.Contains(e.Error(), "https://mcp.example"+path+": "), e)
	}
	w.handle("https://mcp.example", "/.well-known/oauth-authorization-server", document(&own))
	w.client(w.options()).ok()
}

// Nobody has named the issuer of a server of 2025-03-26: its origin may have a final slash. What
// the metadata calls it is what iss must be.
func TestIssuerOfLegacyServer(t *testing.T) {
	for issuer, good := range map[string]bool{
		"https://mcp.example": true, "https://mcp.example/": true, "https://MCP.example:443/": true,
		"https://mcp.example//": false, "https://mcp.example/mcp": false,
		"http://mcp.example/": false, "https://mcp.example:444/": false,
		"https://mcp.example/?": false, "https://evil.example/": false,
	} {
		w := newWorld(t)
		w.challenge, w.prm = "", nil
		own := merged(w.asm, map[string]any{"issuer": issuer})
		w.asm["issuer"] = issuer // for iss
		w.handle("https://mcp.example", "/.well-known/oauth-authorization-server", document(&own))
		c := w.client(w.options())
		if !good {
			c.fails(auth.StepServer, "the metadata is of another authorization server")
			assert.Equal(t, w.count("/register")+w.count("/authorize"), 0, issuer)
			continue
		}
		c.ok()
		credentials, _ := c.Credentials()
		assert.Equal(t, credentials.Issuer, issuer)
		w.mu.Lock()
		w.current = "revoked"
		w.mu.Unlock()
		w.token = nil
		c.ok() // by a refresh at the same issuer
		assert.Equal(t, w.count("/authorize"), 1, issuer)
	}
}

// Options.Issuer is used whatever the MCP server names, and its metadata must have that issuer.
func TestTrustedIssuer(t *testing.T) {
	for name, change := range map[string]func(w *testServers){
		"named with a slash": func(w *testServers) {
			w.prm["authorization_servers"] = []string{issuer + "/"}
		},
		"another one is named": func(w *testServers) { w.redirectToHostileServer() },
		"none is named":        func(w *testServers) { delete(w.prm, "authorization_servers") },
		"no metadata":          func(w *testServers) { w.challenge, w.prm = "", nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			change(w)
			o := w.options()
			o.Store = &memoryStore{}
			_, err := w.client(o).call()
			assert.Assert(t, err != nil || name == "another one is named")
			o.Issuer = issuer
			w.mu.Lock()
			w.seen, w.current = nil, "revoked"
			w.mu.Unlock()
			c := w.client(o)
			c.ok()
			credentials, _ := c.Credentials()
			assert.Equal(t, credentials.Issuer, issuer)
			assert.Equal(t, len(w.requestsAt("evil.example")), 0)
		})
	}
	w := newWorld(t)
	w.prm["authorization_servers"] = []string{issuer + "/"}
	e := w.client(w.options()).fails(auth.StepServer, "issuer "+issuer+", want "+issuer+"/")
	mismatch, ok := errors.AsType[*auth.IssuerError](e)
	assert.Assert(t, ok)
	assert.Equal(t, *mismatch, auth.IssuerError{Issuer: issuer, Want: issuer + "/"})

	o := w.options()
	o.Issuer = issuer + "/"
	w.client(o).fails(auth.StepServer, "the metadata is of another authorization server")
	o.Issuer = "http://as.example"
	_, err := o.New(endpoint)
	assert.Error(t, err, "auth: Options.Issuer: the URL must be https:, or http: on this machine")
	o.Issuer, o.Clients = issuer, []auth.Registration{{ClientID: "a", Issuer: issuer + "2"}}
	_, err = o.New(endpoint)
	assert.Error(t, err, "auth: Options.Clients has no registration for Options.Issuer")
}

// A malformed challenge may have named the metadata. If the authorization fails, the error says so.
func TestMalformedChallengeIsNamed(t *testing.T) {
	for _, prm := range []http.HandlerFunc{http.NotFound, respondWith(503, "")} {
		w := newWorld(t)
		w.challenge = `Bearer resource_metadata="https://mcp.example/custom`
		w.hosts["https://mcp.example"] = nil
		w.handle("https://mcp.example", "/mcp", w.serveMCP)
		w.handle("https://mcp.example", prmPath, prm)
		_, err := w.client(w.options()).call()
		assert.ErrorContains(t, err, "(the WWW-Authenticate header of the MCP server is malformed: "+
			"the value of resource_metadata has no end)")
		assert.ErrorContains(t, w.client(w.options()).Login(t.Context()), "WWW-Authenticate")
	}
}

// A resource_metadata without quotes, or in single quotes, is read.
func TestUnquotedResourceMetadata(t *testing.T) {
	for _, value := range []string{"https://mcp.example/custom", "'https://mcp.example/custom'"} {
		w := newWorld(t)
		w.challenge = "Bearer resource_metadata=" + value
		w.handle("https://mcp.example", "/custom", document(&w.prm))
		w.client(w.options()).ok()
		assert.Equal(t, w.count("/custom"), 1)
	}
}
