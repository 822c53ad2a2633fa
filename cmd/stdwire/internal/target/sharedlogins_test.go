package target

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/poll"

	clientauth "github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/login"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/internal/store/storetest"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// loginGateways returns gateways that share a store, behind a load balancer that sends each request
// of a browser to the next one.
func loginGateways(t *testing.T, s store.Store) (two [2]*loginGateway) {
	p := newProvider(t)
	for i := range two {
		logins, err := login.NewShared(s, []byte(strings.Repeat("k", 32)))
		assert.NilError(t, err)
		two[i] = newLoginGatewayAt(t, p, logins)
	}
	var next atomic.Int64
	pages := [2]http.Handler{two[0].logins.Handler(), two[1].logins.Handler()}
	balancer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pages[next.Add(1)%2].ServeHTTP(w, r)
	}))
	t.Cleanup(balancer.Close)
	for _, w := range two {
		w.logins.SetBase(balancer.URL)
	}
	return two
}

// connections returns how many users are connected to the server.
func (w *loginGateway) connections() (users int) {
	for _, s := range w.g.Manager().Status() {
		if s.Session != "" {
			users++
		}
	}
	return users
}

// A user logs in once for all gateways that share a store, whichever of them serves his browser; an
// expired token is renewed once; and what is revoked at one is of use at none.
func TestSharedLogins(t *testing.T) {
	for name, of := range map[string]func(t *testing.T) store.Store{
		"memory": func(*testing.T) store.Store { return new(store.Memory) },
		"redis": func(t *testing.T) store.Store {
			return storetest.On(t, redistest.Start(t))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := of(t)
			two := loginGateways(t, s)
			p := two[0].p
			for _, era := range []mcp.Era{mcp.Modern, mcp.Legacy} {
				ada, asked := two[0].asking(era, "ada")
				other, askedThere := two[1].asking(era, "ada")
				assert.Check(t, cmp.Contains(two[0].who(ada), "I know ada"))
				assert.Check(t, cmp.Contains(two[1].who(other), "I know ada"))
				p.expire()
				before := p.refreshes
				var calls sync.WaitGroup
				for range 10 {
					calls.Go(func() { assert.Check(t, cmp.Contains(two[0].who(ada), "I know ada")) })
					calls.Go(func() { assert.Check(t, cmp.Contains(two[1].who(other), "I know ada")) })
				}
				calls.Wait()
				p.mu.Lock()
				assert.Equal(t, p.refreshes, before+1)
				p.mu.Unlock()
				assert.Equal(t, asked.Load()+askedThere.Load(), int64(1))

				operator, err := login.NewShared(s, []byte(strings.Repeat("k", 32)))
				assert.NilError(t, err)
				all, err := operator.All(t.Context())
				assert.NilError(t, err)
				assert.Equal(t, len(all), 1)
				unrevoked, err := operator.Revoke(t.Context(), all[0].Key(),
					func() clientauth.Options { return clientauth.Options{} })
				assert.NilError(t, err)
				assert.NilError(t, unrevoked)
				for _, w := range two {
					poll.WaitOn(t, func(poll.LogT) poll.Result {
						if w.connections() > 0 {
							return poll.Continue("he is connected")
						}
						return poll.Success()
					}, poll.WithTimeout(time.Minute))
					declined := w.connect(era, "ada", func(string) mcp.ElicitAction {
						return mcp.ElicitDecline
					})
					assert.Check(t, cmp.Contains(w.who(declined), "did not want to"))
				}
			}
			for _, w := range two {
				assert.Check(t, !strings.Contains(w.log.String(), "-of-ada"), w.log.String())
			}
			assert.Check(t, !strings.Contains(p.seen.String(), "of-the-service"))
		})
	}
}

// While the store is down, calls say so and reach no server, with whatever credential; then they go
// on with the logins that were there, or ask again if the store is empty.
func TestStoreOfSharedLoginsDown(t *testing.T) {
	server := redistest.Start(t)
	two := loginGateways(t, storetest.On(t, server))
	ada, asked := two[0].asking(mcp.Modern, "ada")
	assert.Check(t, cmp.Contains(two[0].who(ada), "I know ada"))
	server.Kill()
	sent := len(two[0].p.seen.String())
	for _, w := range two {
		text := w.who(w.connect(mcp.Modern, "ada", nil))
		assert.Check(t, cmp.Contains(text, "try again in a moment"))
		assert.Check(t, !linkIn.MatchString(text), text)
	}
	assert.Equal(t, len(two[0].p.seen.String()), sent)
	server.Restart()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if text := two[0].who(ada); !strings.Contains(text, "I know ada") {
			return poll.Continue("%s", text)
		}
		return poll.Success()
	}, poll.WithTimeout(time.Minute))
	assert.Equal(t, asked.Load(), int64(2), "the store is empty")
}
