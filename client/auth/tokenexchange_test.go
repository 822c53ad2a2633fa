package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/auth"
)

// A subject is a user whose token is exchanged.
type subject struct {
	token   string
	expires time.Time
}

// exchange returns options that exchange the token of a subject. Nothing but the token endpoint and
// the MCP server answers.
func (w *testServers) exchange(of *subject, change func(*auth.TokenExchange)) auth.Options {
	w.prm, w.asm = nil, nil
	g := auth.TokenExchange{TokenEndpoint: "https://as.example/token",
		Client: auth.Registration{ClientID: "gateway", Secret: "s3cret-client"},
		Subject: func(context.Context) (string, time.Time, error) {
			return of.token, of.expires, nil
		}}
	if change != nil {
		change(&g)
	}
	o := w.options()
	o.Grant, o.Eager, o.Scopes = g, true, []string{"read"}
	return o
}

// The request has all that RFC 8693, section 2.1, defines, and the MCP server sees neither a
// request without a token nor one with the user's.
func TestTokenExchange(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*auth.TokenExchange)
		want   url.Values
	}{
		"defaults": {nil, url.Values{"resource": {endpoint},
			"subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"}}},
		"everything": {func(g *auth.TokenExchange) {
			g.Audiences, g.Resources = []string{"a", "b"}, []string{"urn:c"}
			g.SubjectType = "urn:ietf:params:oauth:token-type:jwt"
			g.RequestedType = "urn:ietf:params:oauth:token-type:access_token"
			g.ActorToken, g.ActorType = "s3cret-actor", "urn:ietf:params:oauth:token-type:jwt"
		}, url.Values{"audience": {"a", "b"}, "resource": {"urn:c"},
			"subject_token_type":   {"urn:ietf:params:oauth:token-type:jwt"},
			"requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
			"actor_token":          {"s3cret-actor"},
			"actor_token_type":     {"urn:ietf:params:oauth:token-type:jwt"}}},
		"an audience": {func(g *auth.TokenExchange) { g.Audiences = []string{"a"} },
			url.Values{"audience": {"a"},
				"subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			user := &subject{token: "s3cret-user"}
			c := w.client(w.exchange(user, tc.change))
			c.ok()
			c.ok()
			assert.DeepEqual(t, w.requestsAt(""), []string{"POST https://as.example/token",
				"POST https://mcp.example/mcp", "POST https://mcp.example/mcp"})
			tc.want.Set("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")
			tc.want.Set("subject_token", "s3cret-user")
			tc.want.Set("scope", "read")
			r := w.requestsTo("/token")[0]
			assert.DeepEqual(t, r.form, tc.want)
			id, secret, _ := r.BasicAuth()
			assert.Equal(t, id+":"+secret, "gateway:s3cret-client")
			for _, r := range w.requestsTo("/mcp") {
				assert.Check(t, !strings.Contains(fmt.Sprint(r.Header, r.body), "s3cret-user"))
			}
		})
	}
}

// Tokens are replaced early, and not after the user's own has expired.
func TestTokenExchangeLifetimes(t *testing.T) {
	for name, tc := range map[string]struct {
		seconds   any           // expires_in
		subject   time.Duration // of the user's token; 0: unknown
		wantRenew time.Duration
	}{
		"an hour":            {3600, 0, 55 * time.Minute},
		"a minute":           {60, 0, 30 * time.Second},
		"unknown":            {nil, 0, 150 * time.Second},
		"a subject's":        {3600, 10 * time.Minute, 10 * time.Minute},
		"an older subject's": {60, time.Hour, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.accepts = func(*http.Request) int { return 200 }
				w.token = func(url.Values, *http.Request) (int, any) {
					return 200, map[string]any{"access_token": "s3cret-t", "token_type": "Bearer",
						"expires_in": tc.seconds, "refresh_token": "s3cret-refresh"}
				}
				user := &subject{token: "s3cret-user"}
				if tc.subject > 0 {
					user.expires = time.Now().Add(tc.subject)
				}
				c := w.client(w.exchange(user, nil))
				c.ok()
				time.Sleep(tc.wantRenew - time.Second)
				c.ok()
				assert.Equal(t, w.count("/token"), 1)
				time.Sleep(2 * time.Second)
				user.expires = time.Time{}
				c.ok()
				assert.Equal(t, w.count("/token"), 2)
				assert.Equal(t, w.requestsTo("/token")[1].form.Get("subject_token"), "s3cret-user",
					"not the refresh token")
			})
		})
	}
}

