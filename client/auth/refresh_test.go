package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

func contextWithCancel() (context.Context, context.CancelFunc) {
	return context.WithCancel(context.Background())
}

// rotateRefreshTokens makes the token endpoint accept each refresh token once.
func (w *testServers) rotateRefreshTokens() {
	w.token = func(form url.Values, _ *http.Request) (int, any) {
		if form.Get("grant_type") != "refresh_token" {
			return 0, nil
		}
		w.mu.Lock()
		good := w.refresh
		w.mu.Unlock()
		if form.Get("refresh_token") != good {
			return 400, `{"error":"invalid_grant"}`
		}
		return 200, w.issue("Bearer")
	}
}

// An expired token is refreshed before it is sent, and a refused one afterwards. Each refresh token
// is used once.
func TestRefresh(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		store := &memoryStore{}
		o := w.options()
		o.Store = store
		w.rotateRefreshTokens()
		c := w.client(o)
		c.ok()
		sleep(3600)
		before := w.count("/mcp")
		c.ok()
		assert.Equal(t, w.count("/mcp"), before+1, "the old token is not even sent")
		form := w.requestsTo("/token")[1].form
		assert.DeepEqual(t, form,
			url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"s3cret-refresh-2"},
				"client_id": {"registered"}, "resource": {endpoint}})
		assert.Equal(t, store.one(t).RefreshToken, "s3cret-refresh-3", "the new one is kept")

		w.mu.Lock()
		w.current = "revoked"
		w.mu.Unlock()
		c.ok()
		assert.Equal(t, w.requestsTo("/token")[2].form.Get("refresh_token"), "s3cret-refresh-3")
		assert.Equal(t, w.count("/authorize"), 1, "and the user has not been asked again")
	})
}

// Without a refresh token, the user is asked again only after the token has expired.
func TestRefreshTokensMustNotBeAssumed(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		w.token = func(url.Values, *http.Request) (int, any) {
			made := w.issue("Bearer")
			delete(made, "refresh_token")
			return 200, made
		}
		c := w.client(w.options())
		c.ok()
		sleep(3500)
		c.ok()
		assert.Equal(t, w.count("/authorize"), 1)
		sleep(100)
		w.mu.Lock()
		w.current = "another"
		w.mu.Unlock()
		c.ok()
		assert.Equal(t, w.count("/authorize"), 2)
	})
}

// Concurrent requests with an expired or refused token cause one refresh.
func TestRefreshOnce(t *testing.T) {
	for _, expired := range []bool{true, false} {
		runSynctest(t, func(t *testing.T, w *testServers) {
			w.rotateRefreshTokens()
			c := w.client(w.options())
			c.ok()
			if expired {
				sleep(3600)
			} else {
				w.mu.Lock()
				w.current = "revoked"
				w.mu.Unlock()
			}
			token := w.token
			w.token = func(form url.Values, r *http.Request) (int,
				any) {
				sleep(1)
				return token(form, r)
			}
			var all sync.WaitGroup
			for range 64 {
				all.Go(c.ok)
			}
			all.Wait()
			assert.Equal(t, w.count("/token"), 2)
			assert.Equal(t, w.count("/authorize"), 1)
		})
	}
}

// A refresh goes on when its request is cancelled, because the refresh token is used up. The next
// request uses the result.
func TestRefreshOutlivesTheRequest(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		w.rotateRefreshTokens()
		c := w.client(w.options())
		c.ok()
		sleep(3600)
		token := w.token
		w.token = func(form url.Values, r *http.Request) (int, any) {
			status, v := token(form, r)
			sleep(5)
			return status, v
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := c.callWith(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		sleep(5)
		synctest.Wait()
		c.ok()
		assert.Equal(t, w.count("/token"), 2)
		assert.Equal(t, w.count("/authorize"), 1)
	})
}

// If the refresh token is refused, the user is asked; without a user, the server's refusal is
// returned.
func TestRefreshTokenIsRefused(t *testing.T) {
	for _, user := range []bool{true, false} {
		runSynctest(t, func(t *testing.T, w *testServers) {
			store := &memoryStore{}
			o := w.options()
			o.Store = store
			w.rotateRefreshTokens()
			w.client(o).ok()
			sleep(3600)
			w.mu.Lock()
			w.refresh, w.current = "another", "another"
			w.mu.Unlock()
			if user {
				w.client(o).ok()
				assert.Equal(t, w.count("/authorize"), 2)
				return
			}
			o.Grant = nil
			c := w.client(o)
			for range 3 {
				status, err := c.call()
				assert.NilError(t, err)
				assert.Equal(t, status, 401)
			}
			assert.Equal(t, w.count("/token"), 2, "it is tried once")
			assert.Equal(t, store.one(t).RefreshToken, "", "and forgotten")
		})
	}
}

