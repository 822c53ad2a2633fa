package streamable_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
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
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A pipeListener is a network of unbuffered pipes, which work in a synctest bubble: time advances
// only when all goroutines are blocked, and no goroutine may be left.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	open   atomic.Int32 // open client ends

	mu     sync.Mutex
	dialed []string // the addresses
	ends   []*pipeEnd
}

// die makes all connections dead: they accept bytes and pass nothing on.
func (p *pipeListener) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.ends {
		e.dead.Store(true)
	}
}

// A pipeEnd is the client's end of a connection.
type pipeEnd struct {
	net.Conn
	once  sync.Once
	dead  atomic.Bool
	pipes *pipeListener
}

func (e *pipeEnd) Write(text []byte) (int, error) {
	if e.dead.Load() {
		return len(text), nil
	}
	return e.Conn.Write(text)
}

func (e *pipeEnd) Close() error {
	e.once.Do(func() { e.pipes.open.Add(-1) })
	return e.Conn.Close()
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipeListener) Close() error   { close(p.closed); return nil }
func (p *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipeListener) dial(ctx context.Context, _, address string) (net.Conn, error) {
	p.mu.Lock()
	p.dialed = append(p.dialed, address)
	p.mu.Unlock()
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		p.open.Add(1)
		e := &pipeEnd{Conn: near, pipes: p}
		p.mu.Lock()
		p.ends = append(p.ends, e)
		p.mu.Unlock()
		return e, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A testServer is a scripted HTTP server that records its requests.
type testServer struct {
	pipes *pipeListener
	http  *http.Client
	url   string
	o     streamable.Options
	log   strings.Builder // of the clients

	mu   sync.Mutex
	seen []*recordedRequest
}

// Write receives the log of the clients.
func (s *testServer) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(text)
}

func (s *testServer) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// A recordedRequest is a request that the server has received.
type recordedRequest struct {
	*http.Request
	body    string
	message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
}

// summary describes a request: method, session, revision and Last-Event-ID.
func (s *recordedRequest) summary() string {
	text := s.Method
	if s.message.Method != "" {
		text += " " + s.message.Method
	} else if s.body != "" {
		text += " response"
	}
	for _, name := range []string{"Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id"} {
		if value := s.Header.Get(name); value != "" {
			text += " " + strings.ToLower(strings.TrimPrefix(name, "Mcp-")) + "=" + value
		}
	}
	return text
}

// lines returns the summaries of all requests, once all goroutines are blocked.
func (s *testServer) lines() (lines []string) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range s.seen {
		lines = append(lines, request.summary())
	}
	return lines
}

// last returns the last request of a method.
func (s *testServer) last(t *testing.T, method string) *recordedRequest {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range slices.Backward(s.seen) {
		if request.message.Method == method {
			return request
		}
	}
	t.Fatalf("no %s has come", method)
	return nil
}

// count returns the number of requests with that summary.
func (s *testServer) count(line string) (n int) {
	for _, l := range s.lines() {
		if strings.HasPrefix(l, line) {
			n++
		}
	}
	return n
}

// inBubble runs a test with a server in a synctest bubble. When it ends, no goroutine may be
// running and no connection open.
func inBubble(t *testing.T, answer func(w http.ResponseWriter, r *recordedRequest),
	test func(t *testing.T, s *testServer)) {
	synctest.Test(t, func(t *testing.T) {
		s := &testServer{
			pipes: &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})},
			url:   "http://pipe/mcp?key=secret"}
		transport := &http.Transport{DialContext: s.pipes.dial}
		s.http = &http.Client{Transport: transport}
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			request := &recordedRequest{Request: r, body: string(body)}
			_ = json.Unmarshal(body, &request.message)
			s.mu.Lock()
			s.seen = append(s.seen, request)
			s.mu.Unlock()
			answer(w, request)
		})
		server := &http.Server{Handler: handler,
			ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(s.pipes)
		}()
		t.Cleanup(func() { // after the clients are closed
			transport.CloseIdleConnections()
			synctest.Wait()
			assert.Equal(t, s.pipes.open.Load(), int32(0), "connections are open")
			server.Close()
			<-served
		})
		test(t, s)
	})
}

// connect returns a client of the server, which is closed when the test ends.
func (s *testServer) connect(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := s.tryConnect(t, o)
	assert.NilError(t, err)
	return c
}

