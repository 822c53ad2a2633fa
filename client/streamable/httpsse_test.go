package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An httpSSEServer speaks HTTP+SSE: all its messages come on one stream.
type httpSSEServer struct {
	endpoint string
	out      chan string // events for the stream; closing it ends the stream
	post     func(o *httpSSEServer, w http.ResponseWriter, r *recordedRequest)
}

func (o *httpSSEServer) answer(w http.ResponseWriter, r *recordedRequest) {
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/mcp":
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		stream := events(w, r)
		stream.raw("event: endpoint\ndata: %s\n\n", o.endpoint)
		for {
			select {
			case event, ok := <-o.out:
				if !ok {
					return
				}
				stream.raw("%s", event)
			case <-r.Context().Done():
				return
			}
		}
	case r.message.Method == "initialize":
		w.WriteHeader(http.StatusAccepted)
		o.result(r, strings.Replace(initialized, "2025-11-25", "2024-11-05", 1))
	case o.post != nil && r.message.Method != "notifications/initialized":
		o.post(o, w, r)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (o *httpSSEServer) result(r *recordedRequest, result string) {
	o.out <- fmt.Sprintf("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n",
		r.message.ID, result)
}

// withHTTPSSEServer runs a test with an HTTP+SSE server.
func withHTTPSSEServer(t *testing.T, o *httpSSEServer, test func(t *testing.T, s *testServer)) {
	inBubble(t, o.answer, func(t *testing.T, s *testServer) {
		o.out = make(chan string, 10)
		test(t, s)
	})
}

func accepted(o *httpSSEServer, w http.ResponseWriter, r *recordedRequest) {
	w.WriteHeader(http.StatusAccepted)
	if r.message.Method == "tools/call" {
		o.result(r, text)
	}
}

func TestHTTPSSE(t *testing.T) {
	for _, endpoint := range []string{"messages?session=7", "/messages?session=7",
		"http://pipe/messages?session=7", "http://PIPE:80/messages?session=7"} {
		withHTTPSSEServer(t, &httpSSEServer{endpoint: endpoint, post: accepted},
			func(t *testing.T, s *testServer) {
				s.url = "http://me:pass@pipe/mcp?key=secret"
				c := s.connect(t, client.Options{})
				assert.Equal(t, c.Revision(), mcp.Rev20241105)
				check(t, c)
				check(t, c)
				assert.NilError(t, c.Close())
				assert.DeepEqual(t, s.lines(), []string{
					"POST server/discover protocol-version=2026-07-28", "POST initialize", "GET",
					"POST initialize", "POST notifications/initialized", "POST tools/call",
					"POST tools/call",
				})
				for _, r := range s.seen[3:] {
					assert.Equal(t, r.URL.String(), "/messages?session=7")
					user, password, _ := r.BasicAuth()
					assert.Equal(t, user+":"+password, "me:pass")
				}
			})
	}
}

// If the GET does not open an HTTP+SSE stream, the error is the server's first refusal.
func TestNotHTTPSSE(t *testing.T) {
	for _, tt := range []struct {
		name string
		get  func(http.ResponseWriter, *recordedRequest)
		want string
		took time.Duration
	}{
		{"no GET", respondWith(405, "", ""), "POST http://pipe/mcp: 404 Not Found", 0},
		{"no stream", respondWith(200, "text/html", "hi"), "POST http://pipe/mcp: 404 Not Found",
			0},
		{"another event", func(w http.ResponseWriter, r *recordedRequest) {
			events(w, r).raw("data: {}\n\n")
		}, "POST http://pipe/mcp: 404 Not Found", 0},
		{"no event", func(w http.ResponseWriter, r *recordedRequest) { events(w, r) },
			"POST http://pipe/mcp: 404 Not Found", 0},
		{"no event for long", func(w http.ResponseWriter, r *recordedRequest) {
			events(w, r).hold()
		}, "POST http://pipe/mcp: 404 Not Found", 5 * time.Second},
		{"no answer", blockRequest, "POST http://pipe/mcp: 404 Not Found", 5 * time.Second},
		{"an address that is none", func(w http.ResponseWriter, r *recordedRequest) {
			events(w, r).raw("event: endpoint\ndata: http://%%zz\n\n")
		}, "POST http://pipe/mcp: 404 Not Found", 0},
		{"an address elsewhere", func(w http.ResponseWriter, r *recordedRequest) {
			events(w, r).raw("event: endpoint\ndata: //evil/messages?key=secret\n\n")
		},
			"404 Not Found; its event stream names the endpoint http://evil/messages of another server",
			0},
		{"another scheme", func(w http.ResponseWriter, r *recordedRequest) {
			events(w, r).raw("event: endpoint\ndata: https://pipe/messages\n\n")
		}, "of another server", 0},
		{"another port", func(w http.ResponseWriter, r *recordedRequest) {
			events(w, r).raw("event: endpoint\ndata: http://pipe:81/\n\n")
		}, "of another server", 0},
		{"no URL of HTTP", func(w http.ResponseWriter, r *recordedRequest) {
			events(w, r).raw("event: endpoint\ndata: mailto:me\n\n")
		}, "of another server", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
				if r.Method == http.MethodGet {
					tt.get(w, r)
					return
				}
				w.WriteHeader(http.StatusNotFound)
			}, func(t *testing.T, s *testServer) {
				began := time.Now()
				_, err := s.tryConnect(t, client.Options{})
				assert.ErrorContains(t, err, tt.want)
				assert.Assert(t, !contains(err, "secret"), "%v", err)
				assert.Equal(t, time.Since(began), tt.took)
				assert.DeepEqual(t, s.pipes.hosts(), []string{"pipe:80"})
			})
		})
	}
}

