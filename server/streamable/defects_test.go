package streamable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// The defects that other implementations have, as far as a server over HTTP can have them. G are
// those of one, M those of another.

// openSSE opens a session of the transport of 2024-11-05, and returns its stream and what sends
// messages.
func (s *site) openSSE(h header) (stream *answer, post func(body string) *answer) {
	s.t.Helper()
	stream = s.do(s.t.Context(), "GET", s.url, "", h).isStream()
	e, _ := stream.next()
	assert.Equal(s.t, e.kind, "endpoint")
	post = func(body string) *answer {
		s.t.Helper()
		return s.do(s.t.Context(), "POST", strings.TrimSuffix(s.url, "/mcp")+e.data, body, h)
	}
	assert.Equal(s.t, post(strings.Replace(initialize, "REVISION", "2024-11-05", 1)).StatusCode,
		202)
	stream.event(`"id":"i"`)
	return stream, post
}

// G1: one malformed message ends the session.
func TestG1MalformedBodyKeepsTheConnection(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true})
	c := s.connect("2025-11-25", "")
	get := c.get("").isStream()
	stream, post := s.openSSE("")
	for _, body := range []string{"", "{", "nonsense", "\x00\xff", "7", "null",
		`{"jsonrpc":"1.0","id":5,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1}`} {
		for _, a := range []*answer{c.post(body, ""), post(body),
			s.do(t.Context(), "POST", s.url, body, "Mcp-Protocol-Version: 2026-07-28")} {
			assert.Equal(t, a.StatusCode, 400, body)
			assert.Assert(t, strings.Contains(a.text(), `"error":{"code":-32`), body)
		}
	}
	c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "").wants(200,
		`{"jsonrpc":"2.0","id":1,"result":{}}`)
	post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	stream.event(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	s.changeTools("new")
	get.event("list_changed")
}

// G2, M5: a panic of a handler ends the process, or is answered with the id null.
func TestG2M5PanicsAreAnswered(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true})
	blow := func(context.Context) { panic("ashes") }
	s.offer("explode", func(ctx context.Context) (*mcp.CallToolResult, error) {
		blow(ctx)
		return nil, nil
	})
	assert.NilError(t,
		s.server.AddResource(server.Resource{Resource: mcp.Resource{URI: "x:r", Name: "r"},
			Read: func(ctx context.Context, _ string) (*mcp.ReadResourceResult,
				error) {
				blow(ctx)
				return nil, nil
			}}))
	assert.NilError(t, s.server.AddPrompt(server.Prompt{Prompt: mcp.Prompt{Name: "p"},
		Get: func(ctx context.Context, _ map[string]string) (*mcp.GetPromptResult, error) {
			blow(ctx)
			return nil, nil
		}}))
	c := s.connect("2025-11-25", "")
	stream, post := s.openSSE("")
	for method, params := range map[string]string{"tools/call": `"name":"explode"`,
		"resources/read": `"uri":"x:r"`, "prompts/get": `"name":"p"`} {
		const failed = `{"jsonrpc":"2.0","id":"mine","error":{"code":-32603,"message":"Internal error"}}`
		body := `{"jsonrpc":"2.0","id":"mine","method":"` + method + `","params":{` + params + `}}`
		c.post(body, "").wants(200, failed)
		post(body)
		assert.Equal(t, stream.event("").data, failed)
		_, name, _ := strings.Cut(params, ":")
		s.do(t.Context(), "POST", s.url, strings.Replace(body, params, params+","+modernMeta, 1),
			header("Mcp-Protocol-Version: 2026-07-28\nMcp-Method: "+method+"\nMcp-Name: "+
				strings.Trim(name, `"`))).wants(200, failed)
	}
}

// G3, M16: ids go through a float64, and come back as others.
func TestG3M16IDsAreEchoed(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true})
	c, old := s.connect("2025-11-25", ""), s.connect("2025-03-26", "")
	stream, post := s.openSSE("")
	for _, id := range []string{`9007199254740993`, `-9007199254740993`, `1.5`, `-1`, `0`, `""`,
		`"\u0061\/"`, `1e2`, `123456789012345678901234567890`} {
		want := `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`
		ping := `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`
		c.post(ping, "").wants(200, want)
		old.post("["+ping+"]", "").wants(200, "["+want+"]")
		post(ping)
		assert.Equal(t, stream.event("").data, want)
		a := s.do(t.Context(), "POST", s.url,
			strings.Replace(modernCall("no/such", ""), `"id":1`, `"id":`+id, 1),
			"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: no/such")
		assert.Assert(t, strings.HasPrefix(a.text(), `{"jsonrpc":"2.0","id":`+id+`,"error":`))
	}
}

