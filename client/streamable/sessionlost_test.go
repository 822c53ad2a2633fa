package streamable_test

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// withLostSession is the sessionServer f, except that told responds to unknown sessions.
func withLostSession(f *sessionServer,
	told func(http.ResponseWriter, *recordedRequest)) func(http.ResponseWriter, *recordedRequest) {
	return func(w http.ResponseWriter, r *recordedRequest) {
		if id := r.Header.Get("Mcp-Session-Id"); id != "" && f.forgotten.Load() {
			told(w, r)
			return
		}
		f.answer(w, r)
	}
}

func refusing400(code int, id, message string) func(http.ResponseWriter, *recordedRequest) {
	return func(w http.ResponseWriter,
		_ *recordedRequest) {
		refuse(w, http.StatusBadRequest, id, code, message)
	}
}

// Servers that answer 400 instead of 404 say so with various messages.
func TestSessionIsReplacedAfter400(t *testing.T) {
	for name, told := range map[string]func(http.ResponseWriter, *recordedRequest){
		"TypeScript, as its examples have it": refusing400(-32000, "null",
			"Bad Request: No valid session ID provided"),
		"TypeScript, started anew": refusing400(-32000, "null",
			"Bad Request: Server not initialized"),
		"in other words": refusing400(-32600, "null", "no valid session"),
		"Python": respondWith(http.StatusBadRequest, "text/plain",
			"Bad Request: No valid session ID provided"),
		"TypeScript, not for a POST": respondWith(http.StatusBadRequest, "text/html",
			"Invalid or missing session ID"),
	} {
		t.Run(name, func(t *testing.T) {
			f := &sessionServer{result: initialized, call: answerCall}
			inBubble(t, withLostSession(f, told), func(t *testing.T, s *testServer) {
				c := s.connect(t, client.Options{Era: mcp.Legacy})
				check(t, c)
				f.forgotten.Store(true)
				check(t, c)
				assert.Equal(t, s.count("POST initialize"), 2)
				assert.Equal(t, s.count("POST tools/call session-id=s2"), 1)
			})
		})
	}
}

// The frameworks of other languages refuse with 400 or 401, in words of their own.
func TestSessionIsReplacedAfterRefusalThatMentionsIt(t *testing.T) {
	plain := func(status int, text string) func(http.ResponseWriter, *recordedRequest) {
		return respondWith(status, "text/plain; charset=utf-8", text)
	}
	for name, told := range map[string]func(http.ResponseWriter, *recordedRequest){
		"rmcp":            plain(401, "Unauthorized: Session not found"),
		"mcp-go":          plain(400, "Invalid session ID\n"),
		"header":          plain(400, "unknown Mcp-Session-Id"),
		"expired":         plain(401, "The session has expired. Send initialize first."),
		"JSON-RPC":        refusing400(-32001, "null", "Session not found"),
		"JSON-RPC, an id": refusing400(-32600, `"server-error"`, "Bad Request: Unknown session"),
		"JSON-RPC, 401": func(w http.ResponseWriter, _ *recordedRequest) {
			refuse(w, 401, "null", -32000, "Unauthorized: unknown session")
		},
		"an error in JSON": respondWith(400, "application/json", `{"error":"Session not found"}`),
		"a message in JSON": respondWith(401, "application/json",
			`{"error":{"code":"gone","message":"no such session: 1"}}`),
		"a detail in JSON": respondWith(400, "application/problem+json",
			`{"title":"Bad Request","detail":"Could not find session"}`),
	} {
		t.Run(name, func(t *testing.T) {
			f := &sessionServer{result: initialized, call: answerCall}
			inBubble(t, withLostSession(f, told), func(t *testing.T, s *testServer) {
				c := s.connect(t, client.Options{Era: mcp.Legacy})
				synctest.Wait() // until the server has accepted notifications/initialized
				f.forgotten.Store(true)
				check(t, c)
				check(t, c)
				assert.Equal(t, s.count("POST initialize"), 2)
				assert.Equal(t, s.count("POST tools/call session-id=s1"), 1)
				assert.Equal(t, s.count("POST tools/call session-id=s2"), 2)
			})
		})
	}
}

