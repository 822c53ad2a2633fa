package auth_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

// scopesAsked returns the scopes of each authorization request.
func (w *testServers) scopesAsked() []string {
	var all []string
	for _, r := range w.requestsTo("/authorize") {
		all = append(all, r.URL.Query().Get("scope"))
	}
	return all
}

// The requested scopes are those of the challenge, or the configured ones, or all in the metadata,
// or none.
func TestScopeSelection(t *testing.T) {
	for _, tc := range []struct {
		challenge string
		o         []string
		prm, asm  any
		want      string
	}{
		{`Bearer scope="a b"`, []string{"c"}, []string{"d"}, nil, "a b"},
		{`Bearer scope="a  a b"`, nil, nil, nil, "a b"},
		{`Bearer`, []string{"c"}, []string{"d"}, nil, "c"},
		{`Bearer`, nil, []string{"d", "e"}, nil, "d e"},
		{`Bearer`, nil, nil, nil, ""},
		{`Bearer scope=""`, nil, []string{"d"}, nil, "d"},
		{`Bearer scope="a\"x b"`, nil, nil, nil, "b"},
		{`Bearer scope="a"`, nil, nil, []string{"offline_access"}, "a offline_access"},
		{`Bearer scope="a offline_access"`, nil, nil, []string{"a"}, "a"},
		// support is unknown
		{`Bearer scope="a offline_access"`, nil, nil, nil, "a offline_access"},
		{`Bearer`, nil, nil, []string{"offline_access"}, ""},
	} {
		w := newWorld(t)
		w.challenge, w.prm["scopes_supported"], w.asm["scopes_supported"] = tc.challenge, tc.prm,
			tc.asm
		o := w.options()
		o.Scopes = tc.o
		w.client(o).ok()
		q := w.requestsTo("/authorize")[0].URL.Query()
		assert.Equal(t, q.Get("scope"), tc.want, tc.challenge)
		assert.Equal(t, q.Has("scope"), tc.want != "")
		assert.Equal(t, q.Get("prompt") == "consent", strings.Contains(tc.want, "offline_access"))
	}
}

// After insufficient_scope, the previous scopes and the missing ones are requested.
func TestStepUp(t *testing.T) {
	w := newWorld(t)
	w.challenge = `Bearer error="insufficient_scope", scope="read"`
	scopes := ""
	w.token = func(url.Values, *http.Request) (int, any) {
		scopes = w.scopesAsked()[w.count("/authorize")-1]
		return 0, nil
	}
	w.accepts = func(*http.Request) int {
		if slices.Contains(strings.Fields(scopes), "write") {
			return 200
		}
		w.challenge = `Bearer error="insufficient_scope", scope="write"`
		return 403
	}
	c := w.client(w.options())
	c.ok()
	assert.DeepEqual(t, w.scopesAsked(), []string{"read", "read write"})
	got, _ := c.Credentials()
	assert.DeepEqual(t, got.Scopes, []string{"read", "write"})
	assert.Equal(t, w.count("/register"), 2,
		"the first is for the scopes that it was made for only")
}

// An authorization server that refuses scopes of resources in registrations accepts them from
// clients registered without scopes.
func TestStepUpWithoutScopesOfTheClient(t *testing.T) {
	w := newWorld(t)
	var scopes []any
	w.register = func(body map[string]any) (int, any) {
		if scopes = append(scopes, body["scope"]); body["scope"] != nil {
			return 400, map[string]any{"error": "invalid_client_metadata"}
		}
		return 0, nil
	}
	w.accepts = func(*http.Request) int {
		if w.count("/authorize") == 2 {
			return 200
		}
		w.challenge = `Bearer error="insufficient_scope", scope="write"`
		return 403
	}
	w.client(w.options()).ok()
	assert.DeepEqual(t, scopes, []any{"read", nil})
	assert.DeepEqual(t, w.scopesAsked(), []string{"read", "read write"})
}

// Scopes of a challenge that were requested before do not count against the limits.
func TestStepUpBesideManyScopes(t *testing.T) {
	w := newWorld(t)
	var many []string
	for i := range 45 {
		many = append(many, fmt.Sprintf("%052d", i))
	}
	held := strings.Join(many, " ")
	w.challenge = fmt.Sprintf(`Bearer error="insufficient_scope", scope="%s"`, held)
	w.accepts = func(*http.Request) int {
		if w.count("/authorize") == 2 {
			return 200
		}
		w.challenge = fmt.Sprintf(`Bearer error="insufficient_scope", scope="%s write"`, held)
		return 403
	}
	w.client(w.options()).ok()
	assert.DeepEqual(t, w.scopesAsked(), []string{held, held + " write"})
}

// Without a user, credentials that another program has saved are used if they have the scopes.
func TestStepUpByAnotherProgram(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		o := w.options()
		o.Store = &memoryStore{}
		alone := o
		alone.Grant = nil
		needs := ""
		w.accepts = func(r *http.Request) int {
			asked := w.scopesAsked()
			switch {
			case r.Header.Get("Authorization") != "Bearer "+w.current:
				return 401
			case needs != "" && !slices.Contains(strings.Fields(asked[len(asked)-1]), needs):
				w.challenge = `Bearer error="insufficient_scope", scope="write"`
				return 403
			}
			return 200
		}
		user, c := w.client(o), w.client(alone)
		user.ok()
		c.ok()
		needs = "write"
		status, err := c.call()
		assert.NilError(t, err)
		assert.Equal(t, status, 403)
		sleep(1)
		assert.NilError(t, user.Login(t.Context(), "write"))
		c.ok()
		assert.Equal(t, w.count("/authorize"), 2)
	})
}

