package streamable_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

const serverInfo = `"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}`

// Exact requests and responses of modern clients.
func TestModernStatuses(t *testing.T) {
	s := start(t, streamable.Options{})
	mismatch := func(id, why string) string {
		return `{"jsonrpc":"2.0","id":` + id +
			`,"error":{"code":-32020,"message":"Header mismatch: ` + why + `"}}`
	}
	failed := func(code, message string) string {
		return `{"jsonrpc":"2.0","id":1,"error":{"code":` + code + `,"message":"` + message + `"}}`
	}
	meta := func(version, rest string) string {
		return `{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `"` + rest + `}}`
	}
	const echo = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":""},` +
		modernMeta + `}}`
	const echoOK = `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"success":true,"data":{"text":""},"error":null},"content":[{"type":"text","text":` +
		`"{\"success\":true,\"data\":{\"text\":\"\"},\"error\":null}"}],"isError":false,"resultType":"complete","_meta":{` +
		serverInfo + `}}}`
	const version = "Mcp-Protocol-Version: 2026-07-28\n"
	for name, tc := range map[string]struct {
		body   string
		header header
		status int
		want   string
	}{
		"A request is answered with JSON": {echo, version +
			"Mcp-Method: tools/call\nMcp-Name: echo", 200, echoOK},
		"Header names in any case": {echo,
			"MCP-PROTOCOL-VERSION: 2026-07-28\nmcp-method: tools/call\nMCP-NAME: echo", 200,
			echoOK},
		"White space around a value": {echo, version +
			"Mcp-Method: tools/call \t\nMcp-Name:    echo  ", 200, echoOK},
		"Mcp-Name in base64": {echo, version +
			"Mcp-Method: tools/call\nMcp-Name: =?base64?ZWNobw==?=", 200, echoOK},
		"Mcp-Name in base64 for something else": {echo, version +
			"Mcp-Method: tools/call\nMcp-Name: =?base64?ZWNobyE=?=", 400,
			mismatch("1", "Mcp-Name does not match the body")},
		"Mcp-Name in broken base64": {echo, version +
			"Mcp-Method: tools/call\nMcp-Name: =?base64?ZWNobw?=", 400,
			mismatch("1", "Mcp-Name is not valid base64 of UTF-8 text")},
		"Mcp-Name with bytes that are not ASCII": {echo, version +
			"Mcp-Method: tools/call\nMcp-Name: \xc3\xa9cho", 400,
			mismatch("1", "Mcp-Name has characters that are not visible ASCII")},
		"Mcp-Name missing": {echo, version + "Mcp-Method: tools/call", 400,
			mismatch("1", "Mcp-Name is missing")},
		"Mcp-Name of another tool": {echo, version + "Mcp-Method: tools/call\nMcp-Name: hold",
			400, mismatch("1", "Mcp-Name does not match the body")},
		"Mcp-Name twice": {echo, version +
			"Mcp-Method: tools/call\nMcp-Name: echo\nMcp-Name: echo", 400,
			mismatch("1", "Mcp-Name occurs more than once")},
		"Mcp-Method missing": {echo, version + "Mcp-Name: echo", 400,
			mismatch("1", "Mcp-Method is missing")},
		"Mcp-Method of another": {echo, version + "Mcp-Name: echo\nMcp-Method: tools/list",
			400, mismatch("1", "Mcp-Method does not match the body")},
		"Mcp-Method in another case": {echo, version + "Mcp-Name: echo\nMcp-Method: TOOLS/CALL",
			400, mismatch("1", "Mcp-Method does not match the body")},
		"Mcp-Protocol-Version absent": {echo, "Mcp-Method: tools/call\nMcp-Name: echo", 400,
			mismatch("1", "Mcp-Protocol-Version is missing")},
		"Mcp-Protocol-Version of another revision": {echo,
			"Mcp-Protocol-Version: 2025-11-25\nMcp-Method: tools/call\nMcp-Name: echo", 400,
			mismatch("1", "Mcp-Protocol-Version does not match the body")},
		"The id is echoed byte for byte": {
			strings.Replace(echo, `"id":1`, `"id":9007199254740993`, 1), version, 400,
			mismatch("9007199254740993", "Mcp-Method is missing")},
		"A version nobody has": {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` +
			meta("v9", `,"io.modelcontextprotocol/clientCapabilities":{}`) + `}`,
			"Mcp-Protocol-Version: v9\nMcp-Method: tools/list", 400,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"v9"}}}`},
		"A version nobody has in _meta alone": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` +
				meta("v9", `,"io.modelcontextprotocol/clientCapabilities":{}`) + `}`,
			version + "Mcp-Method: tools/list", 400,
			mismatch("1", "Mcp-Protocol-Version does not match the body")},
		"No _meta": {`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`, version +
			"Mcp-Method: server/discover", 400,
			failed("-32602",
				`Invalid params: _meta[\"io.modelcontextprotocol/protocolVersion\"] is required and must be a string`)},
		"No capabilities": {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` +
			meta("2026-07-28", "") + `}`, version + "Mcp-Method: tools/list", 400,
			failed("-32602",
				`Invalid params: _meta[\"io.modelcontextprotocol/clientCapabilities\"] is required and must be an object`)},
		"An unknown tool is an error of the call alone": {
			strings.Replace(echo, `"echo"`, `"none"`, 1), version +
				"Mcp-Method: tools/call\nMcp-Name: none", 200,
			failed("-32602", "Unknown tool: none")},
		"A capability that is missing": {strings.Replace(echo, `"echo"`, `"ask"`, 1), version +
			"Mcp-Method: tools/call\nMcp-Name: ask", 400,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"the client does not declare the capability elicitation","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}}`},
		"A handler that panics tells nothing": {strings.Replace(echo, `"echo"`, `"panic"`, 1),
			version + "Mcp-Method: tools/call\nMcp-Name: panic", 200,
			`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"success":false,"data":null,"error":{"code":"internal_error","message":"the operation failed unexpectedly; the log has the cause","details":null,"recoverable":false}},` +
				`"content":[{"type":"text","text":"{\"success\":false,\"data\":null,\"error\":{\"code\":\"internal_error\",\"message\":\"the operation failed unexpectedly; the log has the cause\",\"details\":null,\"recoverable\":false}}"}],` +
				`"isError":true,"resultType":"complete","_meta":{` + serverInfo + `}}}`},
		"No JSON": {`{"jsonrpc":`, version, 400,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"invalid JSON at byte 11: a value is missing"}}`},
		"A byte order mark": {"\uFEFF" + `{"jsonrpc":"2.0","id":7}`, version, 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"a message has a method, or a result or an error"}}`},
		"No message": {`{"jsonrpc":"2.0","id":7}`, version, 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"a message has a method, or a result or an error"}}`},
		"A response": {`{"jsonrpc":"2.0","id":7,"result":{}}`, version, 400,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"a client sends no responses in this revision"}}`},
		"A batch": {`[` + echo + `]`, version, 400,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"batches are not supported; send the messages one by one"}}`},
		"An empty batch": {`[]`, version, 400,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a batch must not be empty"}}`},
		"A null id": {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, version, 400,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the id of a request must not be null"}}`},
		"An empty body": {``, version, 400,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"invalid JSON at byte 0: a value is missing"}}`},
		"Accept: text": {echo, version + "-Accept\nAccept: text/plain, image/*;q=0.5", 406,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"Accept must list application/json and text/event-stream"}}`},
		"Accept: nothing": {echo, version +
			"-Accept\nMcp-Method: tools/call\nMcp-Name: echo", 200, echoOK},
		"Accept: anything": {echo, version +
			"-Accept\nAccept: */*\nMcp-Method: tools/call\nMcp-Name: echo", 200, echoOK},
		"Accept: JSON in two lines, and no stream": {echo, version +
			"-Accept\nAccept: text/event-stream; q=0\nAccept: application/json\nMcp-Method: tools/call\nMcp-Name: echo",
			200, echoOK},
		"A form": {echo, version + "-Content-Type\nContent-Type: text/plain", 415,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"the body must be plain JSON, and the Content-Type application/json"}}`},
		"A compressed body": {echo, version + "Content-Encoding: gzip", 415,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"the body must be plain JSON, and the Content-Type application/json"}}`},
		"A coding that changes nothing": {echo, version +
			"Content-Encoding: Identity\nMcp-Method: tools/call\nMcp-Name: echo", 200, echoOK},
		"A charset": {echo, version +
			"-Content-Type\nContent-Type: application/json; charset=utf-8\nMcp-Method: tools/call\nMcp-Name: echo",
			200, echoOK},
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			a := s.do(t.Context(), "POST", s.url, tc.body, tc.header)
			a.wants(tc.status, tc.want)
			assert.Equal(t, a.Header.Get("Mcp-Session-Id"), "")
		})
	}
}

