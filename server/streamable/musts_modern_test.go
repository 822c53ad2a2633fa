package streamable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// What the specification says that a server MUST do over HTTP for modern clients, or not, and no
// other test here is about.

const listen = "Mcp-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen"

// offers adds one of each kind of thing that a subscription can be for.

func (w *fixture) offers() {
	if err := w.server.AddResource(server.Resource{Resource: mcp.Resource{URI: "x:r", Name: "r"},
		Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: uri, Text: "t"}}},
				nil
		}}); err != nil {
		panic(err)
	}
	w.changePrompts("p")
}

func (w *fixture) changePrompts(name string) {
	if err := w.server.AddPrompt(server.Prompt{Prompt: mcp.Prompt{Name: name},
		Get: func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		}}); err != nil {
		panic(err)
	}
}

// 2026-07-28, basic/patterns/cancellation: who ends a subscription says so, also where everything
// ends at once.

func TestServerMustCancelSubscriptionsThatItEnds(t *testing.T) {
	for name, end := range map[string]func(h *streamable.Handler){
		"Shutdown": func(h *streamable.Handler) { _ = h.Shutdown(context.Background()) },
		"Close":    (*streamable.Handler).Close,
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, streamable.Options{})
			a := s.modern("subscriptions/listen", "", `"notifications":{},`, "").isStream()
			a.event("acknowledged")
			end(s.handler)
			a.event(`"method":"notifications/cancelled","params":{"requestId":1,`)
			a.event(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"`)
			a.ends()
		})
	}
}

// 2026-07-28, basic/patterns/subscriptions: a subscription hears what it has asked for, behind the
// acknowledgment, with its id, and nothing of requests.

func TestSubscriptionMustReceiveOnlyItsNotifications(t *testing.T) {
	inBubble(t, streamable.Options{Heartbeat: time.Hour}, func(t *testing.T, b *bubble) {
		b.offers()
		open := func(filter string) (*wire, *answer) {
			w := b.dial()
			a := w.ask("POST", modernCall("subscriptions/listen", `"notifications":`+filter+`,`),
				listen).isStream()
			a.event(`"method":"notifications/subscriptions/acknowledged","params":{"notifications":` +
				filter + `,"_meta":{"io.modelcontextprotocol/subscriptionId":1}}`)
			return w, a
		}
		kinds := map[string]string{
			`{"toolsListChanged":true}`:           "notifications/tools/list_changed",
			`{"promptsListChanged":true}`:         "notifications/prompts/list_changed",
			`{"resourcesListChanged":true}`:       "notifications/resources/list_changed",
			`{"resourceSubscriptions":["x:r"]}`:   "notifications/resources/updated",
			`{"resourceSubscriptions":["x:not"]}`: "",
			`{}`:                                  "",
		}
		streams := map[string]*answer{}
		for filter := range kinds {
			w, a := open(filter)
			defer w.Close()
			streams[filter] = a
		}
		time.Sleep(time.Second) // of the bubble: until all listen
		b.changeTools("new")
		b.changePrompts("new")
		b.offers()
		b.server.ResourceUpdated("x:r")
		go func() { b.release <- struct{}{} }()
		w := b.dial()
		request := w.ask("POST",
			strings.Replace(toolCall("steps", "x"), `"_meta":{`,
				`"_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"debug",`, 1),
			modernTool+"steps").isStream()
		for e, ok := request.next(); ok; e, ok = request.next() {
			// and what belongs to it only
			assert.Assert(t, strings.Contains(e.data, `"notifications/progress"`) ||
				strings.Contains(e.data, `"id":1,"result"`), "%+v", e)
		}
		w.Close()
		time.Sleep(time.Second) // of the bubble: Close drops what has not been sent
		go b.handler.Close()
		for filter, want := range kinds {
			for {
				e, ok := streams[filter].next()
				if !ok || strings.Contains(e.data, "notifications/cancelled") {
					break
				}
				assert.Assert(t, want != "" && strings.Contains(e.data, want) &&
					strings.Contains(e.data, `"io.modelcontextprotocol/subscriptionId":1`),
					"%s: %+v", filter, e)
				kinds[filter] = "heard"
			}
			assert.Assert(t, want == "" || kinds[filter] == "heard", filter)
		}
	})
}

