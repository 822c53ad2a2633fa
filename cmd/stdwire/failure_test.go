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

// Scripts rely on these: a code may be added, none may be changed.
func TestExitCodes(t *testing.T) {
	assert.DeepEqual(t, exits, map[string]int{
		"internal": 1, "usage": 2, "bad_args": 2, "auth_required": 3, "unreachable": 4, "spawn_failed": 4, "start_exit": 4, "start_timeout": 4, "tool_is_error": 5, "refused": 5, "not_found": 5,
		"call_timeout": 6, "server_died": 6, "too_large": 7, "findings": 10, "untrusted": 7, "denied": 7, "config": 8, "hangup": 129, "interrupted": 130, "closed_pipe": 141, "terminated": 143,
	})
	for _, cause := range causes {
		for _, code := range []string{cause.start, cause.call} {
			assert.Assert(t, code == "" || exits[code] != 0, code)
		}
	}
	assert.Equal(t, (&failure{code: "unheard of"}).exit(), 1)
}

func TestWantsJSON(t *testing.T) {
	for args, want := range map[string]bool{
		"call x -o json": true, "call x -o=json --bad": true, "call x -o text": false, "call x -- y -o json": false, "call -o": false, "": false,
	} {
		assert.Equal(t, wantsJSON(strings.Fields(args)), want, args)
	}
}
