package streamable_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Close ends everything in flight at once.
func TestCloseWithRequestsInFlight(t *testing.T) {
	for _, era := range []func(func(http.ResponseWriter, *recordedRequest)) func(
		http.ResponseWriter, *recordedRequest){modern, withoutHandshake} {
		inBubble(t, era(func(w http.ResponseWriter, r *recordedRequest) {
			switch r.message.ID[len(r.message.ID)-1] % 4 {
			case 0:
				blockRequest(w, r)
			case 1:
				events(w, r).hold()
			case 2:
				events(w, r).raw("retry: 50000\nid: 1\ndata:\n\n")
			default:
				w.Header().Set("Content-Length", "99")
				w.WriteHeader(200)
				w.(http.Flusher).Flush()
				blockRequest(w, r)
			}
		}), func(t *testing.T, s *testServer) {
			s.o.MaxCalls = 8
			c := s.connect(t, client.Options{})
			var calls sync.WaitGroup
			for range 20 {
				calls.Go(func() {
					_, err := call(t, c)
					assert.Check(t, err != nil)
				})
			}
			time.Sleep(time.Second)
			began := time.Now()
			assert.NilError(t, c.Close())
			calls.Wait()
			assert.NilError(t, c.Wait())
			assert.Equal(t, time.Since(began), time.Duration(0))
			_, err := call(t, c)
			assert.Assert(t, errors.Is(err, rpc.ErrClosed))
		})
	}
}

// Close works at any moment in the life of a legacy connection: during the handshake, a call, a
// request of the server, the GET stream, and the replacement of a session. It stays within its time
// limit and leaves nothing behind.
func TestCloseAtAnyTime(t *testing.T) {
	for at := time.Duration(0); at < 4*time.Second; at += 97 * time.Millisecond {
		for _, hung := range []bool{false, true} {
			f := &sessionServer{result: initialized,
				call: func(w http.ResponseWriter, r *recordedRequest) {
					stream := events(w, r)
					stream.raw("id: 1\ndata: %s\n\n", question)
					if wait(r, 150*time.Millisecond) {
						stream.result(text)
					}
				}}
			f.get = func(w http.ResponseWriter, r *recordedRequest) {
				stream := events(w, r)
				if wait(r, 500*time.Millisecond) {
					stream.raw("%s", changed)
				}
			}
			var closing bool
			var mu sync.Mutex
			inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
				mu.Lock()
				stuck := closing && hung
				mu.Unlock()
				switch {
				case stuck:
					blockRequest(w, r)
				case wait(r, 30*time.Millisecond):
					f.answer(w, r)
				}
			}, func(t *testing.T, s *testServer) {
				s.o.MaxCalls = 3
				began := time.Now()
				ended := make(chan struct{})
				var all sync.WaitGroup
				all.Go(func() {
					for {
						select {
						case <-time.After(700 * time.Millisecond):
							f.forgotten.Store(true)
						case <-ended:
							return
						}
					}
				})
				c, err := s.tryConnect(t,
					client.Options{Era: mcp.Legacy, StartTimeout: at + 1, OnElicit: accept,
						OnToolsChanged: func([]*mcp.Tool, error) {}})
				if err == nil {
					for range 5 {
						all.Go(func() {
							for err := error(nil); !errors.Is(err, rpc.ErrClosed); _,
								err = call(t, c) {
							}
						})
					}
					time.Sleep(at - time.Since(began))
					mu.Lock()
					closing = true
					mu.Unlock()
					began = time.Now()
					assert.NilError(t, c.Close())
					assert.NilError(t, c.Wait())
					most := 2 * time.Second
					assert.Assert(t, time.Since(began) <= most+250*time.Millisecond,
						"closed at %v: took %v", at, time.Since(began))
				}
				close(ended)
				all.Wait()
			})
		}
	}
}

// A transport that was never used can be closed, more than once.
func TestCloseBeforeOpen(t *testing.T) {
	c := streamable.Dial("http://pipe/mcp")
	for range 2 {
		assert.NilError(t, c.Close())
	}
	_, err := client.Options{Revision: "none"}.Connect(t.Context(),
		streamable.Dial("http://pipe/mcp"))
	assert.ErrorContains(t, err, `Options.Revision "none" is not known`)
}

// Defect G12 of other implementations: state of streams and subscriptions was kept as long as the
// connection.
func TestCallsLeaveNothingBehind(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		events(w, r).result(text)
	}), func(t *testing.T, s *testServer) {
		s.o.MaxCalls = 3
		c := s.connect(t, client.Options{})
		for range 300 {
			check(t, c)
			synctest.Wait()
		}
		assert.Equal(t, len(s.pipes.dialed), 1) // one connection is reused
	})
}
