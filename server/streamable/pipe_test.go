package streamable_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A pipes is a listener whose connections are pipes without buffers, which work in a bubble of
// synctest: time stands still while anybody has anything to do, and no goroutine may be left over.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// A bubble is a fixture behind an HTTP server in a bubble.
type bubble struct {
	*fixture
	t       *testing.T
	handler *streamable.Handler
	pipes   *pipes
}

// inBubble runs a test. When it ends, the handler is closed, and nothing may be left running.
func inBubble(t *testing.T, o streamable.Options, test func(t *testing.T, b *bubble)) {
	inBubbleOf(t, &http.Server{}, o, test)
}

func inBubbleOf(t *testing.T, s *http.Server, o streamable.Options,
	test func(t *testing.T, b *bubble)) {
	synctest.Test(t, func(t *testing.T) {
		b, end := openBubble(t, s, o)
		test(t, b)
		end()
	})
}

// openBubble starts a fixture in the bubble that there is. The caller calls end.
func openBubble(t *testing.T, s *http.Server, o streamable.Options) (b *bubble, end func()) {
	o.Logger = slog.New(slog.DiscardHandler)
	w := newFixture(server.Options{})
	b = &bubble{w, t, o.New(w.server), &pipes{make(chan net.Conn), make(chan struct{})}}
	s.Handler, s.ErrorLog = b.handler, slog.NewLogLogger(slog.DiscardHandler, 0)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(b.pipes)
	}()
	return b, func() {
		b.handler.Close()
		s.Close()
		<-served
	}
}

// A wire is a client's connection, raw.
type wire struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func (b *bubble) dial() *wire {
	near, far := net.Pipe()
	b.t.Cleanup(func() { near.Close() })
	b.pipes.conns <- far
	return &wire{b.t, near, bufio.NewReader(near)}
}

func (w *wire) send(method, body string, h header) {
	w.t.Helper()
	req, err := http.NewRequest(method, "http://pipe/mcp", strings.NewReader(body))
	assert.NilError(w.t, err)
	if method == "POST" {
		req.Header.Set("Content-Type", "application/json")
	}
	h.apply(req.Header)
	assert.NilError(w.t, req.Write(w))
}

func (w *wire) answer() *answer {
	w.t.Helper()
	res, err := http.ReadResponse(w.in, nil)
	assert.NilError(w.t, err)
	return &answer{t: w.t, Response: res, in: bufio.NewReader(res.Body)}
}

func (w *wire) ask(method, body string, h header) *answer {
	w.t.Helper()
	w.send(method, body, h)
	return w.answer()
}

const modernTool = "Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: "

func toolCall(tool, text string) string {
	return modernCall("tools/call", `"name":"`+tool+`","arguments":{"text":"`+text+`"},`)
}

// connect opens a session, on a connection of its own.
func (b *bubble) connect(revision string) header {
	b.t.Helper()
	w := b.dial()
	defer w.Close()
	a := w.ask("POST", strings.Replace(initialize, "REVISION", revision, 1), "")
	assert.Equal(b.t, a.StatusCode, 200, a.text())
	_ = a.text()
	h := header("Mcp-Session-Id: " + a.Header.Get("Mcp-Session-Id"))
	assert.Equal(b.t,
		w.ask("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, h).StatusCode, 202)
	return h
}

func (b *bubble) ping(session header) int {
	b.t.Helper()
	w := b.dial()
	defer w.Close()
	a := w.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, session)
	_ = a.text()
	return a.StatusCode
}

func TestIdleSessionsExpire(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		idle, used, listening := b.connect("2025-06-18"), b.connect("2025-06-18"),
			b.connect("2025-06-18")
		w := b.dial()
		stream := w.ask("GET", "", listening).isStream()
		go func() { _, _ = io.Copy(io.Discard, stream.in) }()
		time.Sleep(20 * time.Minute)
		assert.Equal(t, b.ping(used), 200)
		time.Sleep(20 * time.Minute)
		assert.Equal(t, b.ping(idle), 404)
		assert.Equal(t, b.ping(used), 200)
		assert.Equal(t, b.ping(listening), 200)
		w.Close()
		time.Sleep(31 * time.Minute)
		assert.Equal(t, b.ping(used), 404)
		assert.Equal(t, b.ping(listening), 404)
	})
}