func (s *testServer) tryConnect(t *testing.T, o client.Options) (*client.Client, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(s, nil))
	}
	transport := s.o
	transport.HTTP = s.http
	c, err := o.Connect(t.Context(), transport.Dial(s.url))
	if err == nil {
		t.Cleanup(func() {
			assert.Check(t, c.Close())
			<-c.Done()
		})
	}
	return c, err
}

// call calls the tool "weather".
func call(t *testing.T, c *client.Client, o ...client.CallOption) (string, error) {
	result, err := c.CallTool(t.Context(), "weather", nil, o...)
	if err != nil {
		return "", err
	}
	return result.Content[0].(*mcp.TextContent).Text, nil
}

// check calls the tool "weather", and requires success.
func check(t *testing.T, c *client.Client) {
	t.Helper()
	answer, err := call(t, c)
	assert.NilError(t, err)
	assert.Equal(t, answer, "mild")
}

const (
	discovered  = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"site","version":"1"}}}`
	initialized = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"site","version":"1"}}`
	text        = `{"resultType":"complete","content":[{"type":"text","text":"mild"}]}`
)

// answerJSON responds to a request with JSON.
func answerJSON(w http.ResponseWriter, r *recordedRequest, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.message.ID, result)
}

// refuse responds with a JSON-RPC error.
func refuse(w http.ResponseWriter, status int, id string, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, message)
}

// A stream is a response that is an event stream.
type stream struct {
	http.ResponseWriter
	r *recordedRequest
}

func events(w http.ResponseWriter, r *recordedRequest) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	s := &stream{w, r}
	s.flush()
	return s
}

func (s *stream) flush() { s.ResponseWriter.(http.Flusher).Flush() }

// raw writes text to the stream.
func (s *stream) raw(format string, args ...any) {
	fmt.Fprintf(s, format, args...)
	s.flush()
}

func (s *stream) result(result string) {
	s.raw("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", s.r.message.ID, result)
}

func (s *stream) notify(method, params string) {
	s.raw("data: {\"jsonrpc\":\"2.0\",\"method\":%q,\"params\":%s}\n\n", method, params)
}

// hold blocks until the client closes the stream.
func (s *stream) hold() { <-s.r.Context().Done() }

// blockRequest blocks until the client disconnects.
func blockRequest(_ http.ResponseWriter, r *recordedRequest) { <-r.Context().Done() }

// wait sleeps, and reports false if the client has disconnected.
func wait(r *recordedRequest, d time.Duration) bool {
	select {
	case <-r.Context().Done():
		return false
	case <-time.After(d):
		return true
	}
}

// respondWith responds with a status, Content-Type and body.
func respondWith(status int, kind, body string) func(http.ResponseWriter, *recordedRequest) {
	return func(w http.ResponseWriter, _ *recordedRequest) {
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// answerCall responds to any call.
func answerCall(w http.ResponseWriter, r *recordedRequest) { answerJSON(w, r, text) }

// modern is a modern server that handles calls with call.
func modern(call func(w http.ResponseWriter, r *recordedRequest)) func(http.ResponseWriter,
	*recordedRequest) {
	return func(w http.ResponseWriter, r *recordedRequest) {
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.message.Method == "server/discover":
			answerJSON(w, r, discovered)
		default:
			call(w, r)
		}
	}
}

// legacy is a legacy server with the session "s1" that handles calls and GETs with these functions.
func legacy(call, get func(w http.ResponseWriter, r *recordedRequest)) func(http.ResponseWriter,
	*recordedRequest) {
	return func(w http.ResponseWriter, r *recordedRequest) {
		switch {
		case r.Method == http.MethodDelete:
		case r.Method == http.MethodGet && get == nil:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.Method == http.MethodGet:
			get(w, r)
		case r.message.Method == "server/discover":
			refuse(w, http.StatusBadRequest, "null", -32000, "Bad Request: no session")
		case r.message.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			answerJSON(w, r, initialized)
		case r.message.ID == nil || r.message.Method == "":
			w.WriteHeader(http.StatusAccepted)
		default:
			call(w, r)
		}
	}
}

func contains(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text)
}

func limitFrame(n int) rpc.Limits { return rpc.Limits{Limits: framing.Limits{MaxFrame: n}} }

func rawJSON(text string) json.RawMessage { return json.RawMessage(text) }

func pad(n int) string { return strings.Repeat("x", n) }

// gzipBomb returns n bytes, compressed.
func gzipBomb(n int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range n >> 20 {
		_, _ = z.Write(make([]byte, 1<<20))
	}
	_ = z.Close()
	return b.Bytes()
}