// An unreachable authorization server does not invalidate credentials.
func TestRefreshFails(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		w.rotateRefreshTokens()
		o := w.options()
		c := w.client(o)
		c.ok()
		sleep(3600)
		token := w.token
		w.token = func(url.Values, *http.Request) (int, any) { return 503, "" }
		e := c.fails(auth.StepRefresh, "503 Service Unavailable")
		assert.Equal(t, e.Status, 503)
		w.token = token
		c.ok()
		assert.Equal(t, w.count("/authorize"), 1)
	})
}

// Credentials that another program has refreshed are used, and not refreshed again.
func TestAnotherProgramRefreshedFirst(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		store := &memoryStore{}
		o := w.options()
		o.Store = store
		w.rotateRefreshTokens()
		first, second := w.client(o), w.client(o)
		first.ok()
		second.ok()
		sleep(3600)
		first.ok()
		second.ok()
		assert.Equal(t, w.count("/token"), 2)
		sleep(60)
		w.mu.Lock()
		w.current = "revoked"
		w.mu.Unlock()
		second.ok()
		first.ok()
		assert.Equal(t, w.count("/token"), 3)
		assert.Equal(t, w.count("/authorize"), 1)
	})
}

// Failures of the Store are logged, and requests go on.
func TestStoreFails(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.Store = &memoryStore{err: errors.New("disk full")}
	c := w.client(o)
	c.ok()
	c.ok()
	assert.Equal(t, w.count("/authorize"), 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	assert.Assert(t, len(w.log.String()) > 0)
}

// Two programs that notice an expired token at the same time refresh it once.
func TestProgramsRefreshInTurn(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		o := w.options()
		o.Store = &memoryStore{}
		w.rotateRefreshTokens()
		first, second := w.client(o), w.client(o)
		first.ok()
		second.ok()
		sleep(3600)
		token := w.token
		w.token = func(form url.Values, r *http.Request) (int,
			any) {
			sleep(5)
			return token(form, r)
		}
		var both sync.WaitGroup
		both.Go(first.ok)
		both.Go(second.ok)
		both.Wait()
		assert.Equal(t, w.count("/token"), 2)
		assert.Equal(t, w.count("/authorize"), 1)
	})
}

// If the authorization server no longer knows a dynamically registered client, it is registered
// again. For a configured one, that is an error.
func TestRegistrationIsDeleted(t *testing.T) {
	for _, beforehand := range []bool{false, true} {
		runSynctest(t, func(t *testing.T, w *testServers) {
			o := w.options()
			o.Store = &memoryStore{}
			if beforehand {
				o.Clients = []auth.Registration{{Issuer: issuer, ClientID: "me"}}
			}
			w.client(o).ok()
			sleep(3600)
			w.mu.Lock()
			w.current = "another"
			w.mu.Unlock()
			w.token = func(form url.Values, _ *http.Request) (int, any) {
				if form.Get("grant_type") == "refresh_token" {
					return 401, `{"error":"invalid_client"}`
				}
				return 0, nil
			}
			c := w.client(o)
			if beforehand {
				assert.Equal(t, c.fails(auth.StepRefresh, "401 Unauthorized: invalid_client").Code,
					"invalid_client")
				return
			}
			c.ok()
			assert.Equal(t, w.count("/register"), 2)
			assert.Equal(t, w.count("/authorize"), 2)
		})
	}
}

// Login during a refresh asks the user nevertheless.
func TestLoginDuringRefresh(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		w.rotateRefreshTokens()
		c := w.client(w.options())
		c.ok()
		sleep(3600)
		token := w.token
		w.token = func(form url.Values, r *http.Request) (int, any) {
			if form.Get("grant_type") == "refresh_token" {
				sleep(5)
			}
			return token(form, r)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.ok()
		}()
		synctest.Wait()
		hurry, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, c.Login(hurry), context.DeadlineExceeded)
		assert.NilError(t, c.Login(t.Context()))
		<-done
		assert.Equal(t, w.count("/authorize"), 2)
		assert.Equal(t, w.count("/token"), 3)
	})
}

// If both tokens are revoked, the user is asked at once, or the server's refusal is returned; the
// refresh token is not tried twice.
func TestRevoked(t *testing.T) {
	for _, user := range []bool{true, false} {
		w := newWorld(t)
		store := &memoryStore{}
		o := w.options()
		o.Store = store
		w.rotateRefreshTokens()
		w.client(o).ok()
		if !user {
			o.Grant = nil
		}
		c := w.client(o)
		w.mu.Lock()
		w.current, w.refresh = "another", "another"
		w.mu.Unlock()
		if user {
			c.ok()
			assert.Equal(t, w.count("/authorize"), 2)
			continue
		}
		for range 3 {
			status, err := c.call()
			assert.NilError(t, err)
			assert.Equal(t, status, 401)
		}
		assert.Equal(t, w.count("/token"), 2)
		assert.Equal(t, store.one(t).RefreshToken, "")
	}
}

