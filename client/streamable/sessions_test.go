package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A sessionServer is a legacy server that knows only its latest session, s1, s2 and so on, and can
// be told to lose it.
type sessionServer struct {
	sessions  atomic.Int64
	forgotten atomic.Bool
	call, get func(http.ResponseWriter, *recordedRequest)
	result    string // of initialize
}

func (f *sessionServer) answer(w http.ResponseWriter, r *recordedRequest) {
	id := r.Header.Get("Mcp-Session-Id")
	switch {
	case r.message.Method == "server/discover":
		refuse(w, http.StatusBadRequest, "null", -32000, "Bad Request: no session")
	case r.message.Method == "initialize" && id == "":
		f.forgotten.Store(false)
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", f.sessions.Add(1)))
		answerJSON(w, r, f.result)
	case f.forgotten.Load() || id != fmt.Sprint("s", f.sessions.Load()):
		respondWith(http.StatusNotFound, "text/plain", "Session not found")(w, r)
	case r.Method == http.MethodDelete:
	case r.Method == http.MethodGet && f.get == nil:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Method == http.MethodGet:
		f.get(w, r)
	case r.message.ID == nil || r.message.Method == "":
		w.WriteHeader(http.StatusAccepted)
	case r.message.Method == mcp.MethodPing:
		answerJSON(w, r, `{}`)
	default:
		f.call(w, r)
	}
}

func TestSessionIsReplaced(t *testing.T) {
	f := &sessionServer{result: initialized, call: answerCall}
	inBubble(t, f.answer, func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		check(t, c)
		f.forgotten.Store(true)
		check(t, c)
		assert.NilError(t, c.Close())
		assert.DeepEqual(t, s.lines(), []string{
			"POST initialize",
			"POST notifications/initialized session-id=s1 protocol-version=2025-11-25",
			"GET session-id=s1 protocol-version=2025-11-25",
			"POST tools/call session-id=s1 protocol-version=2025-11-25",
			"POST tools/call session-id=s1 protocol-version=2025-11-25",
			"POST initialize",
			"POST notifications/initialized session-id=s2 protocol-version=2025-11-25",
			"GET session-id=s2 protocol-version=2025-11-25",
			"POST tools/call session-id=s2 protocol-version=2025-11-25",
			"DELETE session-id=s2 protocol-version=2025-11-25",
		})
	})
}

// When several calls notice the loss, one starts a new session, and none is sent before the server
// has received notifications/initialized.
func TestSessionIsReplacedOnce(t *testing.T) {
	f := &sessionServer{result: initialized, call: answerCall}
	slow := func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method != "notifications/initialized" || wait(r, time.Second) {
			f.answer(w, r)
		}
	}
	inBubble(t, slow, func(t *testing.T, s *testServer) {
		s.o.MaxCalls = 7
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		check(t, c)
		f.forgotten.Store(true)
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() { check(t, c) })
		}
		calls.Wait()
		lines := s.lines()
		assert.Equal(t, s.count("POST initialize"), 2)
		assert.Equal(t, s.count("POST tools/call session-id=s2"), 50)
		told := slices.Index(lines,
			"POST notifications/initialized session-id=s2 protocol-version=2025-11-25")
		assert.Assert(t,
			told < slices.Index(lines, "POST tools/call session-id=s2 protocol-version=2025-11-25"))
		assert.Assert(t, !slices.Contains(lines, "POST tools/call protocol-version=2025-11-25"),
			"%v", lines)
	})
}