func TestSessionsAreBounded(t *testing.T) {
	inBubble(t, streamable.Options{MaxSessions: 2}, func(t *testing.T, b *bubble) {
		first, second := b.connect("2025-06-18"), b.connect("2025-06-18")
		w := b.dial()
		a := w.ask("POST", strings.Replace(initialize, "REVISION", "2025-06-18", 1), "")
		assert.Equal(t, a.StatusCode, 503)
		assert.Equal(t, a.Header.Get("Retry-After"), "60")
		assert.Equal(t, a.Header.Get("Mcp-Session-Id"), "")
		_ = a.text()
		time.Sleep(50 * time.Second)
		assert.Equal(t, b.ping(first), 200)
		time.Sleep(50 * time.Second)
		// in the place of the one that was idle for longer than a minute
		third := b.connect("2025-06-18")
		assert.Equal(t, b.ping(second), 404)
		assert.Equal(t, b.ping(first), 200)
		assert.Equal(t, b.ping(third), 200)
		w.Close()
	})
}

func TestQuietStreamsHaveComments(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		w := b.dial()
		listen := w.ask("POST",
			modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":true},`),
			"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen").isStream()
		v := b.dial()
		get := v.ask("GET", "", b.connect("2025-06-18")).isStream()
		for _, a := range []*answer{listen, get} {
			if a == listen {
				a.event("acknowledged")
			}
		}
		begin := time.Now()
		e, _ := listen.next()
		assert.Equal(t, e.kind, ":")
		e, _ = get.next()
		assert.Equal(t, e.kind, ":")
		assert.Equal(t, time.Since(begin), 15*time.Second)
		w.Close()
		v.Close()
	})
}

// A body that does not come holds nothing for longer than 30 s.
func TestSlowBody(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		w := b.dial()
		begin := time.Now()
		_, err := io.WriteString(w,
			"POST /mcp HTTP/1.1\r\nHost: pipe\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		assert.NilError(t, err)
		a := w.answer()
		assert.Equal(t, a.StatusCode, 408)
		_ = a.text()
		assert.Equal(t, time.Since(begin), 30*time.Second)
		_, err = w.in.ReadByte()
		assert.Equal(t, err, io.EOF)
	})
}

func TestHalfABody(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		w := b.dial()
		_, err := io.WriteString(w,
			"POST /mcp HTTP/1.1\r\nHost: pipe\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\"\r\nx\r\n")
		assert.NilError(t, err)
		a := w.answer()
		assert.Equal(t, a.StatusCode, 400)
		_ = a.text()
		w.Close()
	})
}

// A modern client that does not read what it asked for has its request cancelled, as one that has
// gone.
func TestModernSlowReader(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		w := b.dial()
		w.send("POST", strings.Replace(toolCall("flood", ""), `"_meta":{`,
			`"_meta":{"progressToken":"p",`, 1), modernTool+"flood")
		begin := time.Now()
		assert.ErrorIs(t, <-b.ended, context.Canceled)
		assert.Equal(t, time.Since(begin), 30*time.Second)
	})
}

// A legacy one holds up its own request at first; then the connection is cut, the request goes on,
// and of what it says the last is kept.
func TestLegacySlowReader(t *testing.T) {
	inBubble(t, streamable.Options{MaxEvents: 10}, func(t *testing.T, b *bubble) {
		session := b.connect("2025-11-25")
		w := b.dial()
		w.send("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"flood","arguments":{"text":"2000"},"_meta":{"progressToken":1}}}`,
			session)
		begin := time.Now()
		assert.Equal(t, <-b.begun, "2000")
		assert.Equal(t, time.Since(begin), 30*time.Second)
		synctest.Wait()
		v := b.dial()
		assert.Equal(t, v.ask("GET", "", session+"\nLast-Event-Id: 1-0").StatusCode, 400)
		v.Close()
		v = b.dial()
		a := v.ask("GET", "", session+"\nLast-Event-Id: 1-2000").isStream()
		a.event(`"id":1,"result"`)
		a.ends()
		v.Close()
	})
}

// Unread notifications are coalesced and delay no other client.
func TestSlowListener(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		session := b.connect("2025-06-18")
		w := b.dial()
		w.send("GET", "", session) // and nothing is read, not even the head
		for range 5000 {
			b.changeTools("new")
		}
		v := b.dial()
		assert.Equal(t, v.ask("POST", toolCall("echo", "x"), modernTool+"echo").StatusCode, 200)
		v.Close()
		time.Sleep(40 * time.Second)
		_, err := io.Copy(io.Discard, w)
		assert.NilError(t, err) // it was closed
		assert.Equal(t, b.ping(session), 200)
	})
}

