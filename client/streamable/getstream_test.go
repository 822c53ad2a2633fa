package streamable_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// getStreamServer is a legacy server whose lists can change. get handles the n-th GET, from 1.
func getStreamServer(get func(w http.ResponseWriter, r *recordedRequest, n int)) func(
	http.ResponseWriter, *recordedRequest) {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *recordedRequest) {
		switch {
		case r.message.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			answerJSON(w, r,
				strings.Replace(initialized, `"tools":{}`, `"tools":{"listChanged":true}`, 1))
		case r.message.Method == "tools/list":
			answerJSON(w, r, `{"tools":[]}`)
		case r.Method == http.MethodGet:
			get(w, r, int(n.Add(1)))
		default:
			legacy(answerCall, nil)(w, r)
		}
	}
}

const changed = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"

// getTimes records when GETs arrived, in seconds since the first.
type getTimes struct {
	first time.Time
	at    []float64
}

func (g *getTimes) note() {
	if g.first.IsZero() {
		g.first = time.Now()
	}
	g.at = append(g.at, time.Since(g.first).Seconds())
}

// When the GET stream is reopened after various responses, and how many changes the client assumes.
func TestGetStream(t *testing.T) {
	var g getTimes
	steps := func(status ...int) func(http.ResponseWriter, *recordedRequest, int) {
		return func(w http.ResponseWriter, r *recordedRequest, n int) {
			g.note()
			switch code := status[min(n, len(status))-1]; code {
			case http.StatusOK: // and ends
				events(w, r)
			case 1: // with an event without an id
				events(w, r).raw(": ping\n\n%s", changed)
			case 2: // with an id
				events(w, r).raw("retry: 2000\nid: e%d\ndata:\n\n", n)
			case 3: // and lasts
				events(w, r).hold()
			case 4: // without an id only
				if r.Header.Get("Last-Event-Id") != "" {
					w.WriteHeader(http.StatusBadRequest)
				} else {
					events(w, r).hold()
				}
			default:
				w.WriteHeader(code)
			}
		}
	}
	for _, tt := range []struct {
		name  string
		get   func(http.ResponseWriter, *recordedRequest, int)
		at    []float64
		lists int64
		log   string
	}{
		{"not offered", steps(405), []float64{0}, 0, ""},
		{"not there", steps(404), []float64{0}, 0, ""},
		{"not understood", steps(400), []float64{0}, 0, ""},
		{"not allowed", steps(401), []float64{0}, 0, ""},
		{"500 at first", steps(500), []float64{0}, 0, ""},
		{"503 at first", steps(503, 503, 3), []float64{0, 1, 3}, 0, ""},
		{"lasts", steps(3), []float64{0}, 0, ""},
		{"ends at once, and again", steps(200), []float64{0, 1, 3, 7, 15, 31, 63, 123}, 7, ""},
		{"ends with something", steps(1, 1, 1, 3), []float64{0, 1, 2, 3}, 4, ""},
		{"wants to be polled", steps(2, 2, 2, 3), []float64{0, 2, 4, 6}, 0, ""},
		{"500 later", steps(1, 500, 502, 429, 409, 3), []float64{0, 1, 3, 7, 15, 31}, 2, ""},
		{"not offered any more", steps(1, 405), []float64{0, 1}, 1,
			"the server no longer sends notifications"},
		{"the event is not known any more", steps(2, 4), []float64{0, 2, 4}, 1, ""},
		{"not allowed any more", steps(1, 401), []float64{0, 1}, 1, "401 Unauthorized"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g = getTimes{}
			inBubble(t, getStreamServer(tt.get), func(t *testing.T, s *testServer) {
				var lists atomic.Int64
				c := s.connect(t,
					client.Options{Era: mcp.Legacy, OnToolsChanged: func([]*mcp.Tool, error) {
						lists.Add(1)
					}})
				check(t, c)
				time.Sleep(150 * time.Second)
				synctest.Wait()
				assert.DeepEqual(t, g.at, tt.at)
				assert.Equal(t, lists.Load(), tt.lists)
				if tt.log == "" {
					assert.Equal(t, s.logged(), "")
				} else {
					assert.Assert(t, strings.Contains(s.logged(), tt.log), s.logged())
				}
				check(t, c)
			})
		})
	}
}

// A GET stream is resumed after the last event received.
func TestGetStreamIsResumed(t *testing.T) {
	inBubble(t, getStreamServer(func(w http.ResponseWriter, r *recordedRequest, n int) {
		stream := events(w, r)
		if n < 3 {
			stream.raw("id: e%d\n%s", n, changed)
			return
		}
		stream.hold()
	}), func(t *testing.T, s *testServer) {
		s.connect(t, client.Options{Era: mcp.Legacy})
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.DeepEqual(t, s.lines()[2:], []string{
			"GET session-id=s1 protocol-version=2025-11-25",
			"GET session-id=s1 protocol-version=2025-11-25 last-event-id=e1",
			"GET session-id=s1 protocol-version=2025-11-25 last-event-id=e2",
		})
	})
}