// Subscriptions and the log level of the old session are restored in the new one.
func TestSessionIsRestored(t *testing.T) {
	f := &sessionServer{
		result: `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}},"serverInfo":{"name":"site","version":"1"}}`,
		call: func(w http.ResponseWriter, r *recordedRequest) {
			switch r.message.Method {
			case "tools/list":
				answerJSON(w, r, `{"tools":[{"name":"weather","inputSchema":{"type":"object"}}]}`)
			case "tools/call":
				answerJSON(w, r, text)
			default:
				answerJSON(w, r, "{}")
			}
		},
	}
	inBubble(t, f.answer, func(t *testing.T, s *testServer) {
		var lists atomic.Int64
		updates := make(chan string, 10)
		c := s.connect(t, client.Options{
			Era: mcp.Legacy, LogLevel: "info", OnLog: func(mcp.LoggingMessageParams) {},
			OnToolsChanged:    func([]*mcp.Tool, error) { lists.Add(1) },
			OnResourceUpdated: func(uri string) { updates <- uri },
		})
		assert.NilError(t, c.Subscribe(t.Context(), "a:1", "a:2"))
		synctest.Wait()
		assert.NilError(t, c.SetLogLevel(t.Context(), "error"))
		f.forgotten.Store(true)
		check(t, c)
		synctest.Wait()
		var again []string
		for _, line := range s.lines() {
			if strings.Contains(line, "session-id=s2") && !strings.Contains(line, "GET") {
				again = append(again, strings.Fields(line)[1])
			}
		}
		slices.Sort(again)
		assert.DeepEqual(t, again,
			[]string{"logging/setLevel", "notifications/initialized", "resources/subscribe",
				"resources/subscribe", "tools/call"})
		assert.Equal(t, string(s.last(t, "logging/setLevel").message.Params), `{"level":"error"}`)
		told := []string{<-updates, <-updates}
		slices.Sort(told)
		assert.DeepEqual(t, told, []string{"a:1", "a:2"}) // assumed changed in the meantime
		time.Sleep(time.Second)
		assert.Equal(t, lists.Load(), int64(1))
	})
}

// A session that is lost again at once is an error, not a loop.
func TestSessionIsLostAgain(t *testing.T) {
	f := &sessionServer{result: initialized}
	f.call = respondWith(http.StatusNotFound, "", "")
	inBubble(t, f.answer, func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		for range 3 {
			_, err := call(t, c)
			assert.Error(t, err,
				`server "server": tool "weather": the server has forgotten the session, and the next one too`)
			assert.Assert(t, errors.Is(err, client.ErrSessionLost))
		}
		// and two calls are not sent, because there is no session
		assert.Equal(t, s.count("POST tools/call"), 4)
		assert.Equal(t, s.count("POST initialize"), 4)
	})
}

// So is a session that is lost before it has begun: no call is sent in it.
func TestSessionIsLostAtOnce(t *testing.T) {
	f := &sessionServer{result: initialized, call: answerCall}
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "notifications/initialized" {
			f.forgotten.Store(true)
		}
		f.answer(w, r)
	}, func(t *testing.T, s *testServer) {
		_, err := call(t, s.connect(t, client.Options{Era: mcp.Legacy}))
		assert.Assert(t, errors.Is(err, client.ErrSessionLost), "%v", err)
		assert.Equal(t, s.count("POST initialize"), 2)
		assert.Equal(t, s.count("POST tools/call"), 0)
	})
}

// If a server refuses a new session, the error says why, and the next call tries again.
func TestSessionIsRefused(t *testing.T) {
	f := &sessionServer{result: initialized, call: answerCall}
	var busy atomic.Bool
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		switch {
		case r.message.Method == "initialize" && busy.Load():
			respondWith(http.StatusServiceUnavailable, "text/plain", "later")(w, r)
		default:
			f.answer(w, r)
		}
	}, func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		f.forgotten.Store(true)
		busy.Store(true)
		_, err := call(t, c)
		assert.Error(t, err,
			`server "server": tool "weather": the server has forgotten the session, and does not begin another: POST http://pipe/mcp: 503 Service Unavailable: "later"`)
		busy.Store(false)
		check(t, c)
	})
}

// A call that times out while the server does not answer initialize frees its slot.
func TestSessionIsNotReplaced(t *testing.T) {
	f := &sessionServer{result: initialized, call: answerCall}
	var stuck atomic.Bool
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "initialize" && stuck.Load() {
			blockRequest(w, r)
			return
		}
		f.answer(w, r)
	}, func(t *testing.T, s *testServer) {
		s.o.MaxCalls = 2
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		f.forgotten.Store(true)
		stuck.Store(true)
		for range 5 {
			began := time.Now()
			_, err := call(t, c, client.Timeout(time.Second))
			var timeout *client.TimeoutError
			assert.Assert(t, errors.As(err, &timeout), "%v", err)
			assert.Equal(t, time.Since(began), time.Second)
			synctest.Wait()
			assert.Assert(t, s.pipes.open.Load() <= 1, "initialize is still open")
		}
		stuck.Store(false)
		check(t, c)
	})
}

