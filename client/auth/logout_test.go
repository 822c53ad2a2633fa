package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

// Logout revokes the tokens if the authorization server supports it, and deletes the credentials in
// any case.
func TestLogout(t *testing.T) {
	for name, tc := range map[string]struct {
		endpoint any
		handler  http.HandlerFunc
		want     string // expected error
	}{
		"taken back":  {"https://as.example/revoke", respondWith(200, ""), ""},
		"no endpoint": {nil, nil, ""},
		"refused": {"https://as.example/revoke",
			respondWith(503, `{"error":"temporarily_unavailable"}`),
			"token revocation: https://as.example/revoke: 503 Service Unavailable: temporarily_unavailable"},
		"http": {"http://as.example/revoke", nil, "the URL must be https:"},
		"elsewhere": {"https://as.example/revoke", func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "https://evil.example/", 307)
		}, "not followed"},
	} {
		for _, kept := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t)
				w.asm["revocation_endpoint"] = tc.endpoint
				w.asm["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
				if tc.handler != nil {
					w.handle("https://as.example", "POST /revoke", tc.handler)
				}
				store := &memoryStore{}
				o := w.options()
				o.Clients = []auth.Registration{mine}
				if kept {
					o.Store = store
				}
				c := w.client(o)
				c.ok()
				err := c.Logout(t.Context())
				assert.Equal(t, len(store.all), 0)
				_, ok := c.Credentials()
				assert.Assert(t, !ok)
				if tc.want != "" {
					_, ok := errors.AsType[*auth.Error](err)
					assert.Assert(t, ok, "%v", err)
					assert.ErrorContains(t, err, tc.want)
				} else {
					assert.NilError(t, err)
				}
				if tc.handler != nil {
					r := w.requestsTo("/revoke")[0]
					assert.DeepEqual(t, r.form,
						url.Values{"token": {"s3cret-refresh-2"},
							"token_type_hint": {"refresh_token"}})
					id, secret, _ := r.BasicAuth()
					assert.Equal(t, id+":"+secret, "mine:s3cret")
				}
				assert.Equal(t, len(w.requestsAt("evil.example")), 0)
				before := len(w.requestsAt(""))
				assert.NilError(t, c.Logout(t.Context()), "there is nothing any more")
				assert.Equal(t, len(w.requestsAt("")), before)
			})
		}
	}

	// Without a refresh token, the access token is revoked. A server of 2025-03-26 has no
	// revocation.
	w := newWorld(t)
	w.asm["revocation_endpoint"] = "https://as.example/revoke"
	w.handle("https://as.example", "POST /revoke", respondWith(200, ""))
	w.token = func(url.Values, *http.Request) (int, any) {
		made := w.issue("Bearer")
		delete(made, "refresh_token")
		return 200, made
	}
	c := w.client(w.options())
	c.ok()
	assert.NilError(t, c.Logout(t.Context()))
	assert.DeepEqual(t, w.requestsTo("/revoke")[0].form,
		url.Values{"token": {"s3cret-token-2"}, "token_type_hint": {"access_token"},
			"client_id": {"registered"}})
	c.ok()
	w.asm = nil
	assert.NilError(t, c.Logout(t.Context()))
}

// An unreadableStore cannot be read while broken is set.
type unreadableStore struct {
	memoryStore
	broken bool
}

func (s *unreadableStore) Find(endpoint string) ([]auth.Credentials, error) {
	if s.broken {
		return nil, errors.New("the disk is gone")
	}
	return s.memoryStore.Find(endpoint)
}

// A store that cannot be read does not keep the known token from being revoked.
func TestLogoutWithoutStore(t *testing.T) {
	w := newWorld(t)
	w.asm["revocation_endpoint"] = "https://as.example/revoke"
	w.handle("https://as.example", "POST /revoke", respondWith(200, ""))
	store := new(unreadableStore)
	o := w.options()
	o.Store = store
	c := w.client(o)
	c.ok()
	store.broken = true
	assert.ErrorContains(t, c.Logout(t.Context()), "the disk is gone")
	assert.Equal(t, len(w.requestsTo("/revoke")), 1)
	assert.Equal(t, len(store.all), 0)
	_, ok := c.Credentials()
	assert.Assert(t, !ok)
}