// Credentials that another program has saved may have expired as well: then their refresh token is
// used.
func TestAnotherProgramRefreshedLongAgo(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		o := w.options()
		o.Store = &memoryStore{}
		w.rotateRefreshTokens()
		first, second := w.client(o), w.client(o)
		first.ok()
		second.ok()
		sleep(3600)
		first.ok()
		sleep(3600)
		second.ok()
		assert.Equal(t, w.requestsTo("/token")[2].form.Get("refresh_token"), "s3cret-refresh-3")
		assert.Equal(t, w.count("/authorize"), 1)
	})
}

// Two refreshes within one tick of the clock, such as 16 ms on Windows, keep their order.
func TestAnotherProgramRefreshedInTheSameTick(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		o := w.options()
		o.Store = &memoryStore{}
		w.rotateRefreshTokens()
		first, second := w.client(o), w.client(o)
		first.ok()
		second.ok()
		w.mu.Lock()
		w.current = "revoked"
		w.mu.Unlock()
		first.ok()
		second.ok()
		assert.Equal(t, w.count("/token"), 2)
		assert.Equal(t, w.count("/authorize"), 1)
	})
}

// A Store that cannot be locked, or is locked for long, delays a request no longer than its context
// allows.
func TestLockFails(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		store := &memoryStore{}
		o := w.options()
		o.Store = store
		w.rotateRefreshTokens()
		c := w.client(o)
		c.ok()
		sleep(3600)
		unlock, err := store.Lock(t.Context(), auth.Key{})
		assert.NilError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = c.callWith(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		assert.Equal(t, w.count("/token"), 1)
		unlock()
		c.ok()
		assert.Equal(t, w.count("/token"), 2)

		sleep(3600)
		store.mu.Lock()
		store.err = errors.New("no locks here")
		store.mu.Unlock()
		c.ok()
		assert.Equal(t, w.count("/token"), 3)
		w.mu.Lock()
		defer w.mu.Unlock()
		assert.Assert(t, strings.Contains(w.log.String(), "credentials cannot be locked"),
			w.log.String())
	})
}

// Once the MCP server names another authorization server or resource, an expired token cannot be
// refreshed. The user is asked only after the server has refused a request, and not again soon
// after declining.
func TestRefreshElsewhere(t *testing.T) {
	for name, value := range map[string]any{
		"authorization_servers": []string{"https://as2.example/t"},
		"resource":              "https://mcp.example/",
	} {
		runSynctest(t, func(t *testing.T, w *testServers) {
			w.token = func(url.Values, *http.Request) (int, any) {
				made := w.issue("Bearer")
				made["expires_in"] = 60
				return 200, made
			}
			var asked []int // the requests to the MCP server before each page
			declines := false
			o := w.options()
			o.Grant = auth.AuthorizationCode{RedirectURL: redirect,
				FetchRedirect: func(ctx context.Context, page string) (string, error) {
					asked = append(asked, w.count("/mcp"))
					if declines {
						return "", errors.New("declined")
					}
					return w.follow(ctx, page)
				}}
			c := w.client(o)
			c.ok()
			second := newWorld(t)
			second.asm = merged(w.asm, map[string]any{"issuer": "https://as2.example/t"})
			w.hosts["https://as2.example"] = second.hosts["https://as.example"]
			w.prm[name], w.current, declines = value, "expired", true
			sleep(61)
			c.fails(auth.StepAuthorize, "declined")
			c.fails(auth.StepAuthorize, "declined")
			assert.DeepEqual(t, asked, []int{1, 3})
			assert.Equal(t, w.count("/mcp"), 4, "the server refuses each request")
			sleep(31)
			c.fails(auth.StepAuthorize, "declined")
			assert.DeepEqual(t, asked, []int{1, 3, 5})
		})
	}
}

// A request that was refused asks the user, although another one is just finding out that the
// expired token cannot be refreshed.
func TestRefusalDuringUnattendedRefresh(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		c := w.client(w.options())
		c.ok()
		w.prm["resource"] = "https://mcp.example/"
		refuse, answer := make(chan struct{}), make(chan struct{})
		w.current = "another"
		w.accepts = func(r *http.Request) int {
			w.mu.Lock()
			good := w.current
			w.mu.Unlock()
			if r.Header.Get("Authorization") == "Bearer "+good {
				return 200
			}
			<-refuse
			return 401
		}
		mcp := w.hosts["https://mcp.example"]
		w.hosts["https://mcp.example"] = http.HandlerFunc(
			func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/mcp" {
					<-answer
				}
				mcp.ServeHTTP(rw, r)
			})
		var both sync.WaitGroup
		both.Go(c.ok) // sent before the token expires
		sleep(3600)
		both.Go(c.ok)
		synctest.Wait()
		close(refuse)
		synctest.Wait()
		close(answer)
		both.Wait()
		assert.Equal(t, w.count("/authorize"), 2)
	})
}
