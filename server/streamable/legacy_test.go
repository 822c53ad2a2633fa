package streamable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

func TestSessionIDMustBeVisibleASCII(t *testing.T) {
	s := start(t, streamable.Options{})
	seen := map[string]bool{}
	for range 100 {
		id := s.connect("2025-11-25", "").id
		assert.Assert(t, len(id) >= 26 && !seen[id])
		for _, c := range []byte(id) {
			assert.Assert(t, c >= 0x21 && c <= 0x7e)
		}
		seen[id] = true
	}
}

func TestLegacyStatuses(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-11-25", "")
	gone := "the session does not exist or has ended; send initialize again"
	const ping = `{"jsonrpc":"2.0","id":3,"method":"ping"}`
	own := header("Mcp-Session-Id: " + c.id + "\n")
	for name, tc := range map[string]struct {
		method, body string
		header       header
		status       int
		want         string // in the body
	}{
		"A request": {"POST", ping, own, 200,
			`{"jsonrpc":"2.0","id":3,"result":{}}`},
		"with the version": {"POST", ping, own +
			"Mcp-Protocol-Version: 2025-11-25", 200, `"result":{}`},
		"with another legacy version": {"POST", ping, own +
			"Mcp-Protocol-Version: 2025-03-26", 200, `"result":{}`},
		"with a version nobody has": {"POST", ping, own + "Mcp-Protocol-Version: 1.0", 400,
			`"requested":"1.0"`},
		"with an empty version": {"POST", ping, own + "Mcp-Protocol-Version: ", 400,
			`"requested":""`},
		"without a session": {"POST", ping, "", 400,
			"the Mcp-Session-Id header is missing"},
		"in a session that is not there": {"POST", ping, "Mcp-Session-Id: x", 404, gone},
		"unknown": {"POST", `{"jsonrpc":"2.0","id":3,"method":"x"}`, own,
			200, `"code":-32601`},
		"of the modern era": {"POST",
			`{"jsonrpc":"2.0","id":3,"method":"server/discover"}`, own, 400, `"code":-32602`},
		"A notification": {"POST",
			`{"jsonrpc":"2.0","method":"notifications/x"}`, own, 202, ""},
		"A notification without a session": {"POST",
			`{"jsonrpc":"2.0","method":"notifications/x"}`, "", 400, "missing"},
		"A response": {"POST", `{"jsonrpc":"2.0","id":77,"result":{}}`, own,
			202, ""},
		"A response that is an error": {"POST",
			`{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`, own, 202, ""},
		"A response without a session": {"POST", `{"jsonrpc":"2.0","id":77,"result":{}}`, "",
			400, "missing"},
		"A batch where there are none": {"POST", `[` + ping + `]`, own, 400,
			"batches are not supported"},
		"initialize in a session that is no": {"POST",
			strings.Replace(initialize, "REVISION", "2025-11-25", 1), "Mcp-Session-Id: x", 404,
			gone},
		"initialize without a version": {"POST",
			`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}`, "", 200, `"code":-32602`},
		"GET without a session":              {"GET", "", "", 400, "missing"},
		"GET in a session that is not there": {"GET", "", "Mcp-Session-Id: x", 404, gone},
		"GET without a stream": {"GET", "", own + "-Accept\nAccept: application/json",
			406, "text/event-stream"},
		"GET after an event that never was": {"GET", "", own + "Last-Event-Id: 99-1", 400,
			"are not stored"},
		"GET after no event": {"GET", "", own + "Last-Event-Id: x", 400,
			"are not stored"},
		"GET with a version nobody has": {"GET", "", own + "Mcp-Protocol-Version: 1.0", 400,
			`"requested":"1.0"`},
		"DELETE without a session": {"DELETE", "", "", 400, "missing"},
		"DELETE of another's":      {"DELETE", "", "Mcp-Session-Id: x", 404, gone},
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			a := s.do(t.Context(), tc.method, s.url, tc.body, tc.header)
			text := a.text()
			assert.Equal(t, a.StatusCode, tc.status, text)
			if tc.want == "" {
				assert.Equal(t, text, "")
				return
			}
			assert.Equal(t, a.Header.Get("Content-Type"), "application/json")
			assert.Assert(t, strings.Contains(text, tc.want), text)
		})
	}
}

