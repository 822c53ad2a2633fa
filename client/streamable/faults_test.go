package streamable_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A faultyConn is how a faulty server responds to a call: with a stream of frames, or of events.
type faultyConn struct {
	id         string // of the call
	raw        func(text string)
	head, tail string // of a frame
	gone       <-chan struct{}
}

func (w *faultyConn) respond(format string, args ...any) {
	w.raw(w.head + fmt.Sprintf(format, args...) + w.tail)
}
func (w *faultyConn) answer() { w.respond("%s", w.whole()) }
func (w *faultyConn) whole() string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, w.id, text)
}

// pause sleeps, and reports false if the client has disconnected.
func (w *faultyConn) pause(d time.Duration) bool {
	select {
	case <-w.gone:
		return false
	case <-time.After(d):
		return true
	}
}

// A fault is what a server does when it is called. Then its stream ends.
type fault struct {
	name  string
	does  func(w *faultyConn)
	took  time.Duration
	stdio string // the error over pipes; "" for none
	http  string // the error over HTTP
	is    error  // over HTTP
	junk  int    // invalid messages that the client counts
	stray int    // responses without a request that the client counts
}

const patience = 5 * time.Minute // of the calls

const (
	soon     = -1 // after some time, within the limits
	whatever = -1 // not checked: the client stops reading after the response
)

var timedOut = fmt.Sprintf("no answer after %s", patience)

var faults = []fault{
	{name: "none", does: (*faultyConn).answer},
	{name: "silent", does: func(w *faultyConn) { <-w.gone }, took: patience, stdio: timedOut,
		http: timedOut, is: context.DeadlineExceeded},
	{name: "slow", does: func(w *faultyConn) { w.slowly(time.Second) }, took: soon},
	{name: "too slow", does: func(w *faultyConn) {
		w.slowly(7 * time.Second)
	}, took: patience, stdio: "the server last sent something",
		http: "the server last sent something", is: context.DeadlineExceeded},
	{name: "dead", does: func(*faultyConn) {}, stdio: "closed the connection",
		http: "the connection ended before the response", is: streamable.ErrDisconnected},
	{name: "dead in the middle", does: func(w *faultyConn) {
		w.raw(w.head + w.whole()[:20])
	}, stdio: "closed the connection", http: "the connection ended before the response",
		is: streamable.ErrDisconnected},
	{name: "garbage between frames", does: func(w *faultyConn) {
		for _, garbage := range []string{"hello", "{", "\x00\xff\xfe", "[]", "42", "null", `"x"`,
			"{}", strings.Repeat("[", 100_000), `{"jsonrpc":"2.0"}`, `{"id":1}`, "<html>"} {
			w.respond("%s", garbage)
		}
		w.answer()
	}, junk: 11, stray: 1},
	{name: "answers twice", does: func(w *faultyConn) {
		w.answer()
		w.respond(`{"jsonrpc":"2.0","id":%s,"result":{}}`, w.id)
	}, stray: whatever},
	{name: "answers to others", does: func(w *faultyConn) {
		for _, id := range []string{"99", "0", "-1", "1e3", "1.5", `"0` + w.id + `"`, w.id + ".5",
			"null", "true", "{}", "[" + w.id + "]", "9223372036854775808"} {
			w.respond(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
		}
		w.respond(`{"jsonrpc":"2.0","result":{}}`)
		w.answer()
	}, stray: 13},
	{name: "answers that are none", does: func(w *faultyConn) {
		w.respond(`{"jsonrpc":"2.0","id":%s}`, w.id)
	}, stdio: "neither a result nor an error", http: "neither a result nor an error",
		is: rpc.ErrProtocol},
	{name: "an answer with both", does: func(w *faultyConn) {
		w.respond(`{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":"x"}}`, w.id)
	},
		stdio: "both a result and an error", http: "both a result and an error",
		is: rpc.ErrProtocol},
	{name: "an error that is none", does: func(w *faultyConn) {
		w.respond(`{"jsonrpc":"2.0","id":%s,"error":7}`, w.id)
	}, stdio: "error", http: "error", is: rpc.ErrProtocol},
	{name: "endless progress",
		does: endless(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`),
		took: time.Hour, stdio: "no answer after 1h0m0s", http: "no answer after 1h0m0s",
		is: context.DeadlineExceeded},
	{name: "endless log",
		does: endless(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`),
		took: patience, stdio: timedOut, http: timedOut, is: context.DeadlineExceeded},
	{name: "endless changes",
		does: endless(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"n":%d}}`),
		took: patience, stdio: timedOut, http: timedOut, is: context.DeadlineExceeded},
	{name: "endless pings", does: endless(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`),
		took: patience, stdio: timedOut, http: timedOut, is: context.DeadlineExceeded},
	{name: "endless questions",
		does: endless(`{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{}}`),
		took: patience, stdio: timedOut, http: timedOut, is: context.DeadlineExceeded},
	{name: "a frame that is too large", does: func(w *faultyConn) {
		w.respond(`{"jsonrpc":"2.0","id":%s,"result":{"x":"%s"}}`, w.id, pad(1<<20))
	},
		stdio: "the server sent a message of",
		http:  "over the limit of 262144 (Options.Limits.MaxFrame)", is: framing.ErrTooLarge},
	{name: "a frame that does not end", does: func(w *faultyConn) {
		w.raw(w.head + `{"jsonrpc":"2.0","x":"`)
		for w.pause(time.Millisecond) {
			w.raw(pad(1 << 10))
		}
	}, took: soon, stdio: "the server sent a message of 4194304 bytes or more",
		http: "over the limit of 262144 (Options.Limits.MaxFrame)", is: framing.ErrTooLarge},
}