// G4: of several subscriptions with one id only the last hears anything, and the end of one is the
// end of all.
func TestG4SubscriptionsWithTheSameID(t *testing.T) {
	inBubble(t, streamable.Options{Heartbeat: time.Hour}, func(t *testing.T, b *bubble) {
		var wires []*wire
		var streams []*answer
		for range 4 {
			w := b.dial()
			a := w.ask("POST",
				modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":true},`),
				listen).isStream()
			a.event("acknowledged")
			wires, streams = append(wires, w), append(streams, a)
		}
		for i := range wires {
			synctest.Wait()
			b.changeTools(fmt.Sprint("new", i))
			for _, a := range streams[i:] {
				a.event("list_changed")
			}
			wires[i].Close()
		}
	})
}

// G6: a legacy client is asked once only, and gets a result that it does not know.
func TestG6LegacyClientIsElicitedTwice(t *testing.T) {
	s := start(t, streamable.Options{})
	s.offer("twice", func(ctx context.Context) (*mcp.CallToolResult, error) {
		for _, key := range []string{"one", "two"} {
			if _, err := server.Elicit(ctx, key,
				mcp.ElicitParams{Message: key,
					RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{}}`)}); err != nil {
				return nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "both"}}}, nil
	})
	c := s.connect("2025-06-18", "")
	a := c.call("7", "twice", "", "").isStream()
	for i, message := range []string{"one", "two"} {
		a.event(fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"message":%q`, i+1,
			message))
		assert.Equal(t, c.post(
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"action":"decline"}}`, i+1),
			"").StatusCode, 202)
	}
	e := a.event(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"both"}]`)
	assert.Assert(t, !strings.Contains(e.data, "inputRequests"), e.data)
	a.ends()
}

// G9, M6: bodies are read whole, however large.
func TestG9M6BodiesAreBounded(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true, MaxBody: 1000})
	c := s.connect("2025-11-25", "")
	_, post := s.openSSE("")
	large := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1000) +
		`"}}`
	for _, a := range []*answer{c.post(large, ""), post(large),
		s.do(t.Context(), "POST", s.url, large, "Mcp-Protocol-Version: 2026-07-28"),
		c.post("["+large+"]", "")} {
		assert.Equal(t, a.StatusCode, 413)
	}
	// Nor is one awaited that never ends.
	endless := httptest.NewRequest("POST", "/mcp",
		io.MultiReader(strings.NewReader(`{"x":"`), spaces{}))
	endless.Header.Set("Content-Type", "application/json")
	endless.ContentLength = -1
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, endless)
	assert.Equal(t, w.Code, 413)
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// hangsUp is a client that goes when it has read something.
type hangsUp struct {
	*httptest.ResponseRecorder
	hangUp context.CancelFunc
}

func (h hangsUp) Write(p []byte) (int, error) {
	h.hangUp()
	return len(p), nil
}

