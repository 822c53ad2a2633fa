package streamable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// offer adds a tool in MCP's own terms.
func (w *fixture) offer(name string, call func(context.Context) (*mcp.CallToolResult, error)) {
	err := w.server.AddRawTool(
		server.RawTool{Tool: mcp.Tool{Name: name},
			Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				return call(ctx)
			}})
	if err != nil {
		panic(err)
	}
}

// A log is what was logged, safe for concurrent use.
type lockedLog struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *lockedLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

// A handler that panics is answered as one that fails, and leaves a trace in the log only. One that
// ends its goroutine affects no other request.
func TestHandlersThatPanicOrExit(t *testing.T) {
	var log lockedLog
	s := startWorld(t, streamable.Options{},
		server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	s.offer("explode", func(context.Context) (*mcp.CallToolResult, error) { panic("secret ashes") })
	s.offer("exit", func(context.Context) (*mcp.CallToolResult, error) {
		runtime.Goexit()
		return nil, nil
	})
	const failed = `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}`
	s.tool("explode", `{}`, "").wants(200, failed)
	c := s.connect("2025-06-18", "")
	c.call("1", "explode", "", "").wants(200, failed)
	assert.Equal(t, strings.Count(log.text(), "a handler panicked"), 2)
	assert.Assert(t, strings.Contains(log.text(), "secret ashes"))
	c.call("1", "exit", "", "").isStream().ends()
	assert.Equal(t, c.call("1", "echo", "x", "").StatusCode, 200) // the id is free again
	req, err := http.NewRequest("POST", s.url, strings.NewReader(toolCall("exit", "")))
	assert.NilError(t, err)
	header("Content-Type: application/json\n" + modernTool + "exit").apply(req.Header)
	_, err = s.client.Do(req)
	assert.Assert(t, err != nil)
	assert.Equal(t, s.tool("echo", `{"text":"x"}`, "").StatusCode, 200)
}

// A modern client is never called, and what is said behind an answer goes nowhere.
func TestNotifyAfterTheResponse(t *testing.T) {
	s := start(t, streamable.Options{})
	kept := make(chan context.Context, 1)
	s.offer("keep", func(ctx context.Context) (*mcp.CallToolResult, error) {
		kept <- ctx
		return &mcp.CallToolResult{}, nil
	})
	body := strings.Replace(toolCall("keep", ""), `"_meta":{`,
		`"_meta":{"progressToken":"p","io.modelcontextprotocol/logLevel":"debug",`, 1)
	a := s.do(t.Context(), "POST", s.url, body, modernTool+"keep")
	assert.Assert(t, strings.Contains(a.text(), `"result"`))
	ctx := <-kept
	assert.ErrorIs(t, ctx.Err(), context.Canceled)
	server.Progress(ctx, 1, 1, "late")
	server.Logger(ctx).Info("late")
	assert.Equal(t, streamable.CloseStream(ctx, time.Second), false)
	assert.Equal(t, s.tool("echo", `{"text":"x"}`, "").StatusCode, 200)

	c := s.connect("2025-11-25", "")
	assert.Equal(t, c.call("1", "keep", "", "").StatusCode, 200)
	ctx = <-kept
	server.Progress(ctx, 1, 1, "late")
	assert.Equal(t, streamable.CloseStream(ctx, time.Second), false)
	assert.Equal(t, streamable.CloseStream(t.Context(), time.Second), false)
}

// All ids of a session's events differ.
func TestEventIDsMustBeUnique(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-11-25", "")
	seen := map[string]bool{}
	for range 5 {
		a := c.call("1", "echo", "x", "-Accept\nAccept: text/event-stream").isStream()
		for e, ok := a.next(); ok; e, ok = a.next() {
			assert.Assert(t, e.id != "" && !seen[e.id])
			seen[e.id] = true
		}
	}
	assert.Equal(t, len(seen), 10)
}

// A call of the client ends with its session, and fails at once where the client has gone without
// knowing of anything to come back for.
func TestCallsEndWithTheClient(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		failed := make(chan error, 1)
		b.offer("asks", func(ctx context.Context) (*mcp.CallToolResult, error) {
			b.begun <- ""
			<-b.release
			_, err := server.Elicit(ctx, "k",
				mcp.ElicitParams{Message: "?",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
			failed <- err
			return nil, err
		})
		const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"asks"}}`
		session := b.connect("2025-06-18")
		w := b.dial()
		w.send("POST", call, session)
		<-b.begun
		w.Close()
		synctest.Wait()
		b.release <- struct{}{}
		assert.ErrorContains(t, <-failed, "the client has disconnected")
		synctest.Wait() // until the id is free again

		w, v := b.dial(), b.dial()
		w.send("POST", call, session)
		<-b.begun
		b.release <- struct{}{}
		a := w.answer().isStream()
		a.event("elicitation/create")
		assert.Equal(t, v.ask("DELETE", "", session).StatusCode, 204)
		assert.ErrorContains(t, <-failed, "the client deleted it")
		a.ends()
		w.Close()
		v.Close()
	})
}

// Close does not wait for who does not read.
func TestCloseBesideSlowReaders(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		session := b.connect("2025-11-25")
		modern, legacy, get := b.dial(), b.dial(), b.dial()
		modern.send("POST",
			strings.Replace(toolCall("flood", ""), `"_meta":{`, `"_meta":{"progressToken":"p",`, 1),
			modernTool+"flood")
		legacy.send("POST",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"flood","arguments":{"text":""},"_meta":{"progressToken":1}}}`,
			session)
		get.send("GET", "", session)
		synctest.Wait()
		begin := time.Now()
		b.handler.Close()
		assert.Assert(t, time.Since(begin) <= 2*time.Second, "%v", time.Since(begin))
		for _, w := range []*wire{modern, legacy, get} {
			w.Close()
		}
	})
}