// 2026-07-28, basic/transports/streamable-http: the headers that a notification has are what its
// body says, and what nobody can speak is not accepted.

func TestModernNotificationMustFitItsHeaders(t *testing.T) {
	s := start(t, streamable.Options{})
	const version = "Mcp-Protocol-Version: 2026-07-28\n"
	for name, tc := range map[string]struct {
		meta   string
		header header
		status int
		want   string
	}{
		"no header but the version": {modernMeta, version, 202, ""},
		"no header at all":          {modernMeta, "", 202, ""},
		"its method": {modernMeta, version + "Mcp-Method: notifications/x",
			202, ""},
		"no _meta": {`"a":1`, version, 202, ""},
		"another method": {modernMeta, version + "Mcp-Method: notifications/y",
			400, `"code":-32020`},
		"another version": {modernMeta, "Mcp-Protocol-Version: 2025-11-25", 400,
			`"code":-32020`},
		"versions": {modernMeta, version +
			"Mcp-Protocol-Version: 2026-07-28", 400, `"code":-32020`},
		"a version that nobody has": {strings.Replace(modernMeta, "2026-07-28", "v9", 1),
			"Mcp-Protocol-Version: v9", 400, `"code":-32022`},
		"a version that nobody has, no _meta": {`"a":1`, "Mcp-Protocol-Version: v9", 400,
			`"code":-32022`},
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			a := s.do(t.Context(), "POST", s.url,
				`{"jsonrpc":"2.0","method":"notifications/x","params":{`+tc.meta+`}}`, tc.header)
			text := a.text()
			assert.Equal(t, a.StatusCode, tc.status, text)
			assert.Assert(t, strings.Contains(text, tc.want) && (tc.want != "") == (text != "") &&
				!strings.Contains(text, `"id"`), text)
		})
	}
}

// 2026-07-28, basic/patterns/mrtr and client/elicitation: what a client carries is not to be
// trusted, and of who it was given to.

func TestRequestStateMustBeOfItsPrincipal(t *testing.T) {
	s := start(t, streamable.Options{Principal: byToken})
	const a, b = header("Authorization: Bearer a\n"), header("Authorization: Bearer b\n")
	call := func(h header, more string) string {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask",` + more +
			strings.Replace(modernMeta, "{}", `{"elicitation":{}}`, 1) + `}}`
		return s.do(t.Context(), "POST", s.url, body, modernTool+"ask\n"+h).text()
	}
	stateOf := func(text string) string {
		t.Helper()
		var m struct{ Result struct{ RequestState string } }
		assert.NilError(t, json.Unmarshal([]byte(text), &m), text)
		assert.Assert(t, m.Result.RequestState != "", text)
		return m.Result.RequestState
	}
	state := stateOf(call(a, ""))
	answer := func(state string) string {
		return `"inputResponses":{"name":{"action":"accept","content":{"name":"N"}}},"requestState":"` +
			state + `",`
	}
	flipped := []byte(state)
	flipped[len(flipped)/2] ^= 1 // still of the alphabet, or not: nothing that was ever sealed
	for _, wrong := range []string{call(b, answer(state)), call(a, answer(string(flipped))),
		call(a, answer("x")), call(a, answer(stateOf(call(b, ""))))} {
		assert.Assert(t, strings.Contains(wrong, `"code":-32602`) &&
			strings.Contains(wrong, "requestState"), wrong)
	}
	good := call(a, answer(state))
	assert.Assert(t, strings.Contains(good, `accept{\"name\":\"N\"}`), good)
}

// 2026-07-28, basic: what was declared on a connection before counts for nothing.