// A call with a partial response is not sent again: the server may have performed it.
func TestSessionIsLostDuringResponse(t *testing.T) {
	f := &sessionServer{result: initialized}
	f.call = once(func(w http.ResponseWriter, r *recordedRequest) {
		events(w, r).raw("id: 1\ndata:\n\n")
		f.forgotten.Store(true)
	})
	f.get = func(w http.ResponseWriter, r *recordedRequest) { events(w, r).hold() }
	inBubble(t, f.answer, func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		_, err := call(t, c)
		assert.Assert(t, errors.Is(err, streamable.ErrDisconnected) &&
			!errors.Is(err, client.ErrSessionLost), "%v", err)
		assert.ErrorContains(t, err, "and the server no longer knows the session")
		assert.Equal(t, s.count("POST tools/call"), 1)
		check(t, c)
		assert.Equal(t, s.count("POST initialize"), 2)
	})
}

// The response to a request of a lost session is not sent in the next one, where it could be taken
// for the response to another.
func TestLostSessionCancelsServerRequests(t *testing.T) {
	f := &sessionServer{result: initialized, call: answerCall}
	f.get = func(w http.ResponseWriter, r *recordedRequest) {
		stream := events(w, r)
		if f.sessions.Load() == 1 {
			stream.raw("data: %s\n\n", question)
		}
		stream.hold()
	}
	inBubble(t, f.answer, func(t *testing.T, s *testServer) {
		asked := make(chan error)
		c := s.connect(t,
			client.Options{Era: mcp.Legacy,
				OnElicit: func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
					asked <- nil
					<-ctx.Done()
					asked <- context.Cause(ctx)
					return accept(ctx, p)
				}})
		<-asked
		f.forgotten.Store(true)
		check(t, c)
		assert.ErrorContains(t, <-asked, "the session has ended")
		assert.Equal(t, s.count("POST response"), 0)
	})
}

// Messages that belong to a lost session are not sent.
func TestLostSessionDropsCancellations(t *testing.T) {
	f := &sessionServer{result: initialized, call: once(blockRequest)}
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		if f.forgotten.Load() && r.message.Method == "initialize" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		f.answer(w, r)
	}, func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		time.AfterFunc(time.Second, func() {
			f.forgotten.Store(true)
			_, err := call(t, c)
			assert.Check(t, errors.Is(err, client.ErrSessionLost))
		})
		_, err := call(t, c, client.Timeout(2*time.Second))
		assert.Assert(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
		assert.Equal(t, s.count("POST notifications/cancelled"), 0)
		assert.Assert(t, s.pipes.open.Load() <= 1, "the call is still open")
	})
}

// Once there has been a session, the client does not try HTTP+SSE.
func TestSessionPerTransport(t *testing.T) {
	f := &sessionServer{result: initialized, call: answerCall}
	f.get = func(w http.ResponseWriter, r *recordedRequest) {
		events(w, r).raw("event: endpoint\ndata: /messages\n\n")
	}
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		if f.forgotten.Load() && r.message.Method == "initialize" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		f.answer(w, r)
	}, func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		f.forgotten.Store(true)
		_, err := call(t, c)
		assert.ErrorContains(t, err, "does not begin another: POST http://pipe/mcp: 404 Not Found")
		assert.Equal(t, s.count("GET"), 1)
	})
}

// Close deletes the session, and does not wait long for a server that does not respond.
func TestSessionIsDeleted(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
			if stuck && (r.Method == http.MethodDelete ||
				r.message.Method == "notifications/cancelled") {
				blockRequest(w, r)
				return
			}
			legacy(blockRequest, nil)(w, r)
		}, func(t *testing.T, s *testServer) {
			c := s.connect(t, client.Options{Era: mcp.Legacy})
			_, err := call(t, c, client.Timeout(time.Second))
			assert.Assert(t, err != nil)
			began := time.Now()
			assert.NilError(t, c.Close())
			assert.NilError(t, c.Wait())
			if stuck {
				assert.Equal(t, time.Since(began), 2*time.Second)
			} else {
				assert.Equal(t, time.Since(began), time.Duration(0))
				assert.Equal(t, s.count("DELETE session-id=s1"), 1)
			}
		})
	}
}

// For a server without sessions, no id and no DELETE are sent.
func TestNoSession(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "initialize" {
			answerJSON(w, r, initialized)
			return
		}
		legacy(respondWith(http.StatusNotFound, "text/plain", "no such page"), nil)(w, r)
	}, func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		_, err := call(t, c)
		assert.ErrorContains(t, err, `POST http://pipe/mcp: 404 Not Found: "no such page"`)
		assert.NilError(t, c.Close())
		assert.DeepEqual(t, s.lines(), []string{
			"POST initialize",
			"POST notifications/initialized protocol-version=2025-11-25",
			"GET protocol-version=2025-11-25",
			"POST tools/call protocol-version=2025-11-25",
		})
	})
}