// A refusal that gives no reason ends the session only if the server refuses a ping, too, and then
// begins another session.
func TestSessionAfterRefusalWithoutReason(t *testing.T) {
	silent := respondWith(http.StatusUnauthorized, "text/plain", "Unauthorized")
	for name, told := range map[string]func(http.ResponseWriter, *recordedRequest){
		"lost, 401":      silent,
		"lost, 400":      respondWith(http.StatusBadRequest, "", ""),
		"lost, a page":   respondWith(http.StatusBadRequest, "text/html", "<p>no valid state</p>"),
		"lost, an error": respondWith(http.StatusBadRequest, "application/json", `{"error":"?"}`),
	} {
		t.Run(name, func(t *testing.T) {
			f := &sessionServer{result: initialized, call: answerCall}
			answer := withLostSession(f, told)
			var lost atomic.Bool // the first session, also when the second one has begun
			inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
				if lost.Load() && r.Header.Get("Mcp-Session-Id") == "s1" {
					told(w, r)
					return
				}
				answer(w, r)
			}, func(t *testing.T, s *testServer) {
				c := s.connect(t, client.Options{Era: mcp.Legacy})
				check(t, c)
				f.forgotten.Store(true)
				lost.Store(true)
				var calls sync.WaitGroup
				for range 10 {
					calls.Go(func() { check(t, c) })
				}
				calls.Wait()
				assert.Equal(t, s.count("POST ping"), 1)
				assert.Equal(t, s.count("POST initialize"), 2)
				assert.Equal(t, s.count("POST tools/call session-id=s2"), 10)
			})
		})
	}
	t.Run("while another session begins", func(t *testing.T) {
		f := &sessionServer{result: initialized, call: answerCall}
		answer := withLostSession(f, silent)
		var begins, resume chan struct{} // of the bubble
		inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
			if r.message.Method == mcp.MethodInitialize && f.forgotten.Load() {
				close(begins)
				<-resume
			}
			answer(w, r)
		}, func(t *testing.T, s *testServer) {
			begins, resume = make(chan struct{}), make(chan struct{})
			c := s.connect(t, client.Options{Era: mcp.Legacy})
			check(t, c)
			f.forgotten.Store(true)
			var calls sync.WaitGroup
			calls.Go(func() { check(t, c) })
			<-begins
			calls.Go(func() { check(t, c) })
			synctest.Wait() // until the second one is refused, too
			close(resume)
			calls.Wait()
			assert.Equal(t, s.count("POST tools/call session-id=s1"), 3)
			assert.Equal(t, s.count("POST tools/call session-id=s2"), 2)
		})
	})
	t.Run("unauthorized", func(t *testing.T) {
		f := &sessionServer{result: initialized, call: answerCall}
		var expired atomic.Bool
		inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
			if expired.Load() {
				silent(w, r)
				return
			}
			f.answer(w, r)
		}, func(t *testing.T, s *testServer) {
			c := s.connect(t, client.Options{Era: mcp.Legacy})
			check(t, c)
			expired.Store(true)
			for range 3 {
				_, err := call(t, c)
				assert.Error(t, err,
					`server "server": tool "weather": POST http://pipe/mcp: 401 Unauthorized: "Unauthorized"`)
				assert.Assert(t, !errors.Is(err, client.ErrSessionLost))
			}
			assert.Equal(t, s.count("POST initialize"), 2) // tried once
			expired.Store(false)
			check(t, c) // in the session as it was
			assert.Equal(t, s.count("POST tools/call session-id=s1"), 5)
		})
	})
	t.Run("one tool refused", func(t *testing.T) {
		f := &sessionServer{result: initialized, call: silent}
		inBubble(t, f.answer, func(t *testing.T, s *testServer) {
			c := s.connect(t, client.Options{Era: mcp.Legacy})
			for range 3 {
				_, err := call(t, c)
				assert.ErrorContains(t, err, "401 Unauthorized")
			}
			assert.Equal(t, s.count("POST initialize"), 1) // no request was ever answered
			assert.Equal(t, s.count("POST tools/call"), 3)
		})
		var again atomic.Bool
		f = &sessionServer{result: initialized}
		f.call = func(w http.ResponseWriter, r *recordedRequest) {
			if again.Load() {
				silent(w, r)
				return
			}
			answerCall(w, r)
		}
		inBubble(t, f.answer, func(t *testing.T, s *testServer) {
			c := s.connect(t, client.Options{Era: mcp.Legacy})
			check(t, c)
			again.Store(true)
			for range 3 {
				_, err := call(t, c)
				assert.ErrorContains(t, err, "401 Unauthorized")
			}
			assert.Equal(t, s.count("POST initialize"), 1) // the server answers pings
			assert.Equal(t, s.count("POST tools/call session-id=s1"), 1+3)
		})
	})
	t.Run("then silent", func(t *testing.T) {
		f := &sessionServer{result: initialized, call: answerCall}
		inBubble(t, withLostSession(f, func(w http.ResponseWriter, r *recordedRequest) {
			if r.message.Method != mcp.MethodPing {
				silent(w, r)
				return
			}
			<-r.Context().Done()
		}), func(t *testing.T, s *testServer) {
			c := s.connect(t, client.Options{Era: mcp.Legacy, CallTimeout: time.Minute})
			check(t, c)
			f.forgotten.Store(true)
			began := time.Now()
			_, err := call(t, c)
			_, ok := errors.AsType[*client.TimeoutError](err)
			assert.Assert(t, ok, "%v", err)
			assert.Equal(t, time.Since(began), time.Minute)
			assert.Equal(t, s.count("POST initialize"), 1)
		})
	})
	t.Run("with a challenge", func(t *testing.T) {
		f := &sessionServer{result: initialized, call: answerCall}
		inBubble(t, withLostSession(f, func(w http.ResponseWriter, r *recordedRequest) {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			respondWith(http.StatusUnauthorized, "text/plain", "session expired")(w, r)
		}), func(t *testing.T, s *testServer) {
			c := s.connect(t, client.Options{Era: mcp.Legacy})
			check(t, c)
			f.forgotten.Store(true)
			_, err := call(t, c)
			assert.ErrorContains(t, err, "401 Unauthorized")
			assert.Equal(t, s.count("POST initialize"), 1)
		})
	})
}

