package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A cutStore is the connection of one replica to a store, which can be cut.
type cutStore struct {
	store.Store
	cut     atomic.Bool
	slow    atomic.Bool  // it takes 3 seconds to put something
	lookups atomic.Int32 // of sessions
}

var errCut = errors.New("cut")

func (s *cutStore) Get(ctx context.Context, key string) ([]byte, error) {
	if s.cut.Load() {
		return nil, errCut
	}
	return s.Store.Get(ctx, key)
}

func (s *cutStore) Holder(ctx context.Context, key string) (store.Lease, error) {
	if strings.HasPrefix(key, "session/") {
		s.lookups.Add(1)
	}
	return s.Store.Holder(ctx, key)
}

func (s *cutStore) Put(ctx context.Context, key string, value []byte, when store.Condition,
	ttl time.Duration) (bool, error) {
	if s.cut.Load() {
		return false, errCut
	}
	if s.slow.Load() {
		time.Sleep(3 * time.Second)
	}
	return s.Store.Put(ctx, key, value, when, ttl)
}

func (s *cutStore) Renew(ctx context.Context, key string, fence int64, ttl time.Duration) (bool,
	error) {
	if s.cut.Load() {
		return false, errCut
	}
	return s.Store.Renew(ctx, key, fence, ttl)
}

// A lostReplica is a replica in a bubble, with what can go wrong between it and the others.
type lostReplica struct {
	*bubble
	store *cutStore
	kept  *streamable.Store
	runs  atomic.Int32 // calls of count
	end   func()

	mu    sync.Mutex
	dial  func(net.Conn) (net.Conn, error) // how others connect to it; nil: well
	conns []net.Conn                       // of others
}

// inBubbleOfReplicas runs a test with replicas that own sessions, whose hosts are their numbers.
func inBubbleOfReplicas(t *testing.T, n int, test func(t *testing.T, all []*lostReplica)) {
	synctest.Test(t, func(t *testing.T) {
		memory := new(store.Memory)
		all := make([]*lostReplica, n)
		dial := func(_ context.Context, _, address string) (net.Conn, error) {
			return all[address[0]-'0'].connectFrom()
		}
		for i := range all {
			r := &lostReplica{store: &cutStore{Store: memory}}
			r.kept = streamable.StoreOf(r.store)
			f := &streamable.Forward{URL: fmt.Sprint("http://", i)}
			streamable.DialBy(f, dial)
			r.bubble, r.end = openBubble(t, new(http.Server), streamable.Options{Store: r.kept,
				Forward: f, Heartbeat: time.Hour})
			r.offer("count", func(context.Context) (*mcp.CallToolResult, error) {
				r.runs.Add(1)
				return &mcp.CallToolResult{Content: []mcp.Content{
					&mcp.TextContent{Text: fmt.Sprint("at ", i)}}}, nil
			})
			all[i] = r
		}
		test(t, all)
		for _, r := range all {
			r.end()
			r.kept.Close()
		}
	})
}

// connectFrom returns a connection of another replica.
func (r *lostReplica) connectFrom() (net.Conn, error) {
	r.mu.Lock()
	dial := r.dial
	r.mu.Unlock()
	near, far := net.Pipe()
	c, err := net.Conn(near), error(nil)
	if dial != nil {
		c, err = dial(near)
	}
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.conns = append(r.conns, near)
	r.mu.Unlock()
	r.pipes.conns <- far
	return c, nil
}

