package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/inflight"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A plant starts servers in this process, and can end them.
type plant struct {
	mu      sync.Mutex
	broken  error         // the error of every further start
	slow    time.Duration // the duration of a start
	starts  int
	eras    []mcp.Era // the requested eras
	live    []net.Conn
	begun   chan struct{} // a call runs
	serving sync.WaitGroup
}

func (p *plant) connect(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
	p.mu.Lock()
	p.starts++
	p.eras = append(p.eras, o.Era)
	broken, slow := p.broken, p.slow
	p.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if broken != nil {
		return nil, broken
	}
	here, there := net.Pipe()
	p.mu.Lock()
	p.live = append(p.live, there)
	p.mu.Unlock()
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "hold", Summary: "Waits.", Type: dispatch.Wait},
		func(ctx context.Context, _ struct{}) (struct{}, error) {
			p.begun <- struct{}{}
			<-ctx.Done()
			return struct{}{}, ctx.Err()
		})
	p.serving.Go(func() {
		_ = server.New(server.Info{Name: "plant", Version: "1"},
			catalog).Serve(context.Background(), there)
	})
	return o.Connect(ctx, client.Stream(here))
}

func (p *plant) started() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

func (p *plant) breaks(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = err
}

// kill ends the latest server.
func (p *plant) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live[len(p.live)-1].Close()
}

// inBubble runs a test with a manager of one server, "s".
func inBubble(t *testing.T, s Server, test func(t *testing.T, m *Manager, p *plant)) {
	synctest.Test(t, func(t *testing.T) {
		p := &plant{begun: make(chan struct{}, 100)}
		m := NewManager(nil)
		s.ID, s.Connect = "s", p.connect
		assert.NilError(t, m.Add(s))
		test(t, m, p)
		m.Close()
		p.serving.Wait()
	})
}

func use(t *testing.T, m *Manager) error {
	return m.Use(t.Context(), "s", "", func(c *client.Client) error {
		for _, err := range c.Tools(t.Context()) {
			return err
		}
		return errors.New("no tools")
	})
}

func state(m *Manager) State { return m.Status()[0].State }

func TestStartAtFirstUse(t *testing.T) {
	inBubble(t, Server{}, func(t *testing.T, m *Manager, p *plant) {
		p.slow = time.Second
		assert.Equal(t, state(m), Stopped)
		time.Sleep(time.Hour)
		assert.Equal(t, p.started(), 0)
		var wg sync.WaitGroup
		for range 50 { // many at once start it once
			wg.Go(func() { assert.Check(t, use(t, m)) })
		}
		synctest.Wait()
		assert.Equal(t, state(m), Starting)
		wg.Wait()
		assert.Equal(t, p.started(), 1)
		assert.Equal(t, state(m), Ready)
		assert.Equal(t, m.Status()[0].Uses, 0)
	})
}

// The start of a server continues after the use that requested it is cancelled.
func TestStartOutlivesUse(t *testing.T) {
	inBubble(t, Server{}, func(t *testing.T, m *Manager, p *plant) {
		p.slow = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := m.Use(ctx, "s", "", func(*client.Client) error { return nil })
		assert.Error(t, err, `server "s": context deadline exceeded`)
		assert.NilError(t, use(t, m))
		assert.Equal(t, p.started(), 1)
	})
}

func TestIdleStop(t *testing.T) {
	inBubble(t, Server{IdleStop: time.Minute}, func(t *testing.T, m *Manager, p *plant) {
		assert.NilError(t, use(t, m))
		time.Sleep(59 * time.Second)
		assert.NilError(t, use(t, m)) // restarts the idle time
		time.Sleep(59 * time.Second)
		assert.Equal(t, state(m), Ready)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, state(m), Stopped)
		assert.NilError(t, use(t, m))
		assert.Equal(t, p.started(), 2)
		assert.Equal(t, m.Status()[0].Restarts, 0)

		// It is not stopped while it is in use.
		_ = m.Use(t.Context(), "s", "", func(*client.Client) error {
			time.Sleep(time.Hour)
			assert.Equal(t, state(m), Ready)
			return nil
		})
		assert.Equal(t, p.started(), 2)
	})
	inBubble(t, Server{IdleStop: -1}, func(t *testing.T, m *Manager, p *plant) {
		assert.NilError(t, use(t, m))
		time.Sleep(1000 * time.Hour)
		assert.Equal(t, state(m), Ready)
	})
}

