package streamable_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Cancelling a call closes its stream at a modern server; a legacy server is sent
// notifications/cancelled, and its stream is closed as well. Nothing of the call remains in either.
func TestCancellation(t *testing.T) {
	for _, stream := range []bool{false, true} {
		var open atomic.Int64
		held := func(w http.ResponseWriter, r *recordedRequest) {
			open.Add(1)
			defer open.Add(-1)
			if stream {
				events(w, r).hold()
			} else {
				blockRequest(w, r)
			}
		}
		for _, tt := range []struct {
			server func(http.ResponseWriter, *recordedRequest)
			want   []string
		}{
			{modern(held), nil},
			{legacy(held, nil),
				[]string{"POST notifications/cancelled session-id=s1 protocol-version=2025-11-25"}},
		} {
			inBubble(t, tt.server, func(t *testing.T, s *testServer) {
				s.o.MaxCalls = 1
				c := s.connect(t, client.Options{})
				for range 3 {
					before := len(s.lines())
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(time.Second, cancel)
					_, err := c.CallTool(ctx, "weather", nil)
					assert.Assert(t, errors.Is(err, context.Canceled), "%v", err)
					synctest.Wait()
					if stream && tt.want != nil {
						assert.Equal(t, open.Load(), int64(1),
							"the server may have something to take back")
						time.Sleep(time.Second)
						synctest.Wait()
					}
					assert.Equal(t, open.Load(), int64(0))
					assert.DeepEqual(t, s.lines()[before+1:], append([]string{}, tt.want...))
				}
				_, err := call(t, c, client.Timeout(7*time.Second))
				var timeout *client.TimeoutError
				assert.Assert(t, errors.As(err, &timeout) &&
					timeout.After == 7*time.Second, "%v", err)
			})
		}
	}
}

// A request that was never sent is not cancelled at the server.
func TestCancellationOfUnsentRequest(t *testing.T) {
	inBubble(t, legacy(blockRequest, nil), func(t *testing.T, s *testServer) {
		s.o.MaxCalls = 1
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		var calls sync.WaitGroup
		for n := range 5 {
			calls.Go(func() {
				// the first call occupies the only slot until the others are cancelled
				_, err := call(t, c, client.Timeout(time.Minute-time.Duration(n)*time.Second))
				assert.Check(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
			})
			synctest.Wait()
		}
		calls.Wait()
		assert.Equal(t, s.count("POST tools/call"), 1)
		assert.Equal(t, s.count("POST notifications/cancelled"), 1)
		assert.Equal(t, s.last(t, "notifications/cancelled").message.Params != nil, true)
		assert.Assert(t,
			strings.Contains(s.last(t, "notifications/cancelled").body, `"requestId":`+
				string(s.last(t, "tools/call").message.ID)))
	})
}

// A server that refuses cancellations delays nothing but the slot of the call.
func TestCancellationIsRefused(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "notifications/cancelled" {
			blockRequest(w, r)
			return
		}
		legacy(blockRequest, nil)(w, r)
	}, func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		began := time.Now()
		for range 10 {
			_, err := call(t, c, client.Timeout(time.Second))
			assert.Assert(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
		}
		assert.Equal(t, time.Since(began), 10*time.Second)
		synctest.Wait()
		assert.Equal(t, s.pipes.open.Load(), int32(20))
		time.Sleep(31 * time.Second)
		synctest.Wait()
		assert.Assert(t, s.pipes.open.Load() <= 1)
		assert.Equal(t, strings.Count(s.logged(), "the server did not accept a message"), 10)
	})
}

// A response that arrives after the cancellation is dropped, whichever way it comes.
func TestLateResponses(t *testing.T) {
	late := make(chan string)
	inBubble(t, legacy(once(func(w http.ResponseWriter, r *recordedRequest) {
		blockRequest(w, r)
		late <- string(r.message.ID)
	}), func(w http.ResponseWriter, r *recordedRequest) {
		stream := events(w, r)
		stream.raw("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", <-late, text)
		stream.hold()
	}), func(t *testing.T, s *testServer) {
		late = make(chan string)
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		_, err := call(t, c, client.Timeout(time.Second))
		assert.Assert(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
		synctest.Wait()
		assert.Equal(t, c.Stats().Late, 1)
		check(t, c)
	})
}

// With many calls, MaxCalls of them are in flight at a time, and all complete.
func TestMaxCalls(t *testing.T) {
	for _, era := range []func(func(http.ResponseWriter, *recordedRequest)) func(
		http.ResponseWriter, *recordedRequest){modern, withoutHandshake} {
		var now, most atomic.Int64
		inBubble(t, era(func(w http.ResponseWriter, r *recordedRequest) {
			n := now.Add(1)
			defer now.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			if wait(r, time.Second) {
				answerCall(w, r)
			}
		}), func(t *testing.T, s *testServer) {
			s.o.MaxCalls = 8
			c := s.connect(t, client.Options{})
			began := time.Now()
			var calls sync.WaitGroup
			for range 80 {
				calls.Go(func() { check(t, c) })
			}
			calls.Wait()
			assert.Equal(t, time.Since(began), 10*time.Second)
			assert.Equal(t, most.Load(), int64(8))
		})
	}
}

// While all slots are taken by calls, each call makes the server send a request. This must not
// deadlock.
func TestServerRequestsAtMaxCalls(t *testing.T) {
	var mu sync.Mutex
	answers := make(map[string]chan struct{})
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "" && r.Method == http.MethodPost {
			mu.Lock()
			close(answers[string(r.message.ID)])
			mu.Unlock()
		}
		withoutHandshake(func(w http.ResponseWriter, r *recordedRequest) {
			answered := make(chan struct{})
			id := `"q` + string(r.message.ID) + `"`
			mu.Lock()
			answers[id] = answered
			mu.Unlock()
			stream := events(w, r)
			stream.raw("data: %s\n\n", strings.Replace(question, `"q7"`, id, 1))
			select {
			case <-answered:
			case <-r.Context().Done():
			}
			stream.result(text)
		})(w, r)
	}, func(t *testing.T, s *testServer) {
		s.o.MaxCalls = 4
		c := s.connect(t,
			client.Options{Era: mcp.Legacy,
				OnElicit: func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
					time.Sleep(time.Second)
					return accept(ctx, p)
				}})
		var calls sync.WaitGroup
		for range 40 {
			calls.Go(func() { check(t, c) })
		}
		calls.Wait()
	})
}

// Defect M11 of other implementations: cancellations were not sent to the server.
func TestCancellationIsSent(t *testing.T) {
	inBubble(t, legacy(blockRequest, nil), func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.CallTool(ctx, "weather", nil)
		assert.Assert(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
		assert.Equal(t, s.count("POST notifications/cancelled"), 1)
	})
}