func TestDeletedSessionMustBe404(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-11-25", "")
	get := c.get("").isStream()
	results := make(chan int, 1)
	go func() {
		a := c.call("1", "hold", "x", "")
		results <- a.StatusCode
	}()
	<-s.begun
	assert.Equal(t, c.do(t.Context(), "DELETE", c.url, "",
		header("Mcp-Session-Id: "+c.id)).StatusCode, 204)
	get.ends()
	assert.ErrorContains(t, <-s.ended, "the client deleted it")
	assert.Equal(t, <-results, 404)
	for _, method := range []string{"POST", "GET", "DELETE"} {
		assert.Equal(t, c.do(t.Context(), method, c.url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			header("Mcp-Session-Id: "+c.id)).StatusCode, 404)
	}
}

// What a request's handler says comes on the request's own stream, and what belongs to no request
// on one that was opened with GET, each on exactly one.
func TestMessagesMustBeOnOneStreamOnly(t *testing.T) {
	s := start(t, streamable.Options{})
	c, other := s.connect("2025-06-18", ""), s.connect("2025-06-18", "")
	first, second, foreign := c.get("").isStream(), c.get("").isStream(), other.get("").isStream()
	a := c.call("1", "steps", "x", "").isStream()
	s.changeTools("new")
	assert.Assert(t,
		second.event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`).id != "")
	foreign.event("list_changed")
	a.event("one")
	a.event("two")
	<-s.begun
	s.release <- struct{}{}
	a.event("three")
	a.event(`"id":1,"result"`)
	a.ends()
	second.Body.Close()
	// Now it is the other's turn. Until the server has noticed that the second is gone, what it
	// writes there is lost, so this goes on until something comes.
	got := make(chan sent, 1)
	go func() {
		e, _ := first.next()
		got <- e
	}()
	for i := 0; ; i++ {
		s.changeTools(fmt.Sprint("more", i))
		foreign.event("list_changed")
		select {
		case e := <-got:
			assert.Assert(t, strings.Contains(e.data, "list_changed"), "%+v", e)
			return
		default:
		}
	}
}

// A message without a stream is sent once, as soon as a stream is opened.
func TestChangesWaitForAStream(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-06-18", "")
	for i := range 20 {
		s.changeTools(fmt.Sprint("new", i))
	}
	a := c.get("").isStream()
	a.event("list_changed")
	assert.NilError(t, s.handler.Shutdown(t.Context()))
	for {
		e, ok := a.next()
		if !ok {
			break
		}
		assert.Assert(t, strings.Contains(e.data, "list_changed"))
	}
}

func TestServerCallsTheClient(t *testing.T) {
	s := start(t, streamable.Options{})
	c, other := s.connect("2025-06-18", ""), s.connect("2025-06-18", "")
	const accept = `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"N"}}}`
	a := c.call("1", "ask", "", "").isStream()
	asked := a.event(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{`)
	assert.Assert(t, asked.id != "")
	// it has the same id, in another session
	assert.Equal(t, other.post(strings.Replace(accept, `"N"`, `"another's"`, 1), "").StatusCode,
		202)
	// another id
	assert.Equal(t, c.post(strings.Replace(accept, `"id":1`, `"id":"1"`, 1), "").StatusCode, 202)
	assert.Equal(t, c.post(accept, "").StatusCode, 202)
	a.event(`"text":"accept{\"name\":\"N\"}"`)
	a.ends()
	assert.Equal(t, c.post(accept, "").StatusCode, 202) // late, and nobody's

	b := c.call("2", "ask", "", "").isStream()
	b.event(`"id":2,"method":"elicitation/create"`)
	assert.Equal(t, c.post(`{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}`,
		"").StatusCode, 202)
	b.event(`"id":2,"error":`)

	// A client that takes no stream cannot be asked.
	d := c.call("3", "ask", "", "-Accept\nAccept: application/json")
	assert.Equal(t, d.Header.Get("Content-Type"), "application/json")
	assert.Assert(t,
		strings.Contains(d.text(),
			`"error":{"code":-32600,"message":"the server must send the client a request, but the client does not accept text/event-stream"}`))

	// When the client cancels its request, the server cancels its request to the client.
	e := c.call("4", "ask", "", "").isStream()
	e.event(`"id":3,"method":"elicitation/create"`)
	assert.Equal(t, c.post(
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"enough"}}`,
		"").StatusCode, 202)
	e.event(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"rpc: cancelled by the peer: enough"}}`)
	e.ends()
}

