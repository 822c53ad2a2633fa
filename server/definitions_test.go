package server_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server"
)

// Defect G18 of other implementations: an invalid name of a tool is only logged, and a client that
// has not declared its revision is served.
func TestG18MistakesAreErrors(t *testing.T) {
	s := made(quiet)
	assert.ErrorContains(t, s.AddRawTool(echo("no name", `{"type":"object"}`)), "a name is")
	k := connect(t, s)
	k.expectError("tools/list", "", -32602, "send initialize first")
	k.expectError("tools/call", `{"name":"no name"}`, -32602, "send initialize first")
	k.speak("2025-11-25", `{}`)
	k.want("tools/list", "", `{"tools":[]}`)
}

// Defect M17 of other implementations: arguments are validated only on request, and an invalid
// schema accepts everything.
func TestM17SchemasHold(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		must(t, s.AddRawTool(echo("strict", `{"type":"object","required":["a"]}`)))
	})
	for _, schema := range []string{`{"type":"object","properties":{"a":{"type":"nonsense"}}}`,
		`{"type":"object","properties":{"a":{"pattern":"("}}}`,
		`{"type":"object","$ref":"#/nowhere"}`} {
		assert.ErrorContains(t, s.AddRawTool(echo("broken", schema)), `server: tool "broken"`)
	}
	k := speak(t, s, newest, `{}`)
	assert.Assert(t,
		strings.Contains(k.request("tools/call", `{"name":"strict","arguments":{}}`).raw,
			`"isError":true`))
	k.expectError("tools/call", `{"name":"broken"}`, -32602, "Unknown tool")
}