// Methods that are not there, or not in this era, are told apart from a path that is not there
// (2026-07-28, basic/transports/streamable-http, Protocol Version Header).
func TestModernUnknownMethodMustBe404(t *testing.T) {
	s := start(t, streamable.Options{})
	for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe",
		"resources/unsubscribe", "unknown/method"} {
		a := s.modern(method, "", "", "")
		text := a.text()
		assert.Equal(t, a.StatusCode, 404, text)
		assert.Assert(t, strings.HasPrefix(text, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,`),
			text)
	}
	// Also what a legacy client would send, if it says that it is modern.
	a := s.do(t.Context(), "POST", s.url, strings.Replace(initialize, "REVISION", "2026-07-28", 1),
		"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: initialize")
	text := a.text()
	assert.Equal(t, a.StatusCode, 404, text)
	assert.Assert(t, strings.HasPrefix(text, `{"jsonrpc":"2.0","id":"i","error":{"code":-32601,`),
		text)
}

func TestModernNotificationMustBe202WithoutBody(t *testing.T) {
	s := start(t, streamable.Options{})
	for _, method := range []string{"notifications/cancelled", "notifications/initialized",
		"notifications/unknown"} {
		a := s.do(t.Context(), "POST", s.url, `{"jsonrpc":"2.0","method":"`+method+
			`","params":{"requestId":1,`+modernMeta+`}}`, "Mcp-Protocol-Version: 2026-07-28")
		assert.Equal(t, a.StatusCode, 202)
		assert.Equal(t, a.text(), "")
	}
}

func TestModernGetAndDeleteMustBe405(t *testing.T) {
	s := start(t, streamable.Options{})
	for _, method := range []string{"GET", "DELETE"} {
		a := s.do(t.Context(), method, s.url, "", "Mcp-Protocol-Version: 2026-07-28")
		assert.Equal(t, a.StatusCode, 405)
		assert.Equal(t, a.Header.Get("Allow"), "POST")
	}
	a := s.do(t.Context(), "PUT", s.url, "{}", "")
	assert.Equal(t, a.StatusCode, 405)
	assert.Equal(t, a.Header.Get("Allow"), "POST, GET, DELETE")
}

// What is said before the answer makes it a stream, which ends with the answer, and has neither ids
// nor requests of the server in it.
func TestModernStream(t *testing.T) {
	s := start(t, streamable.Options{})
	go func() { s.release <- struct{}{} }()
	a := s.tool("steps", `{"text":"x"}`, "")
	<-s.begun
	assert.Equal(t, a.Header.Get("Content-Type"), "application/json") // nobody asked for progress
	body := strings.Replace(modernCall("tools/call", `"name":"steps","arguments":{"text":"x"},`),
		`"_meta":{`, `"_meta":{"progressToken":"p",`, 1)
	b := s.do(t.Context(), "POST", s.url, body,
		"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: steps").isStream()
	assert.Equal(t, b.event(`"message":"one"`).id, "")
	assert.Equal(t, b.event(`"message":"two"`).kind, "message")
	<-s.begun
	s.release <- struct{}{}
	b.event(`"message":"three"`)
	assert.Equal(t, b.event(`"id":1,"result":`).retry, "")
	b.ends()
}

// A client that takes no streams gets the answer alone, and one that takes nothing else, a stream.
func TestModernAccept(t *testing.T) {
	s := start(t, streamable.Options{})
	body := strings.Replace(modernCall("tools/call", `"name":"steps","arguments":{"text":"x"},`),
		`"_meta":{`, `"_meta":{"progressToken":"p",`, 1)
	go func() { s.release <- struct{}{} }()
	a := s.do(t.Context(), "POST", s.url, body,
		"-Accept\nAccept: application/json\nMcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: steps")
	assert.Equal(t, a.Header.Get("Content-Type"), "application/json")
	assert.Assert(t, strings.Contains(a.text(), `"result"`))
	b := s.tool("echo", `{"text":"x"}`, "-Accept\nAccept: text/event-stream").isStream()
	b.event(`"id":1,"result"`)
	b.ends()
	s.modern("tools/list", "none", "", "-Accept\nAccept: text/event-stream\n-Mcp-Method").wants(400,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch: Mcp-Method is missing"}}`)
	c := s.modern("subscriptions/listen", "", `"notifications":{},`,
		"-Accept\nAccept: application/json")
	assert.Equal(t, c.StatusCode, 406)
}

// Closing the stream must be taken as the cancellation of its request, and of no other one with the
// same id.
func TestModernDisconnectMustCancel(t *testing.T) {
	s := start(t, streamable.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error, 1)
	call := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, "POST", s.url,
			strings.NewReader(modernCall("tools/call", `"name":"hold","arguments":{"text":"x"},`)))
		if err != nil {
			return err
		}
		header("Content-Type: application/json\nMcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: hold").apply(
			req.Header)
		res, err := s.client.Do(req)
		if err == nil {
			res.Body.Close()
		}
		return err
	}
	go func() { results <- call(ctx) }()
	<-s.begun
	other := make(chan error, 1)
	go func() { other <- call(t.Context()) }()
	<-s.begun
	// Neither does a notification cancel anything, whoever sends it.
	s.do(t.Context(), "POST", s.url,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,`+modernMeta+
			`}}`, "Mcp-Protocol-Version: 2026-07-28")
	select {
	case err := <-s.ended:
		t.Fatal(err)
	default:
	}
	cancel()
	assert.ErrorIs(t, <-s.ended, context.Canceled)
	assert.ErrorIs(t, <-results, context.Canceled)
	s.release <- struct{}{}
	assert.NilError(t, <-other)
}

func TestModernHeaderParamsMustMatch(t *testing.T) {
	s := start(t, streamable.Options{})
	for name, tc := range map[string]struct {
		arguments string
		header    header
		status    int
	}{
		"plain":           {`{"region":"Hello"}`, "Mcp-Param-Region: Hello", 200},
		"in another case": {`{"region":"Hello"}`, "MCP-PARAM-region: Hello", 200},
		"base64": {`{"region":"Hello"}`,
			"Mcp-Param-Region: =?base64?SGVsbG8=?=", 200},
		"bad padding": {`{"region":"Hello"}`,
			"Mcp-Param-Region: =?base64?SGVsbG8?=", 400},
		"bad characters": {`{"region":"Hello"}`,
			"Mcp-Param-Region: =?base64?SGVs!!!bG8=?=", 400},
		"looks like base64": {`{"region":"SGVsbG8="}`, "Mcp-Param-Region: SGVsbG8=",
			200},
		"half a sentinel": {`{"region":"=?base64?SGVsbG8="}`,
			"Mcp-Param-Region: =?base64?SGVsbG8=", 200},
		"missing":          {`{"region":"Hello"}`, "", 400},
		"of another value": {`{"region":"Hello"}`, "Mcp-Param-Region: hello", 400},
		"twice": {`{"region":"Hello"}`,
			"Mcp-Param-Region: Hello\nMcp-Param-Region: Hello", 400},
		"null":                            {`{"region":null}`, "", 200},
		"null, and a header":              {`{"region":null}`, "Mcp-Param-Region: null", 400},
		"absent":                          {`{}`, "", 200},
		"absent, and a header":            {`{}`, "Mcp-Param-Region: x", 400},
		"an integer":                      {`{"level":42}`, "Mcp-Param-Level: 42", 200},
		"an integer, written another way": {`{"level":42}`, "Mcp-Param-Level: 42.0", 200},
		"too large an integer": {`{"level":9007199254740993}`,
			"Mcp-Param-Level: 9007199254740993", 400},
		"an unknown one": {`{}`, "Mcp-Param-Other: x", 200},
		"empty":          {`{"region":""}`, "Mcp-Param-Region: ", 200},
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			a := s.tool("regional", tc.arguments, tc.header)
			text := a.text()
			assert.Equal(t, a.StatusCode, tc.status, text)
			assert.Equal(t, strings.Contains(text, `"code":-32020`), tc.status == 400, text)
		})
	}
}

// What a tool wants in headers is what it wants now.
func TestModernHeaderParamsChange(t *testing.T) {
	s := start(t, streamable.Options{})
	offer := func(schema string) {
		t.Helper()
		assert.NilError(t,
			s.server.Integration().AddItem(server.Item{Kind: mcp.KindTool,
				Definition: json.RawMessage(
					`{"name":"regional","inputSchema":` + schema + `}`),
				Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`{"content":[]}`), nil
				}}))
	}
	assert.Equal(t, s.tool("regional", `{"region":"x"}`, "").StatusCode, 400)
	offer(`{"type":"object"}`)
	assert.Equal(t, s.tool("regional", `{"region":"x"}`, "").StatusCode, 200)
	offer(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Where"}}}`)
	assert.Equal(t, s.tool("regional", `{"region":"x"}`, "Mcp-Param-Region: x").StatusCode, 400)
	assert.Equal(t, s.tool("regional", `{"region":"x"}`, "Mcp-Param-Where: x").StatusCode, 200)
	// against the rules, so no client sends it
	offer(`{"type":"object","properties":{"region":{"type":"number","x-mcp-header":"Where"}}}`)
	assert.Equal(t, s.tool("regional", `{"region":1}`, "").StatusCode, 200)
}