func TestFailureAndRestart(t *testing.T) {
	inBubble(t, Server{}, func(t *testing.T, m *Manager, p *plant) {
		ended := make(chan error, 1)
		go func() {
			ended <- m.Use(t.Context(), "s", "", func(c *client.Client) error {
				_, err := c.CallTool(t.Context(), "hold", nil)
				return err
			})
		}()
		<-p.begun
		died := time.Now()
		p.kill()
		err := <-ended
		assert.Assert(t, errors.Is(err, rpc.ErrClosed))
		assert.Assert(t, cmp.Contains(err.Error(), `server "s"`))
		assert.Equal(t, time.Since(died), time.Duration(0), "at once")
		synctest.Wait()
		status := m.Status()[0]
		assert.Equal(t, status.State, Waiting)
		assert.Assert(t, errors.Is(status.Err, rpc.ErrClosed))

		assert.NilError(t, use(t, m)) // waits for it
		assert.Assert(t, time.Since(died) >= 750*time.Millisecond &&
			time.Since(died) <= 1250*time.Millisecond, time.Since(died))
		assert.Equal(t, p.started(), 2)
		assert.Equal(t, m.Status()[0].Restarts, 1)
		assert.NilError(t, m.Status()[0].Err)
	})
}

// Only an idempotent use is repeated, and only once.
func TestIdempotentUse(t *testing.T) {
	for idempotent, want := range map[bool]int{true: 2, false: 1} {
		inBubble(t, Server{}, func(t *testing.T, m *Manager, p *plant) {
			times := 0
			use := m.Use
			if idempotent {
				use = m.UseIdempotent
			}
			err := use(t.Context(), "s", "", func(c *client.Client) error {
				if times++; times == 1 {
					p.kill()
					<-c.Done()
				}
				for _, err := range c.Tools(t.Context()) {
					return err
				}
				return nil
			})
			assert.Equal(t, times, want)
			assert.Equal(t, err == nil, idempotent, "%v", err)
		})
	}
}

// A restart uses the era of the previous start. After a failed start the era is detected again.
func TestEraOfRestart(t *testing.T) {
	inBubble(t, Server{IdleStop: time.Minute}, func(t *testing.T, m *Manager, p *plant) {
		assert.NilError(t, use(t, m))
		time.Sleep(time.Hour)
		assert.NilError(t, use(t, m))
		time.Sleep(time.Hour)
		p.breaks(errors.New("boom"))
		assert.ErrorContains(t, use(t, m), "boom")
		p.breaks(nil)
		time.Sleep(2 * time.Second)
		assert.NilError(t, use(t, m))
		assert.DeepEqual(t, p.eras, []mcp.Era{0, mcp.Modern, mcp.Modern, 0})
	})
}

