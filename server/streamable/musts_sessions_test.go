package streamable_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// What the specification says that a server MUST do over HTTP for legacy clients, or for all, or
// not, and no other test here is about.

func TestEverythingForASessionThatEndedMustBe404(t *testing.T) {
	inBubble(t, streamable.Options{MaxSessions: 1}, func(t *testing.T, b *bubble) {
		gone := func(session header) {
			t.Helper()
			w := b.dial()
			defer w.Close()
			for _, m := range []struct{ method, body string }{
				{"POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
				{"POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
				{"POST", `{"jsonrpc":"2.0","id":1,"result":{}}`},
				{"POST", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`},
				{"POST", strings.Replace(initialize, "REVISION", "2025-03-26", 1)},
				{"GET", ""},
				{"DELETE", ""},
			} {
				a := w.ask(m.method, m.body, session)
				assert.Equal(t, a.StatusCode, 404, m.body)
				assert.Equal(t, a.Header.Get("Mcp-Session-Id"), "")
				_ = a.text()
			}
			a := w.ask("GET", "", session+"\nLast-Event-Id: 1-1")
			assert.Equal(t, a.StatusCode, 404)
			_ = a.text()
		}
		gone("Mcp-Session-Id: never")
		deleted := b.connect("2025-03-26")
		w := b.dial()
		assert.Equal(t, w.ask("DELETE", "", deleted).StatusCode, 204)
		w.Close()
		gone(deleted)
		expired := b.connect("2025-03-26")
		time.Sleep(31 * time.Minute)
		gone(expired)
		displaced := b.connect("2025-03-26")
		time.Sleep(2 * time.Minute)
		b.connect("2025-03-26")
		gone(displaced)
	})
}

func TestEventIDsMustBeUniqueAmongReplicas(t *testing.T) {
	const accept = "-Accept\nAccept: text/event-stream"
	s := startWorld(t, streamable.Options{Replicas: true}, server.Options{StateKey: []byte(key)})
	other := startWorld(t, streamable.Options{Replicas: true},
		server.Options{StateKey: []byte(key)})
	c := s.connect("2025-11-25", "")
	seen := map[string]bool{}
	for _, at := range []*site{s, other} {
		for range 3 {
			a := (&client{at, c.id}).call("1", "echo", "x", accept).isStream()
			for e, ok := a.next(); ok; e, ok = a.next() {
				assert.Assert(t, e.id != "" && !seen[e.id], e.id)
				seen[e.id] = true
			}
		}
	}
	assert.Equal(t, len(seen), 12)
	// So what the one has said cannot be taken for what the other has.
	a := c.call("2", "echo", "mine", accept).isStream()
	first, _ := a.next()
	assert.Equal(t, (&client{other, c.id}).get(header("Last-Event-Id: "+first.id)).StatusCode, 400)
	c.get(header("Last-Event-Id: " + first.id)).isStream().event("mine")

	inBubble(t, streamable.Options{Replicas: true}, func(t *testing.T, b *bubble) {
		session := b.connect("2025-11-25")
		seen := map[string]bool{}
		for range 3 {
			w := b.dial()
			a := w.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, session+"\n"+
				accept).isStream()
			e, _ := a.next()
			assert.Assert(t, e.id != "" && !seen[e.id], e.id)
			seen[e.id] = true
			w.Close()
			time.Sleep(time.Hour) // it was forgotten, and is taken up again
		}
	})
}

func TestReplicaSessionMustBeOfItsPrincipal(t *testing.T) {
	o := streamable.Options{Replicas: true, Principal: byToken}
	const a, b = header("Authorization: Bearer a\n"), header("Authorization: Bearer b\n")
	s := startWorld(t, o, server.Options{StateKey: []byte(key)})
	c := s.connect("2025-11-25", a)
	for _, at := range []*site{s, startWorld(t, o, server.Options{StateKey: []byte(key)})} {
		c := &client{at, c.id}
		assert.Equal(t, c.call("1", "echo", "x", b).StatusCode, 404)
		assert.Equal(t, c.call("1", "echo", "x", "").StatusCode, 401)
		assert.Equal(t, c.call("1", "echo", "x", a).StatusCode, 200)
		assert.Equal(t, c.get(b).StatusCode, 404) // also once this server has it
	}
}

func TestEndpointMustBeOfThisServer(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true})
	base := strings.TrimSuffix(s.url, "/mcp")
	for path, want := range map[string]string{"/sse": "/sse?sessionId=",
		"/a/b?x=y": "/a/b?sessionId=", "//evil.example.com/sse": "/evil.example.com/sse?sessionId=",
		"///x": "/x?sessionId="} {
		e, ok := s.do(t.Context(), "GET", base+path, "", "").isStream().next()
		assert.Assert(t, ok)
		assert.Equal(t, e.kind, "endpoint")
		assert.Assert(t, strings.HasPrefix(e.data, want), e.data)
	}
}

func TestMessagesMustBeUTF8(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true})
	s.offer("bytes", func(ctx context.Context) (*mcp.CallToolResult, error) {
		server.Progress(ctx, 1, 2, "\xff\n\r")
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "\xff\n\r"}}}, nil
	})
	c := s.connect("2025-11-25", "")
	for _, broken := range []string{"\xff", "\xc3", "\xed\xa0\x80"} {
		body := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"` + broken + `"}}`
		for _, a := range []*answer{s.tool("echo", `{"text":"`+broken+`"}`, ""), c.post(body, ""),
			s.do(t.Context(), "POST", s.url+"?sessionId=x", body, "")} {
			text := a.text()
			assert.Equal(t, a.StatusCode, 400)
			assert.Assert(t, strings.Contains(text, `"code":-32700`), text)
		}
	}
	a := s.do(t.Context(), "POST", s.url,
		strings.Replace(toolCall("bytes", ""), `"_meta":{`, `"_meta":{"progressToken":1,`, 1),
		modernTool+"bytes").isStream()
	a.event(`"message":"` + "\ufffd" + `\n\r"`)
	a.event(`"text":"` + "\ufffd" + `\n\r"`)
	a.ends()
}

func TestGetMustNotHaveResponses(t *testing.T) {
	inBubble(t, streamable.Options{Heartbeat: time.Hour}, func(t *testing.T, b *bubble) {
		session := b.connect("2025-11-25")
		w := b.dial()
		get := w.ask("GET", "", session).isStream()
		for _, accept := range []header{"", "\nAccept: application/json",
			"\nAccept: text/event-stream"} {
			v := b.dial()
			a := v.ask("POST",
				`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`,
				session+accept)
			assert.Assert(t, strings.Contains(a.text(), `"id":7,"result"`))
			v.Close()
		}
		// A client that hangs up does not get its answer elsewhere.
		v := b.dial()
		v.send("POST", `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"hold","arguments":{"text":"x"}}}`,
			session)
		<-b.begun
		v.Close()
		time.Sleep(time.Second)
		b.release <- struct{}{}
		time.Sleep(time.Second)
		b.changeTools("new")
		assert.Equal(t, get.event("").data,
			`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		go b.handler.Close()
		get.ends()
		w.Close()
	})
}

func TestAgreedRevisionMustBeKept(t *testing.T) {
	s := start(t, streamable.Options{})
	clients := map[string]*client{}
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		a := s.do(t.Context(), "POST", s.url, strings.Replace(initialize, "REVISION", revision, 1),
			"")
		assert.Assert(t, strings.Contains(a.text(), `"protocolVersion":"`+revision+`"`))
		clients[revision] = s.connect(revision, "")
	}
	for revision, c := range clients {
		text := c.call("1", "echo", "x", "").text()
		assert.Equal(t, strings.Contains(text, "structuredContent"), revision >= "2025-06-18", text)
		assert.Assert(t, !strings.Contains(text, "resultType") &&
			!strings.Contains(text, "serverInfo"), text)
		assert.Equal(t, c.post(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "").StatusCode == 200,
			revision == "2025-03-26")
		primed := c.call("2", "echo", "x", "-Accept\nAccept: text/event-stream").isStream()
		e, _ := primed.next()
		assert.Equal(t, e.data == "", revision == "2025-11-25", "%+v", e)
		// Only what was negotiated is used: the first two had no elicitation yet.
		a := c.call("3", "ask", "", "")
		for {
			line, err := a.in.ReadString('\n')
			if strings.Contains(line, "elicitation/create") || err != nil {
				assert.Equal(t, err == nil, revision >= "2025-06-18", line)
				break
			}
			if strings.Contains(line, `"id":3`) {
				assert.Assert(t, revision < "2025-06-18" &&
					strings.Contains(line, "does not declare"), line)
				break
			}
		}
	}
}

func TestErrorCodesMustBeDefined(t *testing.T) {
	codes := regexp.MustCompile(`-320\d\d\b`)
	// to legacy clients, if at all
	defined := map[string]bool{"-32020": true, "-32021": true, "-32022": true, "-32002": true,
		"-32042": true,
		"-32099": true} // where they end
	for _, pattern := range []string{"*.go", "../*.go", "../internal/*/*.go", "../../rpc/*.go",
		"../../rpc/mcp/*.go", "../../dispatch/*.go"} {
		files, err := filepath.Glob(filepath.FromSlash(pattern))
		assert.NilError(t, err)
		assert.Assert(t, len(files) > 0, pattern)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			assert.NilError(t, err)
			for _, code := range codes.FindAllString(string(text), -1) {
				assert.Check(t, defined[code], "%s: %s", file, code)
			}
			// result.go names it to take it from what modern clients get, see
			// server.TestModernClientsMustGetDefinedCodes.
			named := strings.Contains(string(text), "CodeURLElicitationRequired") &&
				filepath.ToSlash(file) != "../result.go"
			assert.Check(t, !named || strings.Contains(pattern, "rpc/mcp"), file)
		}
	}
}