// Cancellation is by session and id, and leaves no response.
func TestLegacyCancellation(t *testing.T) {
	s := start(t, streamable.Options{})
	c, other := s.connect("2025-06-18", ""), s.connect("2025-06-18", "")
	answers := make(chan *answer, 2)
	go func() { answers <- c.call("1", "hold", "c", "") }()
	<-s.begun
	go func() { answers <- other.call("1", "hold", "other", "-Accept\nAccept: application/json") }()
	<-s.begun
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}`
	assert.Equal(t, s.do(t.Context(), "POST", s.url, cancel, "").StatusCode, 400)
	assert.Equal(t, c.post(strings.Replace(cancel, ":1,", `:"1",`, 1), "").StatusCode, 202)
	assert.Equal(t, c.post(cancel, "").StatusCode, 202)
	assert.Error(t, <-s.ended, "rpc: cancelled by the peer: enough")
	(<-answers).isStream().ends()
	assert.Equal(t, other.post(cancel, "").StatusCode, 202)
	<-s.ended
	a := <-answers
	assert.Equal(t, a.StatusCode, 202)
	assert.Equal(t, a.text(), "")
	assert.Equal(t, c.post(cancel, "").StatusCode, 202) // too late is no matter
}

// Disconnection is not cancellation.
func TestLegacyDisconnectMustNotCancel(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-06-18", "")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, "POST", s.url,
			strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold","arguments":{"text":"x"}}}`))
		header("Content-Type: application/json\nMcp-Session-Id: " + c.id).apply(req.Header)
		_, err := s.client.Do(req)
		done <- err
	}()
	<-s.begun
	cancel()
	assert.ErrorIs(t, <-done, context.Canceled)
	// It still runs: its id is taken.
	c.call("1", "echo", "x", "").wants(400,
		`{"jsonrpc":"2.0","error":{"code":-32600,"message":"a request with the id 1 is in flight already"}}`)
	assert.Equal(t, len(s.ended), 0)
	s.release <- struct{}{}
	for c.call("1", "echo", "x", "").StatusCode != 200 {
	}
}

func TestInitializeAsAStream(t *testing.T) {
	s := start(t, streamable.Options{})
	a := s.do(t.Context(), "POST", s.url, strings.Replace(initialize, "REVISION", "2025-11-25", 1),
		"-Accept\nAccept: text/event-stream").isStream()
	assert.Assert(t, a.Header.Get("Mcp-Session-Id") != "")
	a.event(`"id":"i","result":{"protocolVersion":"2025-11-25"`)
	a.ends()
}

func TestLegacyAccept(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-06-18", "")
	a := c.call("1", "echo", "x", "-Accept\nAccept: text/event-stream").isStream()
	a.event(`"id":1,"result"`)
	a.ends()
	go func() { s.release <- struct{}{} }()
	b := c.call("2", "steps", "x", "-Accept\nAccept: application/json")
	assert.Equal(t, b.Header.Get("Content-Type"), "application/json")
	assert.Assert(t, strings.Contains(b.text(), `"result"`))
}

// Batches are of 2025-03-26 alone.
func TestBatch(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-03-26", "")
	c.post(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"b","method":"x"},7,`+
		`{"jsonrpc":"2.0","id":3,"result":{}},{"jsonrpc":"2.0","id":4,"method":"initialize","params":{}}]`,
		"").wants(200,
		`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"b","error":{"code":-32601,"message":"Method not found: x"}},`+
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message must be an object"}},`+
			`{"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"initialize must not be in a batch"}}]`)
	a := c.post(`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"notifications/x"}]`,
		"")
	assert.Equal(t, a.StatusCode, 202)
	assert.Equal(t, a.text(), "")
	go func() { s.release <- struct{}{} }()
	b := c.post(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"steps","arguments":{"text":"x"},"_meta":{"progressToken":1}}},{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
		"").isStream()
	b.event("one")
	b.event("two")
	b.event("three")
	b.event(`[{"jsonrpc":"2.0","id":1,"result":`)
	b.ends()
	d := c.post(`[`+strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"},`, 100)+
		`{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "")
	d.wants(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a batch of more than 100 messages is too large"}}`)
}

// Defect G6 of other implementations: a legacy client is asked once only, and gets a result that it
// does not know.
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