func TestTooManyFailures(t *testing.T) {
	inBubble(t, Server{}, func(t *testing.T, m *Manager, p *plant) {
		p.breaks(errors.New("boom"))
		err := use(t, m)
		unavailable, ok := errors.AsType[*UnavailableError](err)
		assert.Assert(t, ok && unavailable.RetryAfter > 0)
		assert.Assert(t,
			cmp.Contains(err.Error(),
				`server "s" is not available: boom; it restarts in 1s`))
		time.Sleep(2 * time.Minute)
		assert.Equal(t, p.started(), maxFailures)
		assert.Equal(t, state(m), Failed)

		// one attempt
		assert.ErrorContains(t, use(t, m),
			`server "s" is not available: boom; it restarts in 5m0s`)
		assert.Equal(t, p.started(), maxFailures+1)
		began := time.Now()
		assert.ErrorContains(t, use(t, m), "boom") // it does not wait that long
		assert.Equal(t, time.Since(began), time.Duration(0))
		assert.Equal(t, p.started(), maxFailures+1)

		time.Sleep(6 * time.Minute) // one automatic attempt
		assert.Equal(t, p.started(), maxFailures+2)
		assert.Equal(t, state(m), Failed)
		p.breaks(nil)
		time.Sleep(5 * time.Minute)
		assert.Equal(t, p.started(), maxFailures+3)
		assert.Equal(t, state(m), Ready)

		p.breaks(errors.New("boom"))
		assert.NilError(t, m.Restart("s"))
		// The count of failures has begun again. On a slow machine the use may come after the first
		// failure, and then waits for the second restart.
		err = use(t, m)
		assert.Assert(t, strings.Contains(err.Error(), "boom; it restarts in 1s") ||
			strings.Contains(err.Error(), "boom; it restarts in 2s"), "%v", err)
		p.breaks(nil)
		assert.NilError(t, m.Restart("s"))
		assert.NilError(t, use(t, m))
		assert.Equal(t, state(m), Ready)
	})
}

func TestDisable(t *testing.T) {
	inBubble(t, Server{}, func(t *testing.T, m *Manager, p *plant) {
		assert.NilError(t, use(t, m))
		assert.NilError(t, m.Disable("s"))
		assert.Equal(t, state(m), Disabled)
		err := use(t, m)
		assert.Error(t, err, `server "s": the server is disabled`)
		assert.Assert(t, errors.Is(err, ErrDisabled))
		assert.NilError(t, m.Enable("s"))
		assert.Equal(t, state(m), Stopped)
		assert.NilError(t, use(t, m))
		assert.NilError(t, m.Add(Server{ID: "s", Connect: p.connect, Disabled: true}))
		assert.Equal(t, state(m), Disabled)
		assert.Assert(t, errors.Is(use(t, m), ErrDisabled))
		assert.NilError(t, m.Add(Server{ID: "s", Connect: p.connect}))
		assert.NilError(t, use(t, m))
		for _, f := range []func(string) error{m.Disable, m.Enable, m.Restart} {
			assert.Assert(t, errors.Is(f("other"), ErrUnknown))
		}
		assert.Assert(t, errors.Is(m.Use(t.Context(), "other", "", nil), ErrUnknown))
	})
}

func TestPerSession(t *testing.T) {
	inBubble(t, Server{Sharing: PerSession, IdleStop: time.Minute},
		func(t *testing.T, m *Manager, p *plant) {
			clients := map[*client.Client]bool{}
			for _, session := range []string{"a", "b", "a", ""} {
				assert.NilError(t,
					m.Use(t.Context(), "s", session, func(c *client.Client) error {
						clients[c] = true
						return nil
					}))
			}
			assert.Equal(t, len(clients), 3)
			assert.Equal(t, len(m.Status()), 3)
			m.EndSession("b")
			assert.Equal(t, len(m.Status()), 2)
			time.Sleep(2 * time.Minute)
			assert.Equal(t, len(m.Status()), 1, "nothing is left of sessions that nobody uses")
			assert.Equal(t, len(m.supervisors), 1)
		})
}

// The number of sessions with a client of their own is limited. Ended and failed sessions do not
// count, nor does the shared client.
func TestMaxSessions(t *testing.T) {
	inBubble(t, Server{Sharing: PerSession, MaxSessions: 2, IdleStop: time.Minute},
		func(t *testing.T, m *Manager, p *plant) {
			use := func(session string) error {
				return m.Use(t.Context(), "s", session,
					func(*client.Client) error { return nil })
			}
			for _, session := range []string{"a", "b", "", "a"} {
				assert.NilError(t, use(session))
			}
			err := use("c")
			assert.Assert(t, errors.Is(err, ErrTooManySessions))
			assert.Error(t, err,
				`server "s": too many sessions have a server of their own: the maximum is 2; try again when one has ended`)
			m.EndSession("a")
			assert.NilError(t, use("c"))
			assert.Assert(t, errors.Is(use("a"), ErrTooManySessions))
			time.Sleep(2 * time.Minute)
			assert.NilError(t, use("a"))

			p.mu.Lock()
			p.broken = errors.New("boom")
			p.mu.Unlock()
			for range 2 {
				assert.ErrorContains(t, use("b"), "boom")
				// so that b, which restarts every 5 minutes, is not just starting
				time.Sleep(7 * time.Minute)
			}
			p.mu.Lock()
			p.broken = nil
			p.mu.Unlock()
			assert.NilError(t, use("d"))
			assert.NilError(t, use("e"), "b has failed")
		})
}