// G12, M9: something is kept of each stream, and the names of sessions that have ended, for ever.
func TestG12M9EndedSessionsAndStreamsAreFreed(t *testing.T) {
	w := newFixture(server.Options{})
	h := streamable.Options{MaxEvents: 10, MaxStored: 256 << 10, MaxSessions: 10}.New(w.server)
	defer h.Close()
	text := strings.Repeat("x", 500)
	open := func() header {
		got := arrive(h, "POST", local, "localhost",
			strings.Replace(initialize, "REVISION", "2025-11-25", 1), "")
		assert.Equal(t, got.Code, 200)
		return header("Mcp-Session-Id: " + got.Header().Get("Mcp-Session-Id"))
	}
	call := func(session header) { // as a stream, whose events are kept
		got := arrive(h, "POST", local, "localhost",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`+
				text+`"}}}`, session+"\nAccept: text/event-stream")
		assert.Assert(t, got.Code == 200 && strings.Contains(got.Body.String(), text))
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools have kept
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	lasting := open()
	call(lasting)
	before := heap()
	for range 5000 {
		call(lasting)
	}
	for range 1000 { // many more than there may be, and each with something kept
		session := open()
		call(session)
		assert.Equal(t, arrive(h, "DELETE", local, "localhost", "", session).Code, 204)
	}
	subscribe := modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":true},`)
	for range 2000 {
		ctx, hangUp := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, "POST", "/mcp", strings.NewReader(subscribe))
		header("Content-Type: application/json\n" + listen).apply(r.Header)
		h.ServeHTTP(hangsUp{httptest.NewRecorder(), hangUp}, r)
	}
	grown := heap() - before
	assert.Assert(t, grown < 512<<10, "%d bytes", grown)
	fresh := open() // there is room for what it says still
	call(fresh)
	assert.Equal(t, arrive(h, "GET", local, "localhost", "", fresh+"\nLast-Event-Id: 1-0").Code,
		200)
}

// G13: one client that does not read delays the news of all others.
func TestG13BlockedClientDelaysNoOther(t *testing.T) {
	inBubble(t, streamable.Options{Heartbeat: time.Hour}, func(t *testing.T, b *bubble) {
		stuck := b.dial()
		stuck.send("POST",
			modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":true},`),
			listen)
		legacy := b.dial()
		legacy.send("GET", "", b.connect("2025-11-25"))
		w := b.dial()
		a := w.ask("POST",
			modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":true},`),
			listen).isStream()
		a.event("acknowledged")
		synctest.Wait()
		begin := time.Now()
		for i := range 100 {
			b.changeTools(fmt.Sprint("new", i))
			a.event("list_changed")
		}
		assert.Equal(t, time.Since(begin), time.Duration(0))
		for _, w := range []*wire{stuck, legacy, w} {
			w.Close()
		}
	})
}

// G15: a server that has sessions for legacy clients has nothing for modern ones.
func TestG15SessionsBesideModernClients(t *testing.T) {
	s := start(t, streamable.Options{})
	s.offers()
	legacy := s.connect("2025-11-25", "")
	get := legacy.get("").isStream()
	assert.Assert(t,
		strings.Contains(s.modern("server/discover", "", "", "").text(),
			`"supportedVersions":["2026-07-28"]`))
	subscribed := s.modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true},`,
		"").isStream()
	subscribed.event("acknowledged")
	// What one handler asks, clients of both eras answer in their own way.
	asked := legacy.call("1", "ask", "", "").isStream()
	asked.next() // says nothing yet
	asked.event("elicitation/create")
	ask := strings.Replace(toolCall("ask", ""), "{}", `{"elicitation":{}}`, 1)
	var m struct{ Result struct{ RequestState string } }
	assert.NilError(t,
		json.Unmarshal([]byte(s.do(t.Context(), "POST", s.url, ask, modernTool+"ask").text()), &m))
	answered := strings.Replace(ask, `"_meta"`,
		`"inputResponses":{"name":{"action":"decline"}},"requestState":"`+m.Result.RequestState+
			`","_meta"`, 1)
	assert.Assert(t,
		strings.Contains(s.do(t.Context(), "POST", s.url, answered, modernTool+"ask").text(),
			`"text":"decline"`))
	assert.Equal(t, legacy.post(`{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`,
		"").StatusCode, 202)
	asked.event(`"text":"decline"`)
	s.changeTools("new")
	get.event("list_changed")
	subscribed.event("list_changed")
}

// G17: handlers of a client that is gone run on.
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