// slowly sends the response byte by byte.
func (w *faultyConn) slowly(d time.Duration) {
	for _, c := range []byte(w.head + w.whole() + w.tail) {
		w.raw(string(c))
		if !w.pause(d) {
			return
		}
	}
}

// endless sends ten messages every 10 s.
func endless(format string) func(w *faultyConn) {
	return func(w *faultyConn) {
		for n := 1; w.pause(10 * time.Second); n++ {
			for i := range 10 {
				w.respond(format, 10*n+i)
			}
		}
	}
}

// checkFault calls a faulty server and checks the error, which it returns.
func checkFault(t *testing.T, f fault, c *client.Client, want string) error {
	began := time.Now()
	answer, err := call(t, c, client.OnProgress(func(mcp.ProgressParams) {}))
	took := time.Since(began)
	assert.Assert(t, took == f.took || f.took == soon && took > 0 && took < patience, "%v", took)
	if want == "" {
		assert.NilError(t, err)
		assert.Equal(t, answer, "mild")
		noise := c.Stats()
		assert.Equal(t, noise.Junk, f.junk, "%q", noise.Samples)
		assert.Assert(t, noise.Unmatched == f.stray || f.stray == whatever, "%d", noise.Unmatched)
		return nil
	}
	assert.ErrorContains(t, err, want)
	var failed *client.CallError
	assert.Assert(t, errors.As(err, &failed))
	return err
}

var faultOptions = client.Options{
	CallTimeout: patience, Limits: limitFrame(256 << 10), OnLog: func(mcp.LoggingMessageParams) {},
	OnElicit: accept, Logger: slog.New(slog.DiscardHandler),
}

func TestFaultsOverPipes(t *testing.T) {
	for _, f := range faults {
		for _, era := range []mcp.Era{mcp.Modern, mcp.Legacy} {
			t.Run(fmt.Sprint(f.name, " ", era), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := faultOptions
					o.Era = era
					here, there := net.Pipe()
					served := make(chan struct{})
					go func() { defer close(served); serveFault(there, f) }()
					c, err := o.Connect(t.Context(), client.Stream(here))
					assert.NilError(t, err)
					defer func() {
						assert.NilError(t, c.Close())
						<-c.Done()
						<-served
					}()
					_ = checkFault(t, f, c, f.stdio)
				})
			})
		}
	}
}

// serveFault is a faulty server on a stream.
func serveFault(stream net.Conn, f fault) {
	gone := make(chan struct{})
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	done := make(chan struct{})
	defer func() { <-done }()
	defer close(gone)
	w := &faultyConn{raw: func(text string) { _, _ = io.WriteString(stream, text) }, tail: "\n",
		gone: gone}
	began := false
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		switch m.Method {
		case "server/discover":
			w.respond(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, discovered)
		case "initialize":
			w.respond(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, initialized)
		case "tools/call":
			w.id = string(m.ID)
			began = true
			go func() {
				defer close(done)
				f.does(w)
				_ = stream.Close()
			}()
		}
	}
	if !began {
		close(done)
	}
}