// Only responses that an HTTP+SSE server may send lead to the GET.
func TestHTTPSSEIsNotTried(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 405, 406, 415, 429, 500, 503} {
		inBubble(t, respondWith(status, "", ""), func(t *testing.T, s *testServer) {
			_, err := s.tryConnect(t, client.Options{Era: mcp.Legacy})
			assert.ErrorContains(t, err, fmt.Sprint(status))
			assert.Equal(t, s.count("GET") == 1, status == 400 || status == 404 ||
				status == 405, "%d", status)
		})
	}
	inBubble(t, refusing(400, -32602), func(t *testing.T, s *testServer) {
		// as a JSON-RPC error
		_, err := s.tryConnect(t, client.Options{Era: mcp.Legacy})
		assert.ErrorContains(t, err, "no")
		assert.Equal(t, s.count("GET"), 0)
	})
}

func TestHTTPSSEServerRequests(t *testing.T) {
	o := &httpSSEServer{endpoint: "/messages"}
	var id *recordedRequest
	o.post = func(o *httpSSEServer, w http.ResponseWriter, r *recordedRequest) {
		w.WriteHeader(http.StatusAccepted)
		switch {
		case r.message.Method == "tools/call":
			id = r
			o.out <- "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}\n\n"
		case strings.Contains(r.body, `"roots":[]`):
			o.result(id, text)
		}
	}
	withHTTPSSEServer(t, o, func(t *testing.T, s *testServer) {
		check(t, s.connect(t, client.Options{Roots: []mcp.Root{}}))
	})
}

// A cancelled call is cancelled at the server and frees its slot, whether its POST was accepted or
// not.
func TestHTTPSSECancellation(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		withHTTPSSEServer(t,
			&httpSSEServer{endpoint: "/messages",
				post: func(_ *httpSSEServer, w http.ResponseWriter, r *recordedRequest) {
					if stuck && r.message.Method == "tools/call" {
						blockRequest(w, r)
						return
					}
					w.WriteHeader(http.StatusAccepted)
				}}, func(t *testing.T, s *testServer) {
				s.o.MaxCalls = 1
				c := s.connect(t, client.Options{})
				for n := range 3 {
					_, err := call(t, c, client.Timeout(time.Second))
					assert.Assert(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
					assert.Equal(t, s.count("POST tools/call"), n+1)
					assert.Equal(t, s.count("POST notifications/cancelled"), n+1)
				}
			})
	}
}

func TestHTTPSSERefusal(t *testing.T) {
	withHTTPSSEServer(t,
		&httpSSEServer{endpoint: "/messages",
			post: func(_ *httpSSEServer, w http.ResponseWriter, r *recordedRequest) {
				respondWith(500, "text/plain", "oops")(w, r)
			}}, func(t *testing.T, s *testServer) {
			_, err := call(t, s.connect(t, client.Options{}))
			assert.ErrorContains(t, err,
				`POST http://pipe/messages: 500 Internal Server Error: "oops"`)
		})
}

// The connection ends with the stream.
func TestHTTPSSEStreamEnds(t *testing.T) {
	for event, want := range map[string]string{
		"": "closed the connection",
		"data: " + pad(70_000) +
			"\n\n": "the connection broke: GET http://pipe/mcp: the server sent a message of 65537 bytes or more, over the limit of 65536 (Options.Limits.MaxFrame)",
		"id: " + pad(5000) +
			"\n\n": "the connection broke: GET http://pipe/mcp: the server sent an event whose id has more than 4096 bytes",
	} {
		o := &httpSSEServer{endpoint: "/messages"}
		o.post = func(o *httpSSEServer, w http.ResponseWriter, r *recordedRequest) {
			w.WriteHeader(http.StatusAccepted)
			if event == "" {
				close(o.out)
			} else {
				o.out <- event
			}
		}
		withHTTPSSEServer(t, o, func(t *testing.T, s *testServer) {
			c := s.connect(t, client.Options{Limits: limitFrame(64 << 10)})
			_, err := call(t, c)
			var lost *client.LostError
			assert.Assert(t, errors.As(err, &lost), "%v", err)
			assert.ErrorContains(t, err, want)
			assert.Assert(t, errors.Is(err, rpc.ErrClosed))
			assert.Equal(t, errors.Is(err, framing.ErrTooLarge), strings.HasPrefix(event, "data"))
			synctest.Wait()
			<-c.Done()
			assert.ErrorContains(t, c.Err(), want)
			_, err = call(t, c)
			assert.Assert(t, errors.Is(err, rpc.ErrClosed))
		})
	}
}
