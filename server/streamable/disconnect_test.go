package streamable_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// Defect G17 of other implementations: handlers of a client that is gone run on.
func TestG17HandlersEndWithTheirClient(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		began, ended := make(chan struct{}), make(chan error)
		wait := func(ctx context.Context) error {
			began <- struct{}{}
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return ctx.Err()
		}
		b.offer("wait", func(ctx context.Context) (*mcp.CallToolResult, error) {
			return nil, wait(ctx)
		})
		err := errors.Join(
			b.server.AddResource(server.Resource{Resource: mcp.Resource{URI: "x:r", Name: "r"},
				Read: func(ctx context.Context, _ string) (*mcp.ReadResourceResult,
					error) {
					return nil, wait(ctx)
				}}),
			b.server.AddPrompt(server.Prompt{Prompt: mcp.Prompt{Name: "p"},
				Get: func(ctx context.Context, _ map[string]string) (*mcp.GetPromptResult,
					error) {
					return nil, wait(ctx)
				},
				Complete: func(ctx context.Context, _, _ string,
					_ map[string]string) (mcp.Completion, error) {
					return mcp.Completion{}, wait(ctx)
				}}))
		assert.NilError(t, err)
		for method, params := range map[string]string{
			"tools/call": `"name":"wait"`, "resources/read": `"uri":"x:r"`,
			"prompts/get":         `"name":"p"`,
			"completion/complete": `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}`,
		} {
			_, name, _ := strings.Cut(params, ":")
			w := b.dial()
			w.send("POST", modernCall(method, params+","),
				header("Mcp-Protocol-Version: 2026-07-28\nMcp-Method: "+method+"\nMcp-Name: "+
					strings.Trim(name, `"`)))
			<-began
			w.Close()
			assert.ErrorIs(t, <-ended, context.Canceled)
			// A legacy client may come back; its handlers end with its session.
			session := b.connect("2025-11-25")
			v, u := b.dial(), b.dial()
			v.send("POST", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`}}`,
				session)
			<-began
			v.Close()
			synctest.Wait()
			assert.Equal(t, u.ask("DELETE", "", session).StatusCode, 204)
			assert.ErrorContains(t, <-ended, "the client deleted it")
			u.Close()
		}
	})
}

// Defect M3 of other implementations: clients cancel the requests of others that have the same id.
func TestM3ClientsCancelTheirOwnRequests(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true})
	victim, attacker := s.connect("2025-11-25", ""), s.connect("2025-11-25", "")
	stream, post := s.openSSE("")
	_, attack := s.openSSE("")
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold","arguments":{"text":"x"}}}`
	answers := make(chan string, 2)
	go func() { answers <- s.tool("hold", `{"text":"x"}`, "").text() }()
	go func() { answers <- victim.post(call, "-Accept\nAccept: application/json").text() }()
	assert.Equal(t, post(call).StatusCode, 202)
	for range 3 {
		<-s.begun
	}
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"mine"`
	for _, a := range []*answer{
		attacker.post(cancel+"}}", ""), attack(cancel + "}}"),
		s.do(t.Context(), "POST", s.url, cancel+","+modernMeta+"}}",
			"Mcp-Protocol-Version: 2026-07-28"),
		s.do(t.Context(), "POST", s.url, cancel+","+modernMeta+"}}",
			header("Mcp-Protocol-Version: 2026-07-28\nMcp-Session-Id: "+victim.id)),
	} {
		assert.Equal(t, a.StatusCode, 202)
	}
	assert.Equal(t, s.do(t.Context(), "POST", s.url, cancel+"}}", "").StatusCode, 400)
	assert.Equal(t, s.do(t.Context(), "POST", s.url, cancel+"}}", "Mcp-Session-Id: x").StatusCode,
		404)
	assert.Equal(t, len(s.ended), 0)
	close(s.release)
	for range 2 {
		assert.Assert(t, strings.Contains(<-answers, `"id":1,"result"`))
	}
	stream.event(`"id":1,"result"`)
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

// The end of a session ends what waits for a GET stream, whatever its own context.
func TestEndOfASessionEndsWhatWaitsForAStream(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		conns := make(chan *server.Conn, 1)
		assert.NilError(t, b.server.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "conn"},
			Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				conns <- server.ConnFrom(ctx)
				return new(mcp.CallToolResult), nil
			}}))
		w := b.dial()
		defer w.Close()
		began := w.ask("POST", strings.NewReplacer("REVISION", "2025-11-25",
			`"elicitation"`, `"roots"`).Replace(initialize), "")
		_ = began.text()
		session := header("Mcp-Session-Id: " + began.Header.Get("Mcp-Session-Id"))
		assert.Equal(t, w.ask("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			session).StatusCode, 202)
		_ = w.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"conn"}}`,
			session).text()
		ended := make(chan error)
		go func() {
			_, err := (<-conns).Roots(context.Background())
			ended <- err
		}()
		synctest.Wait()
		v := b.dial()
		defer v.Close()
		assert.Equal(t, v.ask("DELETE", "", session).StatusCode, 204)
		assert.Assert(t, <-ended != nil)
	})
}