func TestListen(t *testing.T) {
	s := start(t, streamable.Options{})
	listen := func(id string) *answer {
		body := strings.Replace(
			modernCall("subscriptions/listen",
				`"notifications":{"toolsListChanged":true,"promptsListChanged":true},`), `"id":1`,
			`"id":`+id, 1)
		a := s.do(t.Context(), "POST", s.url, body,
			"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen").isStream()
		a.event(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":` +
			id + `}}}`)
		return a
	}
	// Two of one id, as clients choose those for themselves.
	a, b, c := listen("1"), listen("1"), listen(`"x"`)
	s.changeTools("new")
	for _, l := range []*answer{a, b} {
		l.event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`)
	}
	c.event(`"io.modelcontextprotocol/subscriptionId":"x"`)
	a.Body.Close()
	s.changeTools("newer")
	b.event(`list_changed`)
	c.event(`list_changed`)
	assert.NilError(t, s.handler.Shutdown(t.Context()))
	b.event(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,`)
	b.event(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":1,` +
		serverInfo + `}}}`)
	b.ends()
}

func TestTwoErasOnOneEndpoint(t *testing.T) {
	s := start(t, streamable.Options{})
	legacy := s.connect("2025-06-18", "")
	old := s.connect("2024-11-05", "")
	for range 3 {
		assert.Assert(t,
			!strings.Contains(
				legacy.call("1", "echo", "hi", "Mcp-Protocol-Version: 2025-06-18").text(),
				"resultType"))
		assert.Assert(t,
			strings.Contains(s.tool("echo", `{"text":"hi"}`, "").text(), `"resultType":"complete"`))
		assert.Assert(t,
			!strings.Contains(old.call("1", "echo", "hi", "").text(), "structuredContent"))
		// A session says nothing to a modern request.
		assert.Assert(t,
			strings.Contains(
				s.tool("echo", `{"text":"hi"}`, header("Mcp-Session-Id: "+legacy.id)).text(),
				`"resultType":"complete"`))
		assert.Assert(t,
			strings.Contains(s.modern("server/discover", "", "", "").text(),
				`"supportedVersions":["2026-07-28"]`))
	}
}

