package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"gotest.tools/v3/assert"
)

// A guarded is an MCP server that requires a token, with its authorization server, whose user
// agrees to everything.
type guarded struct {
	url     string // of the MCP server
	host    string // it, too
	issuer  string
	named   string // by the metadata of the server, if it is not the issuer
	server  *httptest.Server
	expires int    // of what it issues, in seconds
	refuses string // the error in place of a code
	closed  bool   // it does not register clients

	mu         sync.Mutex
	made       int
	good       []string // the access tokens that are let in
	refresh    string   // the refresh token that is good
	scope      string   // that was asked for last
	registered int
	grants     []string
	needs      string // a scope without which it says 403
}

func newGuarded(t *testing.T) *guarded { return newGuardedAt(t, httptest.NewServer) }

// newGuardedAt returns a guarded at the server that start returns.
func newGuardedAt(t *testing.T, start func(http.Handler) *httptest.Server) *guarded {
	g := &guarded{expires: 3600}
	inner := echoServer(t, "")
	mux := http.NewServeMux()
	g.server = start(mux)
	t.Cleanup(g.server.Close)
	g.url, g.issuer = g.server.URL+"/mcp", g.server.URL+"/as"
	_, g.host, _ = strings.Cut(g.server.URL, "://")
	reply := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp",
		func(w http.ResponseWriter, _ *http.Request) {
			reply(w, 200, map[string]any{"resource": g.url,
				"authorization_servers": []string{cmp.Or(g.named, g.issuer)}})
		})
	mux.HandleFunc("GET /.well-known/oauth-authorization-server/as",
		func(w http.ResponseWriter, _ *http.Request) {
			m := map[string]any{
				"issuer": g.issuer, "authorization_endpoint": g.server.URL + "/authorize",
				"token_endpoint": g.server.URL + "/token", "revocation_endpoint": g.server.URL +
					"/revoke",
				"code_challenge_methods_supported":      []string{"S256"},
				"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"},
			}
			if !g.closed {
				m["registration_endpoint"] = g.server.URL + "/register"
			}
			reply(w, 200, m)
		})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, _ *http.Request) {
		g.mu.Lock()
		g.registered++
		g.mu.Unlock()
		reply(w, 201, map[string]any{"client_id": "c1"})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		g.mu.Lock()
		g.scope = q.Get("scope")
		g.mu.Unlock()
		v := url.Values{"code": {"once"}, "state": {q.Get("state")}}
		if g.refuses != "" {
			v = url.Values{"error": {g.refuses}, "state": {q.Get("state")}}
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+v.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.grants = append(g.grants, r.FormValue("grant_type"))
		_, secret, _ := r.BasicAuth()
		switch {
		case r.FormValue("grant_type") == "refresh_token" &&
			r.FormValue("refresh_token") != g.refresh:
			g.good, g.refresh = nil, "" // stolen: revoke all tokens
			reply(w, 400, map[string]any{"error": "invalid_grant"})
			return
		case r.FormValue("grant_type") == "client_credentials" && secret != "s3cret":
			reply(w, 401, map[string]any{"error": "invalid_client"})
			return
		}
		g.made++
		g.good, g.refresh = append(g.good, fmt.Sprintf("Bearer s3cret-token-%d", g.made)),
			fmt.Sprintf("s3cret-refresh-%d", g.made)
		reply(w, 200, map[string]any{"access_token": fmt.Sprintf("s3cret-token-%d", g.made),
			"token_type": "Bearer", "expires_in": g.expires, "refresh_token": g.refresh})
	})
	mux.HandleFunc("POST /revoke", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.refuses != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.FormValue("token") == g.refresh {
			g.good, g.refresh = nil, ""
		}
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		good, needs := slices.Contains(g.good, r.Header.Get("Authorization")), g.needs
		g.mu.Unlock()
		switch {
		case !good:
			w.Header().Set("WWW-Authenticate", `Bearer scope="read"`)
			w.WriteHeader(http.StatusUnauthorized)
		case needs != "" && !strings.Contains(g.scope, needs):
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+needs+
				`"`)
			w.WriteHeader(http.StatusForbidden)
		default:
			r.URL.Path = "/"
			inner.Config.Handler.ServeHTTP(w, r)
		}
	})
	return g
}

// visit follows the redirects of a page as a browser does.
func visit(page string) error {
	resp, err := http.Get(page)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != 200 {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return err
}

// loggedIn logs in without a terminal, by opening the page that is printed on stderr.
func loggedIn(t *testing.T, args ...string) ran {
	t.Helper()
	c := termtest.Capture(false)
	r, w := io.Pipe()
	c.Err.W = io.MultiWriter(c.Stderr, w)
	visited := make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if page, ok := strings.CutPrefix(lines.Text(), "  http"); ok {
				visited <- visit("http" + page)
			}
		}
		close(visited)
	}()
	got := runWith(t.Context(), c, append([]string{"auth", "login"}, args...)...)
	_ = w.Close()
	for err := range visited {
		assert.NilError(t, err)
	}
	assert.Assert(t, !strings.Contains(got.stdout+got.stderr, "s3cret"), got.stderr)
	return got
}
