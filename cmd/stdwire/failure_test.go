package main

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestFailurePrinted(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    failure
		want string
	}{
		{"all of it", failure{code: "start_exit", server: "npx", what: "start", why: "exited\nwith status 3\x1b[1m", hint: "check\nthe key"}, "stdwire: npx: start: exited with status 3\nhint: check the key\n"},
		{"no server", failure{code: "usage", what: "call", why: "unknown flag --x"}, "stdwire: call: unknown flag --x\n"},
		{"one line of stderr is in the message already", failure{server: "s", why: `exited: "boom"`, stderr: "boom\n"}, "stdwire: s: exited: \"boom\"\n"},
		{"more of it is shown", failure{server: "s", why: "exited", stderr: "a\nb\n"}, "  | a\n  | b\nstdwire: s: exited\n"},
		{"unless it was", failure{server: "s", why: "exited", stderr: "a\nb\n", logged: true}, "stdwire: s: exited\n"},
		{"the last ten lines", failure{why: "exited", stderr: strings.Repeat("old\n", 50) + strings.Repeat("new\n", 10)}, strings.Repeat("  | new\n", 10) + "stdwire: exited\n"},
	} {
		c := capture(false)
		tt.f.print(c.err, false)
		assert.Equal(t, c.stderr.String(), tt.want, tt.name)
	}
}

func TestFailureAsJSON(t *testing.T) {
	c := capture(true)
	f := failure{code: "server_died", server: "s", tool: "t", what: "t", why: "died\nat once", hint: "h", stderr: "a\nb"}
	f.print(c.err, true)
	line := c.stderr.String()
	assert.Equal(t, strings.Count(line, "\n"), 1)
	assert.Assert(t, strings.HasSuffix(line, "\n"))
	var got map[string]map[string]any
	assert.NilError(t, json.Unmarshal([]byte(line), &got))
	assert.DeepEqual(t, got, map[string]map[string]any{"error": {
		"code": "server_died", "message": "s: t: died at once", "server": "s", "tool": "t", "exit_code": 6.0, "stderr_tail": "a\nb", "hint": "h",
	}})
}