func TestFaultsOverHTTP(t *testing.T) {
	for _, f := range faults {
		for name, era := range map[string]func(func(http.ResponseWriter, *recordedRequest)) func(
			http.ResponseWriter, *recordedRequest){"modern": modern, "legacy": withoutHandshake} {
			t.Run(f.name+" "+name, func(t *testing.T) {
				inBubble(t, era(once(func(w http.ResponseWriter, r *recordedRequest) {
					stream := events(w, r)
					f.does(&faultyConn{id: string(r.message.ID), raw: func(text string) {
						stream.raw("%s", text)
					}, head: "data: ", tail: "\n\n", gone: r.Context().Done()})
				})), func(t *testing.T, s *testServer) {
					s.o.MaxCalls = 1
					c := s.connect(t, faultOptions)
					if err := checkFault(t, f, c, f.http); err != nil {
						assert.Assert(t, errors.Is(err, f.is), "%v", err)
					}
					check(t, c) // the connection is still usable
				})
			})
		}
	}
}

// Faults below the level of messages, which exist over HTTP only. The server takes over the
// connection for each.
func TestFaultsOfHTTP(t *testing.T) {
	answer := func(r *recordedRequest) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.message.ID, text)
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for _, tt := range []struct {
		name string
		does func(conn net.Conn, r *recordedRequest)
		took time.Duration
		err  string
		is   error
	}{
		{"no answer", func(conn net.Conn, _ *recordedRequest) { drainConn(conn) }, patience,
			timedOut, context.DeadlineExceeded},
		{"the connection ends", func(net.Conn, *recordedRequest) {}, 0,
			"the connection ended before the response", streamable.ErrDisconnected},
		{"half a head", func(conn net.Conn, _ *recordedRequest) { fmt.Fprint(conn, head) }, 0,
			"the connection ended before the response", streamable.ErrDisconnected},
		{"half a head, and nothing", func(conn net.Conn, _ *recordedRequest) {
			fmt.Fprint(conn, head)
			drainConn(conn)
		}, patience, timedOut, context.DeadlineExceeded},
		{"a head that does not end", func(conn net.Conn, _ *recordedRequest) {
			fmt.Fprint(conn, head)
			for _, err := fmt.Fprint(conn, "X-Pad: "); err == nil; _,
				err = fmt.Fprint(conn, pad(1<<10)) {
			}
		}, 0, "server response headers exceeded", nil},
		{"no HTTP", func(conn net.Conn, _ *recordedRequest) {
			fmt.Fprint(conn, "SSH-2.0-OpenSSH_9.0\r\n")
		}, 0, "malformed HTTP response", nil},
		{"a body that is cut off", func(conn net.Conn, r *recordedRequest) {
			fmt.Fprintf(conn, "%sContent-Length: 500\r\n\r\n%s", head, answer(r))
		},
			0, "the connection ended before the response: unexpected EOF",
			streamable.ErrDisconnected},
		{"a body that does not come", func(conn net.Conn, _ *recordedRequest) {
			fmt.Fprintf(conn, "%sContent-Length: 500\r\n\r\n{", head)
			drainConn(conn)
		},
			patience, timedOut, context.DeadlineExceeded},
		{"less than there is", func(conn net.Conn, r *recordedRequest) {
			fmt.Fprintf(conn, "%sContent-Length: 20\r\nConnection: close\r\n\r\n%s", head,
				answer(r))
		},
			0, "the JSON body is not a response to the request", rpc.ErrProtocol},
		{"a body until the end", func(conn net.Conn, r *recordedRequest) {
			fmt.Fprintf(conn, "%s\r\n%s", head, answer(r))
		}, 0, "", nil},
		{"a claim that is too large", func(conn net.Conn, _ *recordedRequest) {
			fmt.Fprintf(conn, "%sContent-Length: 99999999999999\r\n\r\n{", head)
			drainConn(conn)
		},
			0, "over the limit of 262144", framing.ErrTooLarge},
		{"a body that does not end", func(conn net.Conn, _ *recordedRequest) {
			for _, err := fmt.Fprintf(conn, "%s\r\n", head); err == nil; _,
				err = fmt.Fprint(conn, pad(1<<10)) {
			}
		}, 0, "over the limit of 262144", framing.ErrTooLarge},
		{"chunks that do not end", func(conn net.Conn, _ *recordedRequest) {
			for _, err := fmt.Fprintf(conn, "%sTransfer-Encoding: chunked\r\n\r\n",
				head); err == nil; _, err = fmt.Fprintf(conn, "400\r\n%s\r\n", pad(1<<10)) {
			}
		}, 0, "over the limit of 262144", framing.ErrTooLarge},
		{"chunks that are none", func(conn net.Conn, _ *recordedRequest) {
			fmt.Fprintf(conn, "%sTransfer-Encoding: chunked\r\n\r\nzz\r\n", head)
		},
			0, "the connection ended before the response: invalid byte in chunk length",
			streamable.ErrDisconnected},
		{"chunks without an end", func(conn net.Conn, r *recordedRequest) {
			fmt.Fprintf(conn, "%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", head,
				len(answer(r)), answer(r))
		}, 0, "the connection ended before the response: unexpected EOF",
			streamable.ErrDisconnected},
		{"a bomb", func(conn net.Conn, _ *recordedRequest) {
			fmt.Fprintf(conn, "%sContent-Encoding: gzip\r\n\r\n%s", head, gzipBomb(4<<20))
		}, 0, "over the limit of 262144", framing.ErrTooLarge},
		{"a bomb of events", func(conn net.Conn, _ *recordedRequest) {
			fmt.Fprintf(conn,
				"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n%s",
				gzipBomb(4<<20))
		}, 0, "the connection ended before the response",
			streamable.ErrDisconnected}, // one line without a field name, which needs no memory
		{"gzip that is none", func(conn net.Conn, r *recordedRequest) {
			fmt.Fprintf(conn, "%sContent-Encoding: gzip\r\n\r\n%s", head, answer(r))
		},
			0, "the connection ended before the response: gzip: invalid header",
			streamable.ErrDisconnected},
		{"1xx, again and again", func(conn net.Conn, _ *recordedRequest) {
			for _, err := fmt.Fprint(conn, ""); err == nil; _,
				err = fmt.Fprintf(conn, "HTTP/1.1 103 Early Hints\r\nX-Pad: %s\r\n\r\n",
				pad(1<<10)) {
			}
		}, 0, "server response headers exceeded", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, era := range []func(func(http.ResponseWriter, *recordedRequest)) func(
				http.ResponseWriter, *recordedRequest){modern, withoutHandshake} {
				inBubble(t, era(once(func(w http.ResponseWriter, r *recordedRequest) {
					conn, _, err := w.(http.Hijacker).Hijack()
					assert.Check(t, err)
					defer conn.Close()
					tt.does(conn, r)
				})), func(t *testing.T, s *testServer) {
					s.o.MaxCalls = 1
					c := s.connect(t, faultOptions)
					began := time.Now()
					answer, err := call(t, c)
					assert.Equal(t, time.Since(began), tt.took)
					if tt.err == "" {
						assert.NilError(t, err)
						assert.Equal(t, answer, "mild")
					} else {
						assert.ErrorContains(t, err, tt.err)
						assert.Assert(t, tt.is == nil || errors.Is(err, tt.is), "%v", err)
					}
					check(t, c)
				})
			}
		})
	}
}