// Half a request, a client that hangs up anywhere, and garbage leave nothing behind.
func TestClientsThatDisconnect(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		session := b.connect("2025-11-25")
		whole := "POST /mcp HTTP/1.1\r\nHost: pipe\r\nContent-Type: application/json\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: steps\r\n" +
			"Content-Length: 1000\r\n\r\n" + toolCall("steps", "x")
		for _, text := range []string{"", "P", whole[:60], whole, "\x00\x01\r\n\r\n"} {
			w := b.dial()
			go func() { _, _ = io.Copy(io.Discard, w) }()
			_, _ = io.WriteString(w, text)
			w.Close()
		}
		for _, h := range []header{session, session + "\nLast-Event-Id: 1-0"} {
			w := b.dial()
			w.send("GET", "", h)
			w.Close()
		}
		w := b.dial()
		w.send("POST", modernCall("subscriptions/listen",
			`"notifications":{"toolsListChanged":true},`),
			"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen")
		w.Close()
		synctest.Wait()
		assert.Equal(t, b.ping(session), 200)
	})
}

func TestBatchWithADuplicateAndACancellation(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-03-26", "")
	answers := make(chan *answer, 1)
	go func() {
		answers <- c.post(
			`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold","arguments":{"text":"x"}}},{"jsonrpc":"2.0","id":"held","method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
			"")
	}()
	<-s.begun
	go func() { answers <- c.call(`"held"`, "hold", "x", "") }()
	<-s.begun
	c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "")
	(<-answers).wants(200,
		`[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a request with the id \"held\" is in flight already"}},{"jsonrpc":"2.0","id":2,"result":{}}]`)
	s.release <- struct{}{}
	assert.Equal(t, (<-answers).StatusCode, 200)
	assert.Equal(t, c.post(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"Mcp-Protocol-Version: x").StatusCode, 400)
	assert.Equal(t, s.do(t.Context(), "POST", s.url, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"").StatusCode, 400)
}

// The server's hooks see what goes over HTTP as they see what goes over streams.
func TestHooks(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	note := func(parts ...string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, strings.Join(parts, " "))
	}
	direction := map[rpc.Direction]string{rpc.Inbound: "<", rpc.Outbound: ">"}
	s := startWorld(t, streamable.Options{}, server.Options{Hooks: rpc.Hooks{
		Frame: func(_ context.Context, d rpc.Direction, frame []byte) {
			note(direction[d], string(frame[:min(len(frame), 40)]))
		},
		Call: func(e rpc.CallEvent) {
			if e.End {
				note(direction[e.Direction], "ended", e.Method, e.ID.String())
				return
			}
			note(direction[e.Direction], "began", e.Method, e.ID.String())
		},
		Stray:   func(_ []byte, reason string) { note("stray", reason) },
		OtherID: func([]byte) { note("other id") },
		Panic: func(method string, value any,
			_ []byte) {
			note("panic", method, fmt.Sprint(value))
		},
	}})
	s.offer("explode", func(context.Context) (*mcp.CallToolResult, error) { panic("ashes") })
	check := func(want ...string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		assert.DeepEqual(t, seen, want)
		seen = nil
	}
	_ = s.tool("explode", `{}`, "").text()
	check(`< {"jsonrpc":"2.0","id":1,"method":"tools/`, "< began tools/call 1",
		"< ended tools/call 1", "panic tools/call ashes",
		`> {"jsonrpc":"2.0","id":1,"error":{"code":`)
	_ = s.modern("tools/list", "", "", "-Accept\nAccept: text/event-stream").text()
	check(`< {"jsonrpc":"2.0","id":1,"method":"tools/`, "< began tools/list 1",
		"< ended tools/list 1", `> {"jsonrpc":"2.0","id":1,"result":{"tools`)
	_ = s.do(t.Context(), "POST", s.url, "{", "").text()
	check("< {", "stray invalid JSON at byte 1: expected a member name in quotation marks",
		`> {"jsonrpc":"2.0","id":null,"error":{"cod`)

	c := s.connect("2025-06-18", "")
	check(`< {"jsonrpc":"2.0","id":"i","method":"init`, `< began initialize "i"`,
		`< ended initialize "i"`, `> {"jsonrpc":"2.0","id":"i","result":{"pro`,
		`< {"jsonrpc":"2.0","method":"notifications`, "< began notifications/initialized null",
		"< ended notifications/initialized null")
	a := c.call("5", "ask", "", "").isStream()
	a.event("elicitation/create")
	_ = c.post(`{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`, "").text()
	a.event("decline")
	a.ends()
	_ = c.post(`{"jsonrpc":"2.0","id":1,"result":{}}`, "").text()
	check(`< {"jsonrpc":"2.0","id":5,"method":"tools/`, "< began tools/call 5",
		"> began elicitation/create 1", `> {"jsonrpc":"2.0","id":1,"method":"elicit`,
		`< {"jsonrpc":"2.0","id":1,"result":{"actio`, "> ended elicitation/create 1",
		"< ended tools/call 5", `> {"jsonrpc":"2.0","id":5,"result":{"conte`,
		`< {"jsonrpc":"2.0","id":1,"result":{}}`, "stray a response that matches no call in flight")

	// A client may write its answer's id 2 as "2".
	a = c.call("6", "ask", "", "").isStream()
	a.event("elicitation/create")
	_ = c.post(`{"jsonrpc":"2.0","id":"2","result":{"action":"decline"}}`, "").text()
	a.event("decline")
	a.ends()
	check(`< {"jsonrpc":"2.0","id":6,"method":"tools/`, "< began tools/call 6",
		"> began elicitation/create 2", `> {"jsonrpc":"2.0","id":2,"method":"elicit`,
		`< {"jsonrpc":"2.0","id":"2","result":{"act`, "other id", "> ended elicitation/create 2",
		"< ended tools/call 6", `> {"jsonrpc":"2.0","id":6,"result":{"conte`)
}