func TestConnectionMustNotIdentifyTheClient(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		w := b.dial()
		defer w.Close()
		asks := strings.Replace(toolCall("ask", ""), "{}", `{"elicitation":{}}`, 1)
		for range 2 {
			a := w.ask("POST", asks, modernTool+"ask")
			assert.Assert(t, strings.Contains(a.text(), "input_required"))
			b := w.ask("POST", toolCall("ask", ""), modernTool+"ask")
			assert.Equal(t, b.StatusCode, 400)
			assert.Assert(t, strings.Contains(b.text(), `"code":-32021`))
			c := w.ask("POST", strings.Replace(initialize, "REVISION", "2025-11-25", 1), "")
			assert.Equal(t, c.StatusCode, 200)
			_ = c.text()
			// neither modern nor of a session
			d := w.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "")
			assert.Equal(t, d.StatusCode, 400)
			_ = d.text()
		}
	})
}

// 2025-11-25, basic/transports, Session Management: what comes for a session that has ended is
// answered with 404, whatever it is and however it ended.

// 2025-11-25, basic/transports, Resumability: ids of events are unique in their session, also where
// several servers serve it, or one again.

// Security best practices, session hijacking: where several servers serve a session it is of its
// principal as well, and no session stands for credentials.

// 2024-11-05, basic/transports: the endpoint event is the first, and where it leads to is this
// server.

// basic/transports, of all revisions: messages are UTF-8, those that come and those that go.

// 2026-07-28, basic/transports/streamable-http: header names are compared whatever their case, on
// the wire as it is.

func TestHeaderNamesMustBeOfAnyCase(t *testing.T) {
	inBubble(t, streamable.Options{}, func(t *testing.T, b *bubble) {
		body := modernCall("tools/call", `"name":"regional","arguments":{"region":"R"},`)
		session := strings.TrimPrefix(string(b.connect("2025-11-25")), "Mcp-Session-Id: ")
		const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		for _, recase := range []func(string) string{strings.ToLower, strings.ToUpper} {
			for _, r := range []struct{ head, body string }{
				{recase("Mcp-Protocol-Version") + ": 2026-07-28\r\n" + recase("Mcp-Method") +
					": tools/call\r\n" + recase("Mcp-Name") + ": regional\r\n" +
					recase("Mcp-Param-Region") + ": R", body},
				{recase("Mcp-Session-Id") + ": " + session + "\r\n" +
					recase("Mcp-Protocol-Version") + ": 2025-11-25", ping},
			} {
				w := b.dial()
				_, err := fmt.Fprintf(w,
					"POST /mcp HTTP/1.1\r\nHost: pipe\r\n%s: application/json\r\n%s\r\n%s: %d\r\n\r\n%s",
					recase("Content-Type"), r.head, recase("Content-Length"), len(r.body), r.body)
				assert.NilError(t, err)
				a := w.answer()
				text := a.text()
				assert.Equal(t, a.StatusCode, 200, text)
				assert.Assert(t, strings.Contains(text, `"result"`), text)
				w.Close()
			}
		}
	})
}

// 2026-07-28, basic/transports/streamable-http, Server Validation: what headers are compared with
// is what the server goes by, however the body is written.