// drainConn waits until the client has disconnected.
func drainConn(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// After a connection reset, the server may have received the request.
func TestConnectionReset(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := &recordedRequest{Request: r}
		_ = json.NewDecoder(r.Body).Decode(&request.message)
		modern(func(w http.ResponseWriter, _ *recordedRequest) {
			conn, _, err := w.(http.Hijacker).Hijack()
			assert.Check(t, err)
			assert.Check(t, conn.(*net.TCPConn).SetLinger(0))
			assert.Check(t, conn.Close())
		})(w, request)
	}))
	defer site.Close()
	c, err := client.Connect(t.Context(), streamable.Dial(site.URL))
	assert.NilError(t, err)
	defer c.Close()
	_, err = call(t, c)
	assert.Assert(t, errors.Is(err, streamable.ErrDisconnected), "%v", err)
}

// A closingTransport fails calls as net/http does when the server closes an idle connection while
// the request is written to it.
type closingTransport struct{ http.RoundTripper }

func (c closingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get(mcp.HeaderMethod) == mcp.MethodCallTool {
		return nil, errors.New("http: server closed idle connection")
	}
	return c.RoundTripper.RoundTrip(req)
}

// The server may have received a request that was written as it closed the connection.
func TestIdleConnectionClosed(t *testing.T) {
	inBubble(t, modern(nil), func(t *testing.T, s *testServer) {
		s.o.Wrap = func(base http.RoundTripper) http.RoundTripper { return closingTransport{base} }
		c := s.connect(t, client.Options{})
		_, err := call(t, c)
		assert.Assert(t, errors.Is(err, streamable.ErrDisconnected), "%v", err)
	})
}

// The error of a busy server is passed on, and differs from that of a proxy.
func TestBusyServerStaysConnected(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		refusing(429, rpc.CodeBusy)(w, r)
	}), func(t *testing.T, s *testServer) {
		_, err := s.connect(t, client.Options{}).CallTool(t.Context(), "weather", nil)
		assert.ErrorIs(t, err, rpc.ErrBusy)
	})
}