func TestModernServerMustNotSendRequests(t *testing.T) {
	s := start(t, streamable.Options{})
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
	a := s.do(t.Context(), "POST", s.url, body,
		"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: ask")
	assert.Assert(t, strings.Contains(a.text(), `"resultType":"input_required"`))
	assert.Equal(t, a.StatusCode, 200)
	assert.Equal(t, a.Header.Get("Content-Type"), "application/json")
}

// A call of which nothing is heard for long becomes a stream with comments in it, and ends as one.
func TestHeartbeat(t *testing.T) {
	s := start(t, streamable.Options{Heartbeat: 20 * time.Millisecond})
	for _, call := range []func() *answer{
		func() *answer { return s.tool("hold", `{"text":"x"}`, "") },
		func() *answer { return s.connect("2025-03-26", "").call("1", "hold", "x", "") },
		func() *answer { return s.connect("2025-11-25", "").call("1", "hold", "x", "") },
	} {
		a := call().isStream() // while the tool still runs
		comments := 0
		for comments < 3 {
			if e, ok := a.next(); e.kind == ":" {
				comments++
			} else {
				// 2025-11-25 begins with an event that says nothing
				assert.Assert(t, ok && e.data == "", "%+v", e)
			}
		}
		s.release <- struct{}{}
		e, ok := a.next()
		for ; ok && e.kind == ":"; e, ok = a.next() {
		}
		assert.Assert(t, ok && strings.Contains(e.data, `"result"`), "%+v", e)
		a.ends()
	}
}
