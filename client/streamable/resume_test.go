package streamable_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// breakingStream is a legacy server whose responses break off: the stream of each call is begin,
// and again handles GETs with Last-Event-ID.
func breakingStream(begin string,
	again func(w http.ResponseWriter, r *recordedRequest, n int)) func(http.ResponseWriter,
	*recordedRequest) {
	var resumed atomic.Int64
	return legacy(
		func(w http.ResponseWriter, r *recordedRequest) { events(w, r).raw("%s", begin) },
		func(w http.ResponseWriter, r *recordedRequest) {
			if r.Header.Get("Last-Event-Id") == "" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			again(w, r, int(resumed.Add(1)))
		},
	)
}

// answerAndEnd completes the response to the first call on another stream.
func answerAndEnd(w http.ResponseWriter, r *recordedRequest, id string) {
	events(w, r).raw("id: %s\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id,
		firstCall, text)
}

// firstCall is the id of the first call after the handshake of the legacy era alone.
const firstCall = "2"

func TestResume(t *testing.T) {
	for _, tt := range []struct {
		name, begin string
		again       func(w http.ResponseWriter, r *recordedRequest, n int)
		took        time.Duration
		want        []string // the Last-Event-IDs of the
		err         string
	}{
		{"at once", "id: 1\ndata:\n\n", func(w http.ResponseWriter, r *recordedRequest, _ int) {
			answerAndEnd(w, r, "2")
		}, time.Second, []string{"1"}, ""},
		{"when the server says", "retry: 2500\nid: 1\ndata:\n\n",
			func(w http.ResponseWriter, r *recordedRequest, _ int) {
				answerAndEnd(w, r, "2")
			}, 2500 * time.Millisecond, []string{"1"}, ""},
		{"when the server says, if that is late", "retry: 200000\nid: 1\ndata:\n\n",
			func(w http.ResponseWriter, r *recordedRequest, _ int) {
				answerAndEnd(w, r, "2")
			}, 200 * time.Second, []string{"1"}, ""},
		{"soon", "retry: 0\nid: 1\ndata:\n\n",
			func(w http.ResponseWriter, r *recordedRequest, _ int) {
				answerAndEnd(w, r, "2")
			}, 100 * time.Millisecond, []string{"1"}, ""},
		{"the server wants to be polled", "retry: 300\nid: 1\ndata:\n\n",
			func(w http.ResponseWriter, r *recordedRequest, n int) {
				if n < 4 {
					events(w, r).raw("id: %d\ndata:\n\n", n+1)
				} else {
					answerAndEnd(w, r, "5")
				}
			}, 1200 * time.Millisecond, []string{"1", "2", "3", "4"}, ""},
		{"the same id again", "id: 1\ndata:\n\n",
			func(w http.ResponseWriter, r *recordedRequest, n int) {
				if n < 7 {
					events(w, r)
				} else {
					answerAndEnd(w, r, "2")
				}
			}, 7 * time.Second, []string{"1", "1", "1", "1", "1", "1", "1"}, ""},
		{"another retry", "id: 1\ndata:\n\n",
			func(w http.ResponseWriter, r *recordedRequest, n int) {
				if n == 1 {
					events(w, r).raw("retry: 4000\n\n")
				} else {
					answerAndEnd(w, r, "2")
				}
			}, 5 * time.Second, []string{"1", "1"}, ""},
		{"not at first", "id: 1\ndata:\n\n",
			func(w http.ResponseWriter, r *recordedRequest, n int) {
				if n < 5 {
					w.WriteHeader(http.StatusBadGateway)
				} else {
					answerAndEnd(w, r, "2")
				}
			}, 31 * time.Second, []string{"1", "1", "1", "1", "1"}, ""},
		{"never", "retry: 3000\nid: 1\ndata:\n\n", refuseResume(http.StatusServiceUnavailable),
			(3 + 3 + 4 + 8 + 16) * time.Second, []string{"1", "1", "1", "1", "1"},
			"and the stream cannot be resumed: GET http://pipe/mcp: 503 Service Unavailable"},
		{"the counting begins anew", "id: 1\ndata:\n\n",
			func(w http.ResponseWriter, r *recordedRequest, n int) {
				switch {
				case n == 3:
					events(w, r).raw("id: 2\ndata:\n\n")
				case n < 6:
					w.WriteHeader(http.StatusConflict)
				default:
					answerAndEnd(w, r, "3")
				}
			}, (1 + 2 + 4 + 1 + 2 + 4) * time.Second, []string{"1", "1", "1", "2", "2", "2"}, ""},
		{"not offered", "id: 1\ndata:\n\n", refuseResume(http.StatusMethodNotAllowed),
			time.Second, []string{"1"},
			"cannot be resumed: GET http://pipe/mcp: 405 Method Not Allowed"},
		{"not allowed", "id: 1\ndata:\n\n", refuseResume(http.StatusForbidden), time.Second,
			[]string{"1"}, "cannot be resumed: GET http://pipe/mcp: 403 Forbidden"},
		{"no session", "id: 1\ndata:\n\n", refuseResume(http.StatusNotFound), time.Second,
			[]string{"1"}, "the server no longer knows the session"},
		{"no ids", "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n", nil, 0, nil,
			"POST http://pipe/mcp: the connection ended before the response: unexpected EOF"},
		{"no events", "", nil, 0, nil, "the connection ended before the response"},
		{"an id that is none yet", "id: 1\ndata:\n", nil, 0, nil,
			"the connection ended before the response"},
		{"an id that was taken back", "id: 1\ndata:\n\nid\ndata:\n\n", nil, 0, nil,
			"the connection ended before the response"},
		{"what may have been the answer", "id: 1\ndata: {\n\n", nil, 0, nil,
			"the connection ended before the response"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, breakingStream(tt.begin, tt.again), func(t *testing.T, s *testServer) {
				c := s.connect(t, client.Options{Era: mcp.Legacy})
				began := time.Now()
				answer, err := call(t, c)
				assert.Equal(t, time.Since(began), tt.took)
				if tt.err != "" {
					assert.ErrorContains(t, err, tt.err)
					assert.Assert(t, errors.Is(err, streamable.ErrDisconnected))
				} else {
					assert.NilError(t, err)
					assert.Equal(t, answer, "mild")
				}
				var ids []string
				for _, line := range s.lines() {
					if _, id, ok := strings.Cut(line, "last-event-id="); ok {
						assert.Equal(t, line,
							"GET session-id=s1 protocol-version=2025-11-25 last-event-id="+id)
						ids = append(ids, id)
					}
				}
				assert.DeepEqual(t, ids, tt.want)
				assert.Equal(t, s.count("POST tools/call"), 1)
			})
		})
	}
}

