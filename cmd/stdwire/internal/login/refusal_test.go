package login

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A login is used only with the URL, the client and the authorization server that it was made with.
// Otherwise it is deleted, so that its user is asked again.
func TestUnfitLogin(t *testing.T) {
	k := Key{"ada", "app", "up"}
	const at = "https://s.example/mcp?key=hidden"
	for name, test := range map[string]struct {
		e    config.Endpoint
		fits bool
	}{
		"the same":        {config.Endpoint{URL: at}, true},
		"another scope":   {config.Endpoint{URL: at, OAuth: &config.OAuth{Scope: "c"}}, true},
		"another URL":     {config.Endpoint{URL: "https://s.example/mcp/?key=hidden"}, false},
		"another client":  {config.Endpoint{URL: at, OAuth: &config.OAuth{ClientID: "own"}}, false},
		"another issuer":  {config.Endpoint{URL: at, OAuth: &config.OAuth{Issuer: "https://b.example"}}, false},
		"the same issuer": {config.Endpoint{URL: at, OAuth: &config.OAuth{Issuer: "https://as.example"}}, true},
	} {
		l := New(NewMemory(), discard)
		assert.NilError(t, (&account{s: l.store, key: k, create: true}).Put(credentials("t")), name)
		_, err := l.Server("up", nil).Wrap(k, &test.e, nil)
		if test.fits {
			assert.Check(t, err, name)
		} else {
			assert.ErrorIs(t, err, errNoLogin, name)
		}
		assert.Equal(t, has(t, l.store, k), test.fits, name)
	}
	// a row that another key has sealed
	l := New(NewMemory(), discard)
	sealed, err := NewMemory().seal.seal(newLogin(k, new(credentials("t"))), new(credentials("t")))
	assert.NilError(t, err)
	l.store.rows[k] = sealed
	_, err = l.Server("up", nil).Wrap(k, &config.Endpoint{URL: at}, nil)
	assert.ErrorIs(t, err, errNoLogin)
	assert.Check(t, !has(t, l.store, k))
}

// A call is made again, after its user was asked, only if its own failure is the refusal of his
// login or of his scopes.
func TestRefusedCall(t *testing.T) {
	k := Key{"ada", "", "up"}
	status := func(method string, code int, challenge string) error {
		return &client.CallError{Err: &streamable.StatusError{Method: method, Status: code,
			Header: http.Header{"Www-Authenticate": {challenge}}}}
	}
	for name, test := range map[string]struct {
		err     error
		dropped bool   // the login, during the call
		asks    string // "": no
	}{
		"no login":          {err: errNoLogin, dropped: true, asks: "needs you to log in"},
		"a refused token":   {err: status("POST", 401, "Bearer"), dropped: true, asks: "needs you to log in"},
		"a former token":    {err: status("POST", 401, "Bearer")},
		"a scope":           {err: status("POST", 403, `Bearer error="insufficient_scope", scope="b"`), asks: "needs more permissions"},
		"other permissions": {err: status("POST", 403, `Bearer error="access_denied"`)},
		"a proxy":           {err: status("POST", 401, "Basic"), dropped: true},
		"its result":        {err: status("GET", 401, "Bearer"), dropped: true},
		"a timeout":         {err: context.DeadlineExceeded},
		"a revocation":      {err: errors.New("it is lost"), dropped: true},
	} {
		l := New(NewMemory(), discard)
		l.SetBase("https://gw.example")
		l.Server("up", nil)
		own := &account{s: l.store, key: k, create: true}
		assert.NilError(t, own.Put(credentials("t")), name)
		made := 0
		call := l.Calls(func(context.Context, *dispatch.Invocation) (dispatch.Result, error) {
			made++
			l.demand(k, []string{"of a list"})
			if test.dropped {
				assert.NilError(t, own.drop("t"))
			}
			return nil, test.err
		})
		result, err := call(context.WithValue(t.Context(), contextkey.Principal{}, k.User),
			&dispatch.Invocation{Kind: string(mcp.KindTool), Server: "up"})
		assert.Equal(t, made, 1, name)
		if test.asks == "" {
			assert.Equal(t, err, test.err, name)
			links, err := l.store.readLinks(t.Context(), k.User)
			assert.NilError(t, err)
			assert.Equal(t, len(links), 0, name)
		} else {
			assert.NilError(t, err, name)
			assert.Check(t, cmp.Contains(string(result.JSON()), test.asks), name)
		}
		l.Close()
	}
}

type answer func(*http.Request) *http.Response

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

// Only a response that is about a token deletes the login, and only that which has the token.
func TestRefusedToken(t *testing.T) {
	k := Key{"ada", "app", "up"}
	for name, test := range map[string]struct {
		challenges []string
		sent       string
		unread     bool // the body cannot be sent again
		kept       bool
	}{
		"of the token":  {challenges: []string{`Bearer error="invalid_token"`}, sent: "Bearer t"},
		"DPoP":          {challenges: []string{`DPoP error="invalid_token"`}, sent: "DPoP t"},
		"both":          {challenges: []string{"Basic realm=x", "Bearer"}, sent: "Bearer t"},
		"no challenge":  {sent: "Bearer t"},
		"of a proxy":    {challenges: []string{`Basic realm="proxy"`}, sent: "Bearer t", kept: true},
		"a nonce":       {challenges: []string{`DPoP error="use_dpop_nonce"`}, sent: "DPoP t", kept: true},
		"a former one":  {challenges: []string{"Bearer"}, sent: "Bearer before", kept: true},
		"no token":      {challenges: []string{"Bearer"}, kept: true},
		"not tried yet": {challenges: []string{"Bearer"}, sent: "Bearer t", unread: true, kept: true},
	} {
		l := New(NewMemory(), discard)
		own := &account{s: l.store, key: k, create: true}
		assert.NilError(t, own.Put(credentials("t")), name)
		r := &refusals{answer(func(req *http.Request) *http.Response {
			req = req.Clone(req.Context())
			req.Header.Set("Authorization", test.sent)
			return &http.Response{StatusCode: 401, Request: req, Body: http.NoBody,
				Header: http.Header{"Www-Authenticate": test.challenges}}
		}), l, own}
		req, err := http.NewRequestWithContext(t.Context(), "POST", "https://s.example/mcp",
			strings.NewReader("{}"))
		assert.NilError(t, err)
		if test.unread {
			req.Body, req.GetBody = io.NopCloser(strings.NewReader("{}")), nil
		}
		_, err = r.RoundTrip(req)
		assert.NilError(t, err)
		assert.Equal(t, has(t, l.store, k), test.kept, name)
	}
}