// The client of a user who does not come back is not started again, and the user that waits for
// longest gives way only to those that find no place.
func TestPerUser(t *testing.T) {
	inBubble(t, Server{Sharing: PerUser, MaxSessions: 2, IdleStop: time.Hour},
		func(t *testing.T, m *Manager, p *plant) {
			use := func(user string, f func()) error {
				return m.Use(WithUser(t.Context(), "", user+"'s token"), "s", user,
					func(*client.Client) error { f(); return nil })
			}
			nothing := func() {}
			assert.NilError(t, use("a", nothing))
			p.breaks(errors.New("boom"))
			p.kill()
			time.Sleep(2 * time.Second)
			assert.Equal(t, p.started(), 1)
			assert.Equal(t, m.Status()[0].Session, "", "nothing is left of him")
			assert.ErrorContains(t, use("a", nothing), "boom")
			time.Sleep(10 * time.Minute)
			assert.Equal(t, p.started(), 2)
			p.breaks(nil)
			assert.NilError(t, use("a", func() {
				time.Sleep(time.Second)
				assert.NilError(t, use("b", nothing))
				time.Sleep(time.Second)
				assert.NilError(t, use("c", nothing), "b is unused, a is not")
				assert.NilError(t, use("c", func() {
					assert.Assert(t, errors.Is(use("d", nothing), ErrTooManySessions))
				}))
			}))
			var left []string
			for _, s := range m.Status() {
				left = append(left, s.Session)
			}
			assert.DeepEqual(t, left, []string{"a", "c"})
			m.EndSession("a")
			assert.Equal(t, len(m.Status()), 1)
		})
	assert.Assert(t, UserFrom(t.Context()) == nil)
}

// The restart of a server with clients of users closes them, and leaves no client of nobody.
func TestRestartPerUser(t *testing.T) {
	inBubble(t, Server{Sharing: PerUser}, func(t *testing.T, m *Manager, p *plant) {
		users := func() (all []string) {
			for _, s := range m.Status() {
				all = append(all, fmt.Sprintf("%q %v", s.Session, s.State))
			}
			return all
		}
		nothing := func(*client.Client) error { return nil }
		assert.NilError(t, m.Use(t.Context(), "s", "alice", nothing))
		assert.NilError(t, m.Restart("s"))
		assert.DeepEqual(t, users(), []string{`"" stopped`})
		assert.Equal(t, len(m.supervisors), 0)
		assert.NilError(t, m.Use(t.Context(), "s", "alice", nothing))
		assert.DeepEqual(t, users(), []string{`"alice" ready`})
		assert.Equal(t, p.started(), 2)
	})
}