func TestHeadersMustMatchTheHandledBody(t *testing.T) {
	s := start(t, streamable.Options{})
	assert.NilError(t, s.server.Integration().AddItem(server.Item{Kind: mcp.KindTool,
		Definition: json.RawMessage(
			`{"name":"verbatim","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}`),
		Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[]}`), nil
		}}))
	for body, refused := range map[string]bool{
		`{"name":"regional","name":"echo","arguments":{"region":"R"},` + modernMeta +
			`}`: true,
		`{"name":"regional","n\u0061me":"echo","arguments":{"region":"R"},` + modernMeta +
			`}`: true,
		`{"name":"echo","n\u0061me":"regional","arguments":{"region":"R"},` + modernMeta +
			`}`: true,
		`{"name":"regional","arguments":{"region":"other"},"arguments":{"region":"R"},` +
			modernMeta + `}`: true,
		`{"name":"regional","arguments":{"region":"R"},"arguments":{"region":"other"},` +
			modernMeta + `}`: true,
		`{"name":"regional","arguments":{"region":"R","region":"other"},` + modernMeta +
			`}`: true,
		`{"name":"regional","arguments":{"region":"other","\u0072egion":"R"},` + modernMeta +
			`}`: true,
		`{"name":"regional","arguments":{"\u0072egion":"other"},` + modernMeta +
			`}`: true,
		`{"n\u0061me":"echo","arguments":{"text":"x"},` + modernMeta +
			`}`: true,
		`{"name":"regional","arguments":{"region":"R"},` + modernMeta + `,` + modernMeta +
			`}`: true,
		`{"name":"regional","arguments":{"region":"R"},` +
			strings.Replace(modernMeta, "2026", `\u0032026`, 1) + `}`: false,
		`{"name":"r\u0065gional","arguments":{"region":"\u0052"},` +
			strings.Replace(modernMeta, "_m", `\u005fm`, 1) + `}`: false,
	} {
		// It is the same for a tool whose arguments somebody else checks, who may read them another
		// way.
		verbatim := strings.NewReplacer(`"regional"`, `"verbatim"`, `"r\u0065gional"`,
			`"verb\u0061tim"`).Replace(body)
		b := s.do(t.Context(), "POST", s.url,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+verbatim+`}`, modernTool+
				"verbatim\nMcp-Param-Region: R")
		passed := b.text()
		assert.Equal(t, strings.Contains(passed, `"error"`), refused, "%s: %s", verbatim, passed)

		a := s.do(t.Context(), "POST", s.url,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+body+`}`, modernTool+
				"regional\nMcp-Param-Region: R")
		text := a.text()
		assert.Equal(t, strings.Contains(text, `"error"`) ||
			strings.Contains(text, `"isError":true`), refused, "%s: %s", body, text)
	}
	a := s.do(t.Context(), "POST", s.url,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{`+modernMeta+
			`}}`, "Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/list")
	assert.Equal(t, a.StatusCode, 400)
}

// 2025-11-25, basic/transports: GET is for what belongs to no request; a response is there only
// when its own stream is resumed.

// 2026-07-28, basic/transports/streamable-http: a modern stream has no ids, and nobody comes back
// to it.

func TestModernStreamIsNotResumed(t *testing.T) {
	s := start(t, streamable.Options{})
	a := s.tool("echo", `{"text":"x"}`,
		"Last-Event-Id: 1-0\nMcp-Session-Id: x\n-Accept\nAccept: text/event-stream").isStream()
	assert.Equal(t, a.Header.Get("Mcp-Session-Id"), "")
	assert.Equal(t, a.event(`"result"`).id, "")
	a.ends()
	assert.Equal(t, s.do(t.Context(), "GET", s.url, "",
		"Mcp-Protocol-Version: 2026-07-28\nLast-Event-Id: 1-0").StatusCode, 405)
}

// 2025-11-25, basic/lifecycle: what was agreed on holds for the session, whatever others agree on.

// 2026-07-28, basic/transports/streamable-http: a header of a parameter has visible ASCII, spaces
// and tabs in it, and else the request is refused.

func TestHeaderParamsMustBeASCII(t *testing.T) {
	s := start(t, streamable.Options{})
	for value, status := range map[string]int{"a b\tc~!": 200, "\xc3\xa9": 400, "a\xff": 400,
		"\u4e16": 400} {
		encoded, err := json.Marshal(value)
		assert.NilError(t, err)
		a := s.tool("regional", `{"region":`+string(encoded)+`}`,
			header("Mcp-Param-Region: "+value))
		text := a.text()
		assert.Equal(t, a.StatusCode, status, text)
		assert.Equal(t, strings.Contains(text, `"code":-32020`), status == 400, text)
	}
	// Without an annotation, the header is ignored.
	assert.Equal(t, s.tool("echo", `{"text":"x"}`, "Mcp-Param-Region: \xff").StatusCode, 200)
}

// 2026-07-28, basic, Error Codes: of the codes that are kept for MCP, or for what was before, only
// those are used that are defined.