// Many requests wait for one exchange. What is refused is not asked again for 30 s, unless the
// user's token changes.
func TestTokenExchangeSingleFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		refused := true
		w.token = func(form url.Values, _ *http.Request) (int, any) {
			time.Sleep(time.Second)
			if refused {
				return 400, map[string]any{"error": "invalid_request",
					"error_description": form.Get("subject_token") + " is expired"}
			}
			return 0, nil
		}
		user := &subject{token: "s3cret-user-of-the-gateway"}
		c := w.client(w.exchange(user, nil))
		all := func(want string) {
			t.Helper()
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					_, err := c.call()
					if want == "" {
						assert.Check(t, err)
						return
					}
					_, isError := errors.AsType[*auth.Error](err)
					assert.Check(t, isError)
					assert.Check(t, cmp.ErrorContains(err, want))
				})
			}
			wg.Wait()
		}
		all("token exchange: https://as.example/token: 400 Bad Request: invalid_request: \"(a text that quotes a token)\"")
		all("400")
		assert.Equal(t, w.count("/token"), 1)
		assert.Equal(t, w.count("/mcp"), 0, "no request without a token")
		refused = false
		all("400")
		assert.Equal(t, w.count("/token"), 1)
		user.token = "s3cret-other"
		all("")
		assert.Equal(t, w.count("/token"), 2)
		refused, user.token = true, "s3cret-third"
		time.Sleep(time.Hour)
		all("400")
		refused = false
		time.Sleep(time.Minute)
		all("")
		assert.Equal(t, w.count("/token"), 4)
	})
}

// A server that needs more scopes gets a token with them; one that refuses the token, another.
func TestTokenExchangeStepUp(t *testing.T) {
	w := newWorld(t)
	w.challenge = `Bearer error="insufficient_scope", scope="write"`
	w.accepts = func(r *http.Request) int {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.made < 2 {
			return 403
		}
		return 200
	}
	c := w.client(w.exchange(&subject{token: "s3cret-user"}, nil))
	c.ok()
	assert.Equal(t, w.requestsTo("/token")[1].form.Get("scope"), "read write")
	w.challenge = `Bearer error="invalid_token"`
	w.accepts = func(r *http.Request) int {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.made < 3 {
			return 401
		}
		return 200
	}
	c.ok()
	assert.Equal(t, w.count("/token"), 3)
}

// Answers with which the user would be confused, or his token would go on, are refused.
func TestTokenExchangeRefusals(t *testing.T) {
	for want, answer := range map[string]map[string]any{
		"the issued token is the user's own": {"access_token": "s3cret-user", "token_type": "Bearer"},
		"which was not asked for": {"access_token": "s3cret-x", "token_type": "Bearer",
			"issued_token_type": "urn:ietf:params:oauth:token-type:id_token"},
		"unsupported type":      {"access_token": "s3cret-x", "token_type": "N_A"},
		"no valid access_token": {"token_type": "Bearer"},
	} {
		w := newWorld(t)
		w.token = func(url.Values, *http.Request) (int, any) { return 200, answer }
		_, err := w.client(w.exchange(&subject{token: "s3cret-user"}, nil)).call()
		assert.ErrorContains(t, err, want)
		assert.Equal(t, w.count("/mcp"), 0)
	}
	w := newWorld(t)
	for want, change := range map[string]func(*auth.TokenExchange){
		"TokenExchange without Subject": func(g *auth.TokenExchange) { g.Subject = nil },
		"without ClientID":              func(g *auth.TokenExchange) { g.Client.ClientID = "" },
		"or none":                       func(g *auth.TokenExchange) { g.ActorToken = "a" },
		"TokenExchange.TokenEndpoint": func(g *auth.TokenExchange) {
			g.TokenEndpoint = "http://as.example/token"
		},
	} {
		_, err := w.exchange(&subject{}, change).New(endpoint)
		assert.ErrorContains(t, err, want)
	}
	_, err := auth.Options{Eager: true}.New(endpoint)
	assert.ErrorContains(t, err, "Eager needs a Grant")
	_, err = w.client(w.exchange(nil, func(g *auth.TokenExchange) {
		g.Subject = func(context.Context) (string, time.Time, error) {
			return "", time.Time{}, errors.New("nobody")
		}
	})).call()
	assert.ErrorContains(t, err, "nobody")
}
