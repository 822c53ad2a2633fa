package streamable_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

const benchConnections = 32

// benchRequest returns an HTTP request for a modern tools/call with a text of size bytes.
func benchRequest(host string, size int) []byte {
	body := modernCall("tools/call",
		`"name":"echo","arguments":{"text":"`+strings.Repeat("x", size)+`"},`)
	return fmt.Appendf(nil,
		"POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: %s\r\nMcp-Protocol-Version: 2026-07-28\r\n"+
			"Mcp-Method: tools/call\r\nMcp-Name: echo\r\nContent-Length: %d\r\n\r\n%s", host,
		bothKinds, len(body), body)
}

// load sends n requests over 32 connections, each of which waits for its answer, and returns how
// long that took.
func load(b *testing.B, address string, request []byte, n int) time.Duration {
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range benchConnections {
		wg.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			for range (n + i) / benchConnections {
				if _, err := conn.Write(request); err != nil {
					b.Error(err)
					return
				}
				if err := skipAnswer(in); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(begin)
}

func skipAnswer(in *bufio.Reader) error {
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if rest, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(rest)))
		}
		if bytes.HasPrefix(line, []byte("HTTP/1.1 ")) &&
			!bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("%s", line)
		}
		if len(line) == 2 {
			break
		}
	}
	_, err := in.Discard(length)
	return err
}

// BenchmarkModernCall compares a modern tools/call of 64 bytes with a bare handler of net/http that
// reads the same request and answers with as many bytes, in turns. It reports calls per second and
// their ratio.
func BenchmarkModernCall(b *testing.B) {
	h := streamable.Options{}.New(newFixture(server.Options{}).server)
	defer h.Close()
	ours := httptest.NewServer(h)
	defer ours.Close()
	text := bytes.Repeat([]byte{'x'}, 430)
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			b.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}))
	defer bare.Close()
	var took [2]time.Duration
	var calls int
	b.ReportAllocs()
	for b.Loop() {
		const n = 5000
		for i, s := range []*httptest.Server{ours, bare} {
			address := s.Listener.Addr().String()
			took[i] += load(b, address, benchRequest(address, 64), n)
		}
		calls += n
	}
	ns := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(calls) }
	b.ReportMetric(1e9/ns(took[0]), "calls/s")
	b.ReportMetric(1e9/ns(took[1]), "bare/s")
	b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
	b.ReportMetric(0, "ns/op")
}

// handlerCalls are calls that a handler answers without a network and without net/http, and what
// one of them may allocate: up to half more than it does, but a small one of a session no more than
// when there was no store.
var handlerCalls = []struct {
	name     string
	revision string // of a session; "": modern
	size     int    // bytes of the text
	allocs   float64
	bytes    uint64
}{
	{"modern 64 B", "", 64, 20, 2500},
	{"modern 64 KiB", "", 64 << 10, 34, 250_000},
	{"legacy 64 B", "2025-11-25", 64, 22, 3000},
	{"legacy 64 KiB", "2025-11-25", 64 << 10, 42, 250_000},
}

// newHandlerCall returns a function that makes one call of a handler.
func newHandlerCall(t testing.TB, revision string, size int) func() {
	h := streamable.Options{}.New(newFixture(server.Options{}).server)
	t.Cleanup(h.Close)
	w := &sink{header: http.Header{}}
	raw := benchRequest("127.0.0.1:80", size)
	if revision != "" {
		raw = legacyBenchRequest(t, "127.0.0.1:80", size, func(raw []byte) string {
			h.ServeHTTP(w, readRequest(t, raw))
			return w.header.Get("Mcp-Session-Id")
		}, revision)
	}
	req := readRequest(t, raw)
	text, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	in := bytes.NewReader(text)
	req.Body = io.NopCloser(in)
	return func() {
		in.Reset(text)
		clear(w.header)
		h.ServeHTTP(w, req)
		if w.status != 200 {
			t.Fatal(w.status)
		}
	}
}

func readRequest(t testing.TB, raw []byte) *http.Request {
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return req.WithContext(context.WithValue(t.Context(), http.ServerContextKey, new(http.Server)))
}

// legacyBenchRequest returns an HTTP request for a tools/call in a new session. post sends a
// request and returns the session id of the response.
func legacyBenchRequest(t testing.TB, host string, size int, post func(raw []byte) string,
	revision string) []byte {
	request := func(id, body string) []byte {
		return fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\n"+
			"Content-Type: application/json\r\nAccept: %s\r\n%sContent-Length: %d\r\n\r\n%s",
			host, bothKinds, id, len(body), body)
	}
	id := post(request("", strings.Replace(initialize, "REVISION", revision, 1)))
	if id == "" {
		t.Fatal("no session")
	}
	id = "Mcp-Session-Id: " + id + "\r\n"
	post(request(id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return request(id, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",`+
		`"arguments":{"text":"`+strings.Repeat("x", size)+`"}}}`)
}

// BenchmarkServeHTTP is the handler alone.
func BenchmarkServeHTTP(b *testing.B) {
	for _, c := range handlerCalls {
		b.Run(c.name, func(b *testing.B) {
			call := newHandlerCall(b, c.revision, c.size)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}

// A sink is a ResponseWriter that drops what is written.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header              { return s.header }
func (s *sink) Write(p []byte) (int, error)      { return len(p), nil }
func (s *sink) WriteHeader(status int)           { s.status = status }
func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkIdleListeners reports what an open subscription takes of memory, both ends of the
// connection aside from the client's goroutine-free socket.
func BenchmarkIdleListeners(b *testing.B) {
	const listeners = 2000
	w := newFixture(server.Options{})
	h := streamable.Options{}.New(w.server)
	defer h.Close()
	s := httptest.NewServer(h)
	defer s.Close()
	address := s.Listener.Addr().String()
	body := modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":true},`)
	request := fmt.Appendf(nil,
		"POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: %s\r\nMcp-Protocol-Version: 2026-07-28\r\n"+
			"Mcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s", address, bothKinds,
		len(body), body)
	for b.Loop() {
		before := inUse()
		conns := make([]net.Conn, listeners)
		buf := make([]byte, 4<<10)
		for i := range conns {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				b.Fatal(err)
			}
			conns[i] = conn
			if _, err := conn.Write(request); err != nil {
				b.Fatal(err)
			}
			for got := ""; !strings.Contains(got, "acknowledged"); {
				n, err := conn.Read(buf)
				if err != nil {
					b.Fatal(err, got)
				}
				got += string(buf[:n])
			}
		}
		b.ReportMetric(float64(inUse()-before)/listeners/1024, "KB/stream")
		for _, conn := range conns {
			conn.Close()
		}
	}
	b.ReportMetric(0, "ns/op")
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
