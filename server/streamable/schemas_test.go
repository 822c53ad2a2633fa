package streamable_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/server/streamable"
)

// A revision checks messages against the schema that the specification publishes of it.
type revision struct {
	t        *testing.T
	document map[string]json.RawMessage
	keyword  string
}

func openRevision(t *testing.T, name string) *revision {
	t.Helper()
	suites := os.Getenv("STDWIRE_SUITES")
	if suites == "" {
		t.Skip("STDWIRE_SUITES does not say where the schemas are")
	}
	raw, err := os.ReadFile(filepath.Join(suites, "mcp-schema", name, "schema.json"))
	assert.NilError(t, err)
	r := &revision{t: t, keyword: "$defs"}
	assert.NilError(t, json.Unmarshal(raw, &r.document))
	if r.document[r.keyword] == nil {
		r.keyword = "definitions"
	}
	return r
}

// wants checks that a message is what the schema calls so.
func (r *revision) wants(name, message string) {
	r.t.Helper()
	raw, err := json.Marshal(map[string]json.RawMessage{
		"$ref":    json.RawMessage(`"#/` + r.keyword + "/" + name + `"`),
		r.keyword: r.document[r.keyword], "$schema": r.document["$schema"],
	})
	assert.NilError(r.t, err)
	compiled, err := schema.Compile(raw)
	assert.NilError(r.t, err)
	if err := compiled.Validate([]byte(message)); err != nil {
		r.t.Errorf("%s is no %s: %v", message, name, err)
	}
}

func TestModernMessagesFitTheSchema(t *testing.T) {
	r := openRevision(t, "2026-07-28")
	s := start(t, streamable.Options{})
	r.wants("CallToolResultResponse", s.tool("echo", `{"text":"x"}`, "").text())
	r.wants("DiscoverResultResponse", s.modern("server/discover", "", "", "").text())
	r.wants("ListToolsResultResponse", s.modern("tools/list", "", "", "").text())
	r.wants("HeaderMismatchError", s.modern("tools/list", "", "", "-Mcp-Method").text())
	r.wants("MissingRequiredClientCapabilityError", s.tool("ask", `{}`, "").text())
	r.wants("JSONRPCErrorResponse", s.modern("x", "", "", "").text())
	r.wants("JSONRPCErrorResponse", s.tool("none", `{}`, "").text())
	r.wants("JSONRPCErrorResponse",
		s.do(t.Context(), "GET", s.url, "", "Mcp-Protocol-Version: 2026-07-28").text())
	r.wants("UnsupportedProtocolVersionError",
		s.do(t.Context(), "POST", s.url,
			strings.Replace(modernCall("x", ""), "2026-07-28", "2027-01-01", 1),
			"Mcp-Protocol-Version: 2027-01-01").text())
	steps := strings.Replace(toolCall("steps", "x"), `"_meta":{`, `"_meta":{"progressToken":"p",`,
		1)
	a := s.do(t.Context(), "POST", s.url, steps, modernTool+"steps").isStream()
	r.wants("ProgressNotification", a.event("one").data)
	listen := s.modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true},`,
		"").isStream()
	r.wants("SubscriptionsAcknowledgedNotification", listen.event("acknowledged").data)
	s.changeTools("new")
	r.wants("ToolListChangedNotification", listen.event("list_changed").data)
	a.event("two")
	<-s.begun
	s.release <- struct{}{}
	assert.NilError(t, s.handler.Shutdown(t.Context()))
	r.wants("CancelledNotification", listen.event("cancelled").data)
	r.wants("SubscriptionsListenResultResponse", listen.event("result").data)
	r.wants("JSONRPCErrorResponse", s.tool("echo", `{"text":"x"}`, "").text())
}

func TestLegacyMessagesFitTheSchema(t *testing.T) {
	for _, name := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(name, func(t *testing.T) {
			r := openRevision(t, name)
			s := start(t, streamable.Options{})
			a := s.do(t.Context(), "POST", s.url, strings.Replace(initialize, "REVISION", name, 1),
				"").text()
			r.wants("JSONRPCMessage", a)
			r.wants("InitializeResult", string(resultOf(t, a)))
			c := s.connect(name, "")
			b := c.call("1", "echo", "x", "").text()
			r.wants("JSONRPCMessage", b)
			r.wants("CallToolResult", string(resultOf(t, b)))
			r.wants("JSONRPCMessage", c.post(`{"jsonrpc":"2.0","id":1,"method":"x"}`, "").text())
			stream := c.call("2", "steps", "x", "-Accept\nAccept: text/event-stream").isStream()
			e, _ := stream.next()
			if e.data == "" {
				e = stream.event("one")
			}
			r.wants("ProgressNotification", e.data)
			get := c.get("").isStream()
			s.changeTools("new")
			r.wants("ToolListChangedNotification", get.event("list_changed").data)
			s.release <- struct{}{}
			if name >= "2025-06-18" {
				ask := c.call("3", "ask", "x", "").isStream()
				e, _ := ask.next()
				if e.data == "" {
					e = ask.event("elicitation")
				}
				r.wants("ElicitRequest", e.data)
				assert.Equal(t, c.post(
					`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
					"").StatusCode, 202)
				r.wants("CancelledNotification", ask.event("cancelled").data)
			}
		})
	}
}

func resultOf(t *testing.T, message string) json.RawMessage {
	t.Helper()
	var m struct{ Result json.RawMessage }
	assert.NilError(t, json.Unmarshal([]byte(message), &m))
	return m.Result
}