// An event over the limit is skipped; the stream goes on.
func TestGetStreamWithLargeEvents(t *testing.T) {
	inBubble(t, getStreamServer(func(w http.ResponseWriter, r *recordedRequest, _ int) {
		stream := events(w, r)
		stream.raw("data: %s\n\nid: %s\n\n%s", pad(70_000), pad(5_000), changed)
		stream.hold()
	}), func(t *testing.T, s *testServer) {
		var lists atomic.Int64
		s.connect(t, client.Options{Era: mcp.Legacy, Limits: limitFrame(64 << 10),
			OnToolsChanged: func([]*mcp.Tool, error) { lists.Add(1) }})
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, lists.Load(), int64(1))
		assert.Equal(t, s.count("GET"), 1)
	})
}

// Without a call, a lost session is replaced at most once a minute, and again if that fails.
func TestGetStreamOfLostSession(t *testing.T) {
	f := &sessionServer{
		result: strings.Replace(initialized, `"tools":{}`, `"tools":{"listChanged":true}`, 1)}
	f.call = func(w http.ResponseWriter, r *recordedRequest) { answerJSON(w, r, `{"tools":[]}`) }
	f.get = func(w http.ResponseWriter, r *recordedRequest) {
		stream := events(w, r)
		if f.sessions.Load() == 2 {
			stream.hold()
		}
		f.forgotten.Store(true)
	}
	var g getTimes
	down := 0
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "initialize" {
			g.note()
			if down++; down == 2 {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
		}
		f.answer(w, r)
	}, func(t *testing.T, s *testServer) {
		var lists atomic.Int64
		s.connect(t, client.Options{Era: mcp.Legacy,
			OnToolsChanged: func([]*mcp.Tool, error) { lists.Add(1) }})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		assert.DeepEqual(t, g.at, []float64{0, 1, 61})
		assert.Equal(t, f.sessions.Load(), int64(2))
		assert.Equal(t, lists.Load(), int64(1))
		assert.Assert(t, strings.Contains(s.logged(), "502 Bad Gateway"), s.logged())
	})
}

// If a call has replaced the session, the old GET stream does not replace it again, neither
// afterwards nor while the handshake is in progress.
func TestGetStreamAndCallOfLostSession(t *testing.T) {
	for _, late := range []time.Duration{0, 1050 * time.Millisecond} {
		f := &sessionServer{result: initialized, call: answerCall}
		f.get = func(w http.ResponseWriter, r *recordedRequest) {
			stream := events(w, r)
			for wait(r, 100*time.Millisecond) &&
				r.Header.Get("Mcp-Session-Id") == fmt.Sprint("s", f.sessions.Load()) &&
				!f.forgotten.Load() {
				stream.raw(":\n")
			}
		}
		inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
			if r.Header.Get("Mcp-Session-Id") != "s2" ||
				r.message.Method != "notifications/initialized" || wait(r, 3*time.Second) {
				f.answer(w, r)
			}
		}, func(t *testing.T, s *testServer) {
			c := s.connect(t, client.Options{Era: mcp.Legacy})
			time.Sleep(2 * time.Minute)
			f.forgotten.Store(true)
			time.Sleep(late)
			check(t, c)
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			assert.Equal(t, f.sessions.Load(), int64(2))
			assert.Equal(t, s.count("GET session-id=s2"), 1)
		})
	}
}

// The first call waits a moment while a legacy server has not yet accepted the GET stream.
func TestGetStreamIsWaitedFor(t *testing.T) {
	for _, patience := range []time.Duration{200 * time.Millisecond, time.Hour} {
		inBubble(t, getStreamServer(func(w http.ResponseWriter, r *recordedRequest, n int) {
			if wait(r, patience) {
				events(w, r).hold()
			}
		}), func(t *testing.T, s *testServer) {
			c := s.connect(t, client.Options{Era: mcp.Legacy})
			began := time.Now()
			check(t, c)
			assert.Equal(t, time.Since(began), min(patience, 300*time.Millisecond))
		})
	}
}

// A lost modern subscription is reopened, and counts as a change of what it watches.
func TestListenIsReopened(t *testing.T) {
	n := 0
	server := modern(func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "tools/list" {
			answerJSON(w, r,
				`{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}`)
			return
		}
		if n++; n == 3 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		stream := events(w, r)
		stream.notify("notifications/subscriptions/acknowledged", fmt.Sprintf(
			`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}`,
			r.message.ID))
		if n > 3 {
			stream.hold()
		}
	})
	var g getTimes
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		switch r.message.Method {
		case "server/discover":
			answerJSON(w, r,
				strings.Replace(discovered, `"tools":{}`, `"tools":{"listChanged":true}`, 1))
			return
		case "subscriptions/listen":
			g.note()
		}
		server(w, r)
	}, func(t *testing.T, s *testServer) {
		s.o.MaxCalls = 1
		var lists atomic.Int64
		c := s.connect(t, client.Options{OnToolsChanged: func([]*mcp.Tool, error) { lists.Add(1) }})
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		assert.DeepEqual(t, g.at, []float64{0, 1, 3, 7})
		assert.Equal(t, lists.Load(), int64(3))
		_, err := c.Call(t.Context(), "tools/list", nil) // the subscription occupies no slot
		assert.NilError(t, err)
	})
}