// Credentials that could be read are deleted and revoked although others could not.
func TestLogoutBesideDamagedCredentials(t *testing.T) {
	w := newWorld(t)
	w.asm["revocation_endpoint"] = "https://as.example/revoke"
	w.handle("https://as.example", "POST /revoke", respondWith(200, ""))
	store := auth.FileStore{Dir: t.TempDir()}
	o := w.options()
	o.Store = store
	c := w.client(o)
	c.ok()
	write("")(t, filepath.Join(store.Dir, "other.json"))
	assert.ErrorContains(t, w.client(o).Logout(t.Context()), "damaged", "has nothing in memory")
	assert.Equal(t, len(w.requestsTo("/revoke")), 1)
	found, err := store.Find(endpoint)
	assert.ErrorContains(t, err, "damaged")
	assert.Equal(t, len(found), 0)

	c = w.client(o)
	c.ok()
	assert.ErrorContains(t, c.Logout(t.Context()), "damaged", "has them in memory too")
	assert.Equal(t, len(w.requestsTo("/revoke")), 2)
}

// Logout ends a refresh that is in flight: its tokens are not kept, and its request fails. If
// Logout may not wait for it, nothing is deleted.
func TestLogoutDuringRefresh(t *testing.T) {
	for _, kept := range []bool{true, false} {
		runSynctest(t, func(t *testing.T, w *testServers) {
			w.asm["revocation_endpoint"] = "https://as.example/revoke"
			w.handle("https://as.example", "POST /revoke", respondWith(200, ""))
			w.rotateRefreshTokens()
			store := &memoryStore{}
			o := w.options()
			if kept {
				o.Store = store
			}
			c := w.client(o)
			c.ok()
			sleep(3600)
			token, answer := w.token, make(chan struct{})
			w.token = func(form url.Values, r *http.Request) (int, any) {
				<-answer
				return token(form, r)
			}
			call, logout := make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := c.call()
				call <- err
			}()
			synctest.Wait()
			hurry, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			assert.ErrorIs(t, c.Logout(hurry), context.DeadlineExceeded)
			_, ok := c.Credentials()
			assert.Assert(t, ok)

			go func() { logout <- c.Logout(t.Context()) }()
			synctest.Wait()
			close(answer)
			assert.NilError(t, <-logout)
			assert.ErrorContains(t, <-call, "Logout was called meanwhile")
			assert.Equal(t, len(store.all), 0)
			_, ok = c.Credentials()
			assert.Assert(t, !ok)
			revoked := w.requestsTo("/revoke")
			assert.Equal(t, len(revoked), 1)
			assert.Equal(t, revoked[0].form.Get("token"), "s3cret-refresh-3", "the new one")
			assert.Equal(t, w.count("/authorize"), 1)
		})
	}
}

// A request during Logout does not find the credentials that Logout is about to delete.
func TestRequestDuringLogout(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		store := &slowStore{found: make(chan struct{})}
		o := w.options()
		o.Store = store
		c := w.client(o)
		c.ok()
		store.slow.Store(true)
		logout := make(chan error, 1)
		go func() { logout <- c.Logout(t.Context()) }()
		synctest.Wait()
		store.slow.Store(false)
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.ok()
		}()
		synctest.Wait()
		assert.Equal(t, w.count("/authorize"), 1)
		close(store.found)
		assert.NilError(t, <-logout)
		<-done
		assert.Equal(t, w.count("/authorize"), 2)
	})
}

// A slowStore answers only once found is closed while slow is set.
type slowStore struct {
	memoryStore
	slow  atomic.Bool
	found chan struct{}
}

func (s *slowStore) Find(endpoint string) ([]auth.Credentials, error) {
	if s.slow.Load() {
		<-s.found
	}
	return s.memoryStore.Find(endpoint)
}