func (r *lostReplica) setDial(dial func(net.Conn) (net.Conn, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dial = dial
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

// cutOff lets neither the others nor the store reach a replica.
func (r *lostReplica) cutOff() {
	r.store.cut.Store(true)
	r.setDial(func(net.Conn) (net.Conn, error) { return nil, errCut })
}

// call calls a tool in a session, on a connection of its own.
func (r *lostReplica) call(id, tool string, session header) (status int, text string) {
	r.t.Helper()
	w := r.bubble.dial()
	defer w.Close()
	a := w.ask("POST", `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"`+tool+
		`","arguments":{"text":"x"}}}`, session+"\n"+onlyJSON)
	return a.StatusCode, a.text()
}

func (r *lostReplica) counts(id, where string, session header) {
	r.t.Helper()
	status, text := r.call(id, "count", session)
	assert.Equal(r.t, status, 200, text)
	assert.Assert(r.t, strings.Contains(text, where), text)
}

// What a replica owns that nobody reaches, not even the store, ends there before another one has
// the session; a call that may have run there does not run again.
func TestOwnerIsGone(t *testing.T) {
	inBubbleOfReplicas(t, 3, func(t *testing.T, all []*lostReplica) {
		time.Sleep(2 * time.Minute) // the store is not new any more
		session := all[0].connect("2025-06-18")
		all[1].counts("1", "at 0", session)
		broken := make(chan string, 1)
		go func() {
			status, text := all[1].call("2", "hold", session)
			broken <- fmt.Sprint(status, " ", text)
		}()
		<-all[0].begun
		time.Sleep(10 * time.Second) // the lease is renewed
		all[0].cutOff()
		begun := time.Now()
		assert.Assert(t, strings.HasPrefix(<-broken, "409 "))
		ending := make(chan time.Duration, 1)
		go func() {
			<-all[0].ended
			ending <- time.Since(begun)
		}()
		all[2].counts("3", "at 2", session)
		waited, ended := time.Since(begun), <-ending
		assert.Assert(t, ended > 5*time.Second && ended <= 11*time.Second, ended)
		assert.Assert(t, waited > ended+3*time.Second && waited <= 20*time.Second, waited)
		for i, r := range all[1:] {
			status, text := r.call("2", "hold", session)
			assert.Equal(t, status, 409, text)
			r.counts(fmt.Sprint(20+i), "at 2", session)
		}
		assert.Equal(t, all[0].ping(session), 503)
		all[0].store.cut.Store(false)
		all[0].setDial(nil)
		time.Sleep(5 * time.Second)
		all[0].counts("9", "at 2", session)
		// It owns what it opens again.
		all[1].counts("1", "at 0", all[0].connect("2025-11-25"))
	})
}

// A replica that has lost only its lease says of the streams that it had what it had not answered:
// who resumes one elsewhere does not wait for ever.
func TestStreamOfAnOwnerThatLivesOn(t *testing.T) {
	inBubbleOfReplicas(t, 2, func(t *testing.T, all []*lostReplica) {
		time.Sleep(2 * time.Minute)
		session := all[0].connect("2025-11-25")
		w := all[1].bubble.dial()
		begun := w.ask("POST", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hold",`+
			`"arguments":{"text":"x"}}}`, session+"\nAccept: "+bothKinds).event("")
		<-all[0].begun
		all[0].store.cut.Store(true)
		<-all[0].ended
		time.Sleep(5 * time.Second)
		all[0].store.cut.Store(false)
		w.Close()
		all[1].counts("8", "at 1", session)
		w = all[1].bubble.dial()
		defer w.Close()
		resumed := w.ask("GET", "", session+header("\nAccept: text/event-stream\nLast-Event-Id: "+
			begun.id)).isStream()
		time.AfterFunc(5*time.Minute, func() { w.Close() })
		resumed.event("the outcome is unknown")
	})
}

// A replica that learns that another one has its session, before it knows that it has lost its
// lease, ends what it had of it.
func TestOwnerLearnsOfAnother(t *testing.T) {
	inBubbleOfReplicas(t, 2, func(t *testing.T, all []*lostReplica) {
		time.Sleep(2 * time.Minute)
		session := all[0].connect("2025-06-18")
		broken := make(chan int, 1)
		go func() {
			status, _ := all[0].call("1", "hold", session)
			broken <- status
		}()
		<-all[0].begun
		assert.NilError(t, streamable.LoseLease(t.Context(), all[0].handler, all[0].store))
		all[1].counts("2", "at 1", session)
		select {
		case <-all[0].ended:
		case <-time.After(time.Minute):
			t.Fatal("two replicas have the session")
		}
		assert.Equal(t, <-broken, 503)
		all[0].counts("3", "at 1", session)
	})
}

// A badConn breaks at its first write, or at its first read.
type badConn struct {
	net.Conn
	write bool
}

func (c badConn) Write(b []byte) (int, error) {
	if c.write {
		_ = c.Close()
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c badConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.write {
		_ = c.Close()
		return 0, errCut
	}
	return n, err
}

// A connection that breaks before the owner has the request does no harm; after that, nobody knows
// whether a call has run, and it is not sent again. What only reads is.
func TestConnectionToTheOwnerBreaks(t *testing.T) {
	inBubbleOfReplicas(t, 2, func(t *testing.T, all []*lostReplica) {
		session := all[0].connect("2025-06-18")
		once := func(write bool) func(net.Conn) (net.Conn, error) {
			var dialled atomic.Bool
			return func(c net.Conn) (net.Conn, error) {
				if dialled.Swap(true) {
					return c, nil
				}
				return badConn{c, write}, nil
			}
		}
		all[0].setDial(once(true))
		all[1].counts("1", "at 0", session)
		assert.Equal(t, all[0].runs.Load(), int32(1))
		status, _ := all[1].call("1", "count", session) // it was claimed
		assert.Equal(t, status, 409)

		all[0].setDial(once(false))
		status, text := all[1].call("2", "count", session)
		assert.Equal(t, status, 409, text)
		assert.Assert(t, strings.Contains(text, "its outcome is unknown"), text)
		assert.Equal(t, all[0].runs.Load(), int32(2))

		// A server that ends closes the idle connections, one after another.
		var dialled atomic.Int32
		all[0].setDial(func(c net.Conn) (net.Conn, error) {
			if dialled.Add(1) > 3 {
				return c, nil
			}
			return badConn{c, true}, nil
		})
		all[1].counts("4", "at 0", session)
		assert.Equal(t, all[0].runs.Load(), int32(3))

		for _, write := range []bool{true, false} {
			all[0].setDial(once(write))
			assert.Equal(t, all[1].ping(session), 200)
		}
		// If it breaks again and again before the owner has the call, that is certain, too.
		all[0].setDial(func(c net.Conn) (net.Conn, error) { return badConn{c, true}, nil })
		status, text = all[1].call("5", "count", session)
		assert.Equal(t, status, 503, text)
		assert.Equal(t, all[0].runs.Load(), int32(3))
		// Of a batch, only calls may not run again.
		older := all[0].connect("2025-03-26")
		forwarded := all[1].handler.Stats().Forwarded
		for i, last := range []string{`{"jsonrpc":"2.0","id":2,"method":"ping"}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"count"}}`} {
			all[0].setDial(once(false))
			w := all[1].bubble.dial()
			a := w.ask("POST", `[{"jsonrpc":"2.0","id":1,"method":"ping"},`+last+`]`,
				older+"\n"+onlyJSON)
			assert.Equal(t, a.StatusCode, []int{200, 409}[i], a.text())
			w.Close()
		}
		// requests, not attempts
		assert.Equal(t, all[1].handler.Stats().Forwarded-forwarded, int64(2))
		runs := all[0].runs.Load()
		// The patience begins when the owner cannot be reached.
		var slow atomic.Bool
		all[0].setDial(func(c net.Conn) (net.Conn, error) {
			if slow.Swap(true) {
				return c, nil
			}
			time.Sleep(25 * time.Second)
			return nil, errCut
		})
		assert.Equal(t, all[1].ping(session), 200)
		// One that stands still for a while still has the session.
		all[0].setDial(func(c net.Conn) (net.Conn, error) {
			time.Sleep(5 * time.Second)
			return c, nil
		})
		all[1].counts("3", "at 0", session)
		assert.Equal(t, all[0].runs.Load(), runs+1)
	})
}

// A call that is sent again when its connection has broken runs, although its owner is still about
// to claim the first copy.
func TestCallOvertakesItself(t *testing.T) {
	inBubbleOfReplicas(t, 2, func(t *testing.T, all []*lostReplica) {
		session := all[0].connect("2025-06-18")
		all[0].store.slow.Store(true)
		called := make(chan string, 1)
		go func() {
			status, text := all[1].call("1", "count", session)
			called <- fmt.Sprint(status, " ", text)
		}()
		time.Sleep(time.Second)
		all[0].setDial(nil) // which breaks the connection
		got := <-called
		assert.Assert(t, strings.HasPrefix(got, "200 "), got)
		assert.Equal(t, all[0].runs.Load(), int32(1))
		all[0].store.slow.Store(false)
	})
}

// A request that may run twice, and whose connection has broken, waits until its first copy has
// ended at the owner, for which the store is not asked.
func TestRequestOvertakesItself(t *testing.T) {
	inBubbleOfReplicas(t, 2, func(t *testing.T, all []*lostReplica) {
		begun, release := make(chan struct{}, 2), make(chan struct{}, 2)
		assert.NilError(t, all[0].server.AddPrompt(server.Prompt{Prompt: mcp.Prompt{Name: "slow"},
			Get: func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
				begun <- struct{}{}
				<-release
				return &mcp.GetPromptResult{}, nil
			}}))
		session := all[0].connect("2025-06-18")
		got := make(chan string, 1)
		get := func(id string) {
			go func() {
				w := all[1].bubble.dial()
				defer w.Close()
				a := w.ask("POST", `{"jsonrpc":"2.0","id":`+id+`,"method":"prompts/get","params":{"name":"slow"}}`,
					session+"\n"+onlyJSON)
				got <- fmt.Sprint(a.StatusCode, " ", a.text())
			}()
			<-begun
			all[0].setDial(nil) // which breaks the connection
			time.Sleep(5 * time.Second)
			assert.Equal(t, len(got)+len(begun), 0, "it does not wait")
		}
		get("1")
		release <- struct{}{}
		<-begun
		release <- struct{}{}
		answer := <-got
		assert.Assert(t, strings.HasPrefix(answer, "200 "), answer)

		lookups := all[1].store.lookups.Load()
		get("2")
		answer = <-got
		assert.Assert(t, strings.HasPrefix(answer, "503 ") &&
			strings.Contains(answer, "the request still runs there"), answer)
		assert.Equal(t, all[1].store.lookups.Load()-lookups, int32(1)) // when it broke
		release <- struct{}{}
	})
}

// A replica that ends on purpose hands over what it owns, and the others need not wait.
func TestOwnerIsDrained(t *testing.T) {
	inBubbleOfReplicas(t, 2, func(t *testing.T, all []*lostReplica) {
		session := all[0].connect("2025-06-18")
		running := make(chan int, 1)
		go func() {
			status, _ := all[1].call("1", "hold", session)
			running <- status
		}()
		<-all[0].begun
		drained := make(chan error, 1)
		go func() { drained <- all[0].handler.Shutdown(t.Context()) }()
		synctest.Wait()
		next := make(chan struct{})
		go func() {
			defer close(next)
			all[1].counts("2", "at 1", session)
		}()
		time.Sleep(2 * time.Second)
		all[0].release <- struct{}{}
		assert.Equal(t, <-running, 200)
		assert.NilError(t, <-drained)
		begun := time.Now()
		all[0].kept.Close()
		<-next
		assert.Assert(t, time.Since(begun) < 3*time.Second)
	})
}

// A store that comes back empty changes no owner.
func TestOwnersOutliveTheirStore(t *testing.T) {
	of := redistest.Start(t)
	sites := own(t, 2, streamable.Options{}, func() *streamable.Store { return openStore(t, of) })
	c := sites[0].connect("2025-06-18", "")
	other := c.at(sites[1].site)
	ping(other).wants(200, pinged)
	of.Kill()
	eventually.True(t, "a session is refused", func() bool { return ping(other).StatusCode == 503 })
	of.Restart()
	for i := range 3 {
		got := other.postUntil(fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"where"}}`, 10+i)).text()
		assert.Assert(t, strings.Contains(got, "at 0"), got)
	}
}