// M1: a subscription keeps everything else waiting.
func TestM1SubscriptionsUseNoRequestSlot(t *testing.T) {
	s := start(t, streamable.Options{MaxRequests: 1})
	for range 3 {
		s.modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true},`,
			"").isStream().event("acknowledged")
		assert.Equal(t, s.tool("echo", `{"text":"x"}`, "").StatusCode, 200)
	}
}

// M2: a subscription is acknowledged, and then receives nothing.
func TestM2SubscriptionsReceiveNotifications(t *testing.T) {
	s := start(t, streamable.Options{})
	s.offers()
	a := s.modern("subscriptions/listen", "",
		`"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:r"]},`,
		"").isStream()
	a.event("acknowledged")
	s.changeTools("new")
	a.event("notifications/tools/list_changed")
	s.changePrompts("new")
	a.event("notifications/prompts/list_changed")
	s.server.ResourceUpdated("x:r")
	a.event(`"notifications/resources/updated","params":{"uri":"x:r"`)
	assert.Equal(t, s.server.RemoveResources("x:r"), 1)
	a.event("notifications/resources/list_changed")
}

// M3: clients cancel the requests of others that have the same id.
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

// M8: what a client is too slow for is dropped.
func TestM8NotificationsAreKept(t *testing.T) {
	inBubble(t, streamable.Options{Heartbeat: time.Hour}, func(t *testing.T, b *bubble) {
		const most = 3000 // more than are queued for anybody
		session := b.connect("2025-11-25")
		params := strings.Replace(
			`{"name":"flood","arguments":{"text":"MOST"},"_meta":{"progressToken":1,META}}`, "MOST",
			fmt.Sprint(most), 1)
		for h, meta := range map[header]string{session: `"a":1`, modernTool +
			"flood": strings.TrimSuffix(strings.TrimPrefix(modernMeta, `"_meta":{`), "}")} {
			w := b.dial()
			w.send("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+
				strings.Replace(params, "META", meta, 1)+`}`, h)
			time.Sleep(20 * time.Second) // of the bubble: slow, but not as slow as to be given up
			a := w.answer().isStream()
			if h == session {
				a.event("")
			}
			for i := range most {
				a.event(fmt.Sprintf(`"progress":%d,`, i+1))
			}
			a.event(`"id":1,"result"`)
			a.ends()
			<-b.begun
			w.Close()
		}
	})
}

// M10: sessions belong to no principal, are accepted by their form, and are created on the fly.
func TestM10SessionsAreMadeByInitialize(t *testing.T) {
	s := start(t, streamable.Options{Principal: byToken})
	const a, b = header("Authorization: Bearer a\n"), header("Authorization: Bearer b\n")
	c := s.connect("2025-11-25", a)
	forged := []byte(c.id)
	forged[0] ^= 1
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, method := range []string{"GET", "POST", "DELETE"} {
		for h, want := range map[header]int{a: 400, a +
			header("Mcp-Session-Id: "+string(forged)): 404, b +
			header("Mcp-Session-Id: "+c.id): 404, header("Mcp-Session-Id: " + c.id): 401} {
			answer := s.do(t.Context(), method, s.url, ping, h)
			assert.Equal(t, answer.StatusCode, want)
			assert.Equal(t, answer.Header.Get("Mcp-Session-Id"), "")
		}
	}
	assert.Equal(t, c.post(ping, a).StatusCode, 200)
}

// M15: where there are no sessions, everybody sees everybody's tasks.
func TestM15TasksAreOfTheirPrincipal(t *testing.T) {
	s := start(t, streamable.Options{Principal: byToken})
	t.Cleanup(func() { assert.Check(t, s.server.Close(context.Background()) == nil) })
	assert.NilError(t,
		s.server.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "long"}, Tasks: mcp.TaskRequired,
			Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult,
				error) {
				return &mcp.CallToolResult{}, nil
			}}))
	do := func(principal, method, name, params string) string {
		t.Helper()
		meta := strings.Replace(modernMeta, "{}",
			`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)
		return s.do(t.Context(), "POST", s.url, `{"jsonrpc":"2.0","id":1,"method":"`+method+
			`","params":{`+params+`,`+meta+`}}`,
			header("Mcp-Protocol-Version: 2026-07-28\nMcp-Method: "+method+"\nMcp-Name: "+name+
				"\nAuthorization: Bearer "+principal)).text()
	}
	var m struct{ Result struct{ TaskID string } }
	begun := do("a", "tools/call", "long", `"name":"long"`)
	assert.NilError(t, json.Unmarshal([]byte(begun), &m))
	id := m.Result.TaskID
	assert.Assert(t, id != "", begun)
	for _, method := range []string{"tasks/get", "tasks/cancel"} {
		assert.Assert(t,
			strings.Contains(do("b", method, id, `"taskId":"`+id+`"`), `"error":{"code":-32602`))
	}
	assert.Assert(t,
		strings.Contains(do("a", "tasks/get", id, `"taskId":"`+id+`"`), `"taskId":"`+id+`"`))
}

// M16: an answer to nothing is taken for a request, and answered.
func TestM16StrayAnswersAreNotAnswered(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true})
	c := s.connect("2025-11-25", "")
	stream, post := s.openSSE("")
	for _, body := range []string{`{"jsonrpc":"2.0","id":77,"error":{"code":-32000,"message":"m"}}`,
		`{"jsonrpc":"2.0","id":77,"result":{}}`, `{"jsonrpc":"2.0","id":"x","result":{}}`} {
		for _, a := range []*answer{c.post(body, ""), post(body)} {
			assert.Equal(t, a.StatusCode, 202)
			assert.Equal(t, a.text(), "")
		}
		a := s.do(t.Context(), "POST", s.url, body, "Mcp-Protocol-Version: 2026-07-28")
		// a modern client has nothing to answer
		assert.Equal(t, a.StatusCode, http.StatusBadRequest)
		assert.Assert(t, !strings.Contains(a.text(), `"id"`))
	}
	post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	stream.event(`{"jsonrpc":"2.0","id":1,"result":{}}`)
}