// Scopes that were not granted are not requested again, and a server that always requires more gets
// a bounded number of requests.
func TestStepUpsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.accepts = func(*http.Request) int { return 403 }
	w.challenge = `Bearer error="insufficient_scope", scope="admin"`
	c := w.client(w.options())
	for range 3 {
		status, err := c.call()
		assert.NilError(t, err)
		assert.Equal(t, status, 403)
	}
	assert.DeepEqual(t, w.scopesAsked(), []string{"admin"})

	w = newWorld(t)
	n := 0
	w.accepts = func(*http.Request) int {
		n++
		w.challenge = fmt.Sprintf(`Bearer error="insufficient_scope", scope="s%d"`, n)
		return 403
	}
	c = w.client(w.options())
	status, err := c.call()
	assert.NilError(t, err)
	assert.Equal(t, status, 403)
	assert.DeepEqual(t, w.scopesAsked(), []string{"read", "read s1", "read s1 s2"})

	// A 403 for another reason causes no step-up.
	for _, challenge := range []string{"", `Bearer error="invalid_token", scope="x"`,
		`Bearer scope="x"`} {
		w = newWorld(t)
		w.accepts = func(*http.Request) int { w.challenge = challenge; return 403 }
		status, err := w.client(w.options()).call()
		assert.NilError(t, err)
		assert.Equal(t, status, 403)
		assert.Equal(t, w.count("/authorize"), 1)
	}
}

// A server that refuses a new token does not cause another page: neither for this request nor for
// later ones for a while.
func TestRefusalsAreBounded(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		w.accepts = func(*http.Request) int { return 401 }
		c := w.client(w.options())
		status, err := c.call()
		assert.NilError(t, err)
		assert.Equal(t, status, 401)
		assert.Equal(t, w.count("/authorize"), 1)
		assert.Equal(t, w.count("/mcp"), 2)
		for range 5 {
			status, err = c.call()
			assert.Assert(t, err != nil || status == 401)
		}
		assert.Equal(t, w.count("/authorize"), 1)
		sleep(31)
		_, _ = c.call()
		assert.Equal(t, w.count("/authorize"), 2)
	})
}

// If a refreshed token is refused, the user is asked.
func TestRefreshedTokenIsRefused(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		w.rotateRefreshTokens()
		c := w.client(w.options())
		c.ok()
		w.accepts = func(*http.Request) int {
			if w.count("/authorize") == 2 {
				return 200
			}
			return 401
		}
		c.ok()
		assert.Equal(t, w.count("/token"), 3, "the code, the refresh, and the code again")
	})
}

// When the server changes its authorization server, the client is registered there, and the new
// server receives nothing of the old one. Both logins are at the same time of the fake clock.
func TestMigration(t *testing.T) { runSynctest(t, testMigration) }

func testMigration(t *testing.T, w *testServers) {
	store := &memoryStore{}
	o := w.options()
	o.Store = store
	c := w.client(o)
	c.ok()

	second := newWorld(t)
	second.asm = merged(w.asm, map[string]any{"issuer": "https://as2.example/t"})
	for name, path := range map[string]string{"authorization_endpoint": "/authorize",
		"token_endpoint": "/token", "registration_endpoint": "/register"} {
		second.asm[name] = "https://as2.example" + path
	}
	second.register = func(map[string]any) (int, any) { return 201, `{"client_id":"registered-2"}` }
	second.made = 100
	w.hosts["https://as2.example"] = second.hosts["https://as.example"]
	w.prm["authorization_servers"] = []string{"https://as2.example/t"}
	w.accepts = func(r *http.Request) int {
		if second.current != "" && r.Header.Get("Authorization") == "Bearer "+second.current {
			return 200
		}
		return 401
	}
	c.ok()
	for _, r := range w.seen {
		if r.URL.Host == "as2.example" {
			all := r.URL.RawQuery + r.body + fmt.Sprint(r.Header)
			assert.Assert(t, !strings.Contains(all, "client_id=registered&") &&
				!strings.Contains(all, "refresh-2") && !strings.Contains(all, "token-2"), all)
		}
	}
	assert.Equal(t, len(w.requestsAt("as2.example")), 4)
	assert.Equal(t, len(store.all), 2, "one is kept for each")
	got, _ := c.Credentials()
	assert.Equal(t, got.Issuer+" "+got.Registration.ClientID, "https://as2.example/t registered-2")

	// Another run uses the newer ones.
	for range 10 { // whatever order the Store has them in
		got, ok := w.client(o).Credentials()
		assert.Assert(t, ok)
		assert.Equal(t, got.Issuer, "https://as2.example/t")
	}
}

var _ auth.Store = (*memoryStore)(nil)
