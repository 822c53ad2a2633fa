package streamable_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/streamable"
)

type nameKey struct{}

// What Authorize says of a caller: the name, values for handlers, headers, and what may be asked
// once the body is known.
func TestAuthorize(t *testing.T) {
	var asked [][]streamable.Message
	o := streamable.Options{
		Principal: func(*http.Request) (string, error) { panic("Authorize stands in for it") },
		Authorize: func(r *http.Request) (streamable.Caller, error) {
			name := r.Header.Get("Authorization")
			if name == "" {
				return streamable.Caller{},
					&streamable.Refusal{Header: http.Header{"Retry-After": {"7"}}}
			}
			return streamable.Caller{
				Principal: name, Context: context.WithValue(r.Context(), nameKey{}, name),
				Header: http.Header{"X-Caller": {name}},
				AuthorizeMessages: func(messages []streamable.Message) error {
					for i, m := range messages {
						messages[i].Params = nil // not to be kept
						switch m.Subject {
						case "regional":
							return &streamable.Refusal{Status: 403, Challenge: "Bearer x",
								Message: "not this", Header: http.Header{"X-More": {"1"}}}
						case "hold":
							return errors.New("something that is told to nobody")
						case "panic":
							panic("ashes")
						}
					}
					asked = append(asked, messages)
					return nil
				},
			}, nil
		},
		HTTPSSE: true,
	}
	s := start(t, o)
	w := s.fixture
	w.offer("who", func(ctx context.Context) (*mcp.CallToolResult, error) {
		name, _ := ctx.Value(nameKey{}).(string)
		return &mcp.CallToolResult{
				Content: []mcp.Content{
					&mcp.TextContent{Text: dispatch.PrincipalFrom(ctx) + " " + name}}},
			nil
	})

	a := s.tool("who", `{}`, "")
	assert.Equal(t, a.StatusCode, 401)
	assert.Equal(t, a.Header.Get("WWW-Authenticate")+a.Header.Get("Retry-After"), "Bearer7")
	a = s.tool("who", `{}`, "Authorization: ada")
	assert.Equal(t, a.Header.Get("X-Caller"), "ada")
	assert.Assert(t, strings.Contains(a.text(), "ada ada"))
	c := s.connect("2025-11-25", "Authorization: ada")
	assert.Assert(t,
		strings.Contains(c.call("1", "who", "", "Authorization: ada").text(), "ada ada"),
		"also in a session")
	assert.Equal(t, c.call("1", "who", "", "Authorization: bob").StatusCode, 404)

	for tool, want := range map[string]struct {
		status int
		text   string
	}{
		"regional": {403, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"not this"}}`},
		"hold": {401,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the caller may not call this; send valid credentials"}}`},
		"panic": {500, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the caller could not be determined; the log has the cause"}}`},
	} {
		s.tool(tool, `{"text":"x"}`, "Authorization: ada").wants(want.status, want.text)
		a := c.call("1", tool, "x", "Authorization: ada")
		a.wants(want.status, want.text)
		assert.Equal(t, a.Header.Get("X-More") == "1", tool == "regional")
	}
	assert.Equal(t, len(w.begun), 0, "nothing of it was begun")

	asked = nil
	assert.Equal(t, c.get("Authorization: ada\nLast-Event-Id: x").StatusCode, 400)
	assert.Equal(t, c.post(`{"jsonrpc":"2.0","id":1,"result":{}}`, "Authorization: ada").StatusCode,
		202)
	s.do(t.Context(), "POST", s.url+"?sessionId=x",
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b"}}`,
		"Authorization: ada").text()
	c = s.connect("2025-03-26", "Authorization: ada")
	c.post(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"p"}},7]`,
		"Authorization: ada").text()
	s.modern("tasks/get", "t1", `"taskId":"t1",`, "Authorization: ada").text()
	var got []string
	for _, messages := range asked {
		text := ""
		for _, m := range messages {
			text += m.Method + "(" + m.Subject + ") "
		}
		got = append(got, strings.TrimSuffix(text, " "))
	}
	assert.DeepEqual(t, got,
		[]string{"", "()", "resources/read(a:b)", "initialize()", "notifications/initialized()",
			"ping() prompts/get(p)", "tasks/get(t1)"})
}

// A caller who has to show again who they are has no stream that goes on; a call that has begun
// does.
func TestStreamsEndWhenTheirCallerExpires(t *testing.T) {
	until := time.Time{}
	o := streamable.Options{Authorize: func(*http.Request) (streamable.Caller, error) {
		return streamable.Caller{Expires: until}, nil
	}}
	inBubble(t, o, func(t *testing.T, b *bubble) {
		session := b.connect("2025-11-25")
		until = time.Now().Add(10 * time.Second)
		stream := b.dial().ask("GET", "", session).isStream()
		call := b.dial()
		call.send("POST", toolCall("hold", "x"), modernTool+"hold")
		<-b.begun
		_, ok := stream.next()
		for ok {
			_, ok = stream.next()
		}
		assert.Assert(t, !time.Now().Before(until) && time.Since(until) < time.Second)
		b.release <- struct{}{}
		assert.Equal(t, call.answer().StatusCode, 200)
		until = time.Time{}
		assert.Equal(t, b.ping(session), 200)
	})
}