// Any other 400 leaves the session alone.
func TestSessionIsKeptAfterOther400(t *testing.T) {
	for name, told := range map[string]func(http.ResponseWriter, *recordedRequest){
		"a bad request": refusing400(-32000, "null", "Bad Request: Unsupported protocol version"),
		"parameters":    refusing400(-32602, "null", "No valid session ID provided"),
		"an answer to the request": func(w http.ResponseWriter, r *recordedRequest) {
			refuse(w, http.StatusBadRequest, string(r.message.ID), -32000,
				"No valid session ID provided")
		},
		"words on the way": refusing400(-32000, "null", "the tool weather says: no valid session"),
		"forbidden": respondWith(http.StatusForbidden, "text/plain",
			"No valid session ID provided"),
	} {
		t.Run(name, func(t *testing.T) {
			f := &sessionServer{result: initialized, call: answerCall}
			inBubble(t, withLostSession(f, told), func(t *testing.T, s *testServer) {
				c := s.connect(t, client.Options{Era: mcp.Legacy})
				check(t, c)
				f.forgotten.Store(true)
				_, err := call(t, c)
				assert.Assert(t, err != nil && !errors.Is(err, client.ErrSessionLost), "%v", err)
				assert.Equal(t, s.count("POST initialize"), 1)
				f.forgotten.Store(false)
				check(t, c)
				assert.Equal(t, s.count("POST tools/call session-id=s1"), 3)
			})
		})
	}
}

// A server without sessions, or one that always answers so, does not cause an endless loop of new
// sessions.
func TestSessionReplacementIsBounded(t *testing.T) {
	f := &sessionServer{result: initialized}
	f.call = refusing400(-32000, "null", "Bad Request: No valid session ID provided")
	inBubble(t, f.answer, func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		_, err := call(t, c)
		assert.Error(t, err,
			`server "server": tool "weather": the server has forgotten the session, and the next one too`)
		assert.Equal(t, s.count("POST initialize"), 2)
		assert.Equal(t, s.count("POST tools/call"), 2)
	})
	inBubble(t, legacyWithoutSession(f.call), func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		_, err := call(t, c)
		assert.ErrorContains(t, err, "No valid session ID provided")
		assert.Equal(t, s.count("POST initialize"), 1)
	})
}

// legacyWithoutSession is a legacy server without session ids.
func legacyWithoutSession(call func(http.ResponseWriter, *recordedRequest)) func(
	http.ResponseWriter, *recordedRequest) {
	return func(w http.ResponseWriter, r *recordedRequest) {
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.message.Method == "initialize":
			answerJSON(w, r, initialized)
		case r.message.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			call(w, r)
		}
	}
}

// The GET stream notices the loss, too.
func TestGetStreamOfSessionLostWithoutNotFound(t *testing.T) {
	for _, told := range []func(http.ResponseWriter, *recordedRequest){
		respondWith(http.StatusBadRequest, "text/html", "Invalid or missing session ID"),
		respondWith(http.StatusUnauthorized, "text/plain", "Unauthorized: Session not found"),
	} {
		f := &sessionServer{result: initialized, call: answerCall}
		f.get = func(w http.ResponseWriter, r *recordedRequest) {
			stream := events(w, r)
			if f.sessions.Load() == 2 {
				stream.hold()
			}
			f.forgotten.Store(true)
		}
		inBubble(t, withLostSession(f, told), func(t *testing.T, s *testServer) {
			s.connect(t, client.Options{Era: mcp.Legacy})
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			assert.Equal(t, f.sessions.Load(), int64(2), "%v", s.lines())
		})
	}
}