func refuseResume(status int) func(http.ResponseWriter, *recordedRequest, int) {
	return func(w http.ResponseWriter, _ *recordedRequest, _ int) { w.WriteHeader(status) }
}

// Each message of a stream that breaks off repeatedly arrives once, in order.
func TestResumeKeepsOrder(t *testing.T) {
	begin := progress(1)
	inBubble(t, breakingStream(begin, func(w http.ResponseWriter, r *recordedRequest, n int) {
		if n < 5 {
			events(w, r).raw("%s%s", progress(2*n), progress(2*n+1))
		} else {
			answerAndEnd(w, r, "99")
		}
	}), func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		var got []float64
		_, err := call(t, c, client.OnProgress(func(p mcp.ProgressParams) {
			got = append(got, p.Progress)
		}))
		assert.NilError(t, err)
		// of two at the same time, only the newer may be reported
		assert.Assert(t, len(got) >= 5, "%v", got)
		for i := 1; i < len(got); i++ {
			assert.Assert(t, got[i] > got[i-1], "%v", got)
		}
		assert.Equal(t, got[len(got)-1], 9.0)
	})
}

func progress(n int) string {
	return fmt.Sprintf(
		"id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":%d}}\n\n",
		n, n)
}

// A call that is cancelled while it waits to be resumed is cancelled at the server; one that times
// out waits no longer.
func TestResumeEndsWithTheCall(t *testing.T) {
	inBubble(t, breakingStream("retry: 60000\nid: 1\ndata:\n\n", nil),
		func(t *testing.T, s *testServer) {
			s.o.MaxCalls = 1
			c := s.connect(t, client.Options{Era: mcp.Legacy})
			for range 3 {
				began := time.Now()
				_, err := call(t, c, client.Timeout(time.Second))
				var timeout *client.TimeoutError
				assert.Assert(t, errors.As(err, &timeout), "%v", err)
				assert.Equal(t, time.Since(began), time.Second)
			}
			assert.Equal(t, s.count("POST tools/call"), 3)
			assert.Equal(t, s.count("POST notifications/cancelled session-id=s1"), 3)
		})
}

// The response to initialize may break off, too. Its session is in the header of the POST's
// response.
func TestResumeInitialize(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		switch {
		case r.message.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			events(w, r).raw("id: 1\ndata:\n\n")
		case r.Method == http.MethodGet && r.Header.Get("Last-Event-Id") == "1":
			events(w, r).raw("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":%s}\n\n", initialized)
		default:
			legacy(answerCall, nil)(w, r)
		}
	}, func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		check(t, c)
		assert.DeepEqual(t, s.lines()[:3], []string{
			"POST initialize",
			"GET session-id=s1 last-event-id=1",
			"POST notifications/initialized session-id=s1 protocol-version=2025-11-25",
		})
	})
}

// A modern stream is never resumed.
func TestModernIsNotResumed(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		events(w, r).raw("retry: 1\nid: 1\ndata:\n\n")
	}), func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{})
		began := time.Now()
		_, err := call(t, c)
		assert.Assert(t, errors.Is(err, streamable.ErrDisconnected), "%v", err)
		assert.Equal(t, time.Since(began), time.Duration(0))
		assert.Equal(t, s.count("GET"), 0)
		assert.Equal(t, s.count("POST tools/call"), 1)
	})
}