// A principal who appears as many users takes no place of others that hold as few as he does, and a
// client that makes room has its place until it has ended.
func TestShareOfUsers(t *testing.T) {
	inBubble(t, Server{Sharing: PerUser, MaxSessions: 4, IdleStop: time.Hour},
		func(t *testing.T, m *Manager, p *plant) {
			use := func(owner, user string, f func()) error {
				time.Sleep(time.Second)
				return m.Use(WithUser(t.Context(), owner, nil), "s", user,
					func(*client.Client) error { f(); return nil })
			}
			nothing := func() {}
			users := func() (all []string) {
				for _, s := range m.Status() {
					all = append(all, s.Session)
				}
				return all
			}
			assert.NilError(t, use("bob", "bob", nothing))
			for i := range 6 {
				assert.NilError(t, use("mallory", fmt.Sprint("m", i), nothing))
			}
			assert.DeepEqual(t, users(), []string{"bob", "m4", "m5"}) // half of what bob leaves
			assert.NilError(t, use("mallory", "m5", func() {
				assert.NilError(t, use("mallory", "m6", func() {
					assert.Assert(t, errors.Is(use("mallory", "m7", nothing), ErrTooManySessions))
				}))
				time.Sleep(time.Second) // so that m5 is used last
			}))
			assert.NilError(t, use("eve", "eve", nothing))
			assert.NilError(t, use("ada", "ada", nothing), "of him who holds most")
			assert.DeepEqual(t, users(), []string{"ada", "bob", "eve", "m5"})
			assert.NilError(t, use("zoe", "zoe", nothing), "of him who has waited longest")
			assert.DeepEqual(t, users(), []string{"ada", "eve", "m5", "zoe"})
		})
}

// A client that takes the place of another one starts when that has ended.
func TestPlaceUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running inflight.Count
		m := NewManager(nil)
		defer m.Close()
		ending := make(chan struct{})
		assert.NilError(t, m.Add(Server{ID: "s", Sharing: PerUser, MaxSessions: 1,
			Connect: func(ctx context.Context, user string, _ client.Options) (*client.Client,
				error) {
				defer running.Begin()()
				if user != "a" {
					return nil, errors.New("boom")
				}
				<-ctx.Done()
				<-ending // it takes its time
				return nil, ctx.Err()
			}}))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = m.Use(ctx, "s", "a", nil) }()
		synctest.Wait()
		m.mu.Lock()
		failed := m.supervisors[clientKey{"s", "a"}]
		m.mu.Unlock()
		failed.setState(Failed, nil) // so that it may give way
		done := make(chan error)
		go func() { done <- m.Use(t.Context(), "s", "b", nil) }()
		synctest.Wait()
		assert.Equal(t, running.Most(), 1)
		cancel()
		close(ending)
		assert.ErrorContains(t, <-done, "boom")
		assert.Equal(t, running.Most(), 1)
	})
}

// A use during a restart, a replacement or Close gets the next client or an error, and does not
// block forever.
func TestConcurrentChanges(t *testing.T) {
	inBubble(t, Server{}, func(t *testing.T, m *Manager, p *plant) {
		p.slow = time.Second
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				assert.Check(t, use(t, m))
			})
		}
		time.Sleep(450 * time.Millisecond)
		assert.NilError(t, m.Restart("s"))
		time.Sleep(450 * time.Millisecond)
		assert.NilError(t, m.Add(Server{ID: "s", Connect: p.connect}))
		wg.Wait()

		wg.Go(func() {
			err := m.Use(t.Context(), "s", "", func(c *client.Client) error {
				_, err := c.CallTool(t.Context(), "hold", nil)
				return err
			})
			assert.Check(t, cmp.ErrorContains(err, "hold"))
		})
		<-p.begun
		assert.Assert(t, m.Remove("s"))
		assert.Assert(t, !m.Remove("s"))
		wg.Wait()
		m.Close()
		assert.Equal(t, use(t, m), ErrClosed)
		assert.Equal(t, m.Add(Server{ID: "x", Connect: p.connect}), ErrClosed)
	})
}

func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var states []string
		p := &plant{begun: make(chan struct{}, 1)}
		m := NewManager(func(s Status) {
			mu.Lock()
			defer mu.Unlock()
			states = append(states, fmt.Sprint(s.ID, " ", s.State))
		})
		assert.NilError(t, m.Add(Server{ID: "s", Connect: p.connect}))
		assert.NilError(t, use(t, m))
		p.kill()
		time.Sleep(5 * time.Second)
		assert.NilError(t, m.Disable("s"))
		assert.NilError(t, m.Enable("s"))
		m.Close()
		p.serving.Wait()
		assert.DeepEqual(t, states,
			[]string{"s starting", "s ready", "s stopped", "s waiting", "s starting", "s ready",
				"s stopped", "s disabled", "s stopped"})
	})
}