// The limits of the server for a whole request and answer are not for what lasts.
func TestServerTimeouts(t *testing.T) {
	s := &http.Server{ReadTimeout: 2 * time.Second, WriteTimeout: 2 * time.Second}
	inBubbleOf(t, s, streamable.Options{Heartbeat: time.Hour}, func(t *testing.T, b *bubble) {
		session := b.connect("2025-06-18")
		get, listen, call, slow := b.dial(), b.dial(), b.dial(), b.dial()
		stream := get.ask("GET", "", session).isStream()
		news := listen.ask("POST",
			modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":true},`),
			"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen").isStream()
		news.event("acknowledged")
		call.send("POST",
			strings.Replace(toolCall("steps", "x"), `"_meta":{`, `"_meta":{"progressToken":"p",`,
				1), modernTool+"steps")
		a := call.answer().isStream()
		a.event("one")
		a.event("two")
		<-b.begun
		_, err := io.WriteString(slow,
			"POST /mcp HTTP/1.1\r\nHost: pipe\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		assert.NilError(t, err)
		begin := time.Now()
		refused := slow.answer()
		assert.Equal(t, refused.StatusCode, 408)
		_ = refused.text()
		assert.Equal(t, time.Since(begin), 2*time.Second)
		time.Sleep(time.Minute)
		b.changeTools("new")
		stream.event("list_changed")
		news.event("list_changed")
		b.release <- struct{}{}
		a.event("three")
		a.event(`"result"`)
		a.ends()
		for _, w := range []*wire{get, listen, call, slow} {
			w.Close()
		}
	})
}

func TestShutdownWaits(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		session := b.connect("2025-06-18")
		legacy, modern, listen, get, late := b.dial(), b.dial(), b.dial(), b.dial(), b.dial()
		legacy.send("POST",
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask"}}`, session)
		la := legacy.answer()
		asked := la.event("elicitation/create")
		assert.Assert(t, asked.id != "")
		modern.send("POST", toolCall("hold", "x"), modernTool+"hold")
		<-b.begun
		la2 := listen.ask("POST",
			modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":true},`),
			"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen").isStream()
		la2.event("acknowledged")
		stream := get.ask("GET", "", session).isStream()
		done := make(chan error)
		go func() { done <- b.handler.Shutdown(t.Context()) }()
		la2.event("cancelled")
		la2.event(`"id":1,"result"`)
		la2.ends()
		synctest.Wait()
		refused := late.ask("POST", toolCall("echo", "x"), modernTool+"echo")
		assert.Equal(t, refused.StatusCode, 503)
		assert.Equal(t, refused.Header.Get("Retry-After"), "5")
		_ = refused.text()
		refused = late.ask("POST", strings.Replace(initialize, "REVISION", "2025-06-18", 1), "")
		assert.Equal(t, refused.StatusCode, 503)
		_ = refused.text()
		// What runs goes on, and gets the answers that it waits for.
		assert.Equal(t, late.ask("POST", `{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`,
			session).StatusCode, 202)
		la.event(`"id":7,"result"`)
		la.ends()
		b.release <- struct{}{}
		assert.Equal(t, modern.answer().StatusCode, 200)
		assert.NilError(t, <-done)
		stream.ends()
		for _, w := range []*wire{legacy, modern, listen, get, late} {
			w.Close()
		}
	})
}

// A handler that is closed says so to those whose requests it was answering: their sessions, which
// may be known to others, have not ended.
func TestCloseIsNoEndOfSessions(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		b.offer("stubborn", func(context.Context) (*mcp.CallToolResult, error) {
			b.begun <- "stubborn"
			<-b.release
			return &mcp.CallToolResult{}, nil
		})
		w := b.dial()
		w.send("POST",
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"stubborn"}}`,
			b.connect("2025-06-18"))
		<-b.begun
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			b.handler.Close()
		}()
		a := w.answer()
		assert.Equal(t, a.StatusCode, 503)
		assert.Equal(t, a.Header.Get("Retry-After"), "5")
		_ = a.text()
		b.release <- struct{}{}
		<-closed
		w.Close()
	})
}

func TestShutdownGivesUp(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		modern, legacy := b.dial(), b.dial()
		modern.send("POST", toolCall("hold", "x"), modernTool+"hold")
		<-b.begun
		legacy.send("POST",
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hold","arguments":{"text":"x"}}}`,
			b.connect("2025-06-18"))
		<-b.begun
		answers := make(chan *answer, 2)
		go func() { answers <- modern.answer() }()
		go func() { answers <- legacy.answer() }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorContains(t, b.handler.Shutdown(ctx), "deadline exceeded")
		assert.ErrorIs(t, <-b.ended, streamable.ErrClosed)
		assert.ErrorIs(t, <-b.ended, streamable.ErrClosed)
		for range 2 {
			a := <-answers
			assert.Equal(t, a.StatusCode, 503)
			assert.Equal(t, a.Header.Get("Retry-After"), "5")
			assert.Assert(t, cmp.Contains(a.text(), `"code":-31999`))
		}
		modern.Close()
		legacy.Close()
	})
}
