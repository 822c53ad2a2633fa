package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"gotest.tools/v3/assert"
)

func TestFailurePrinted(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    Failure
		want string
	}{
		{"all of it", Failure{Code: "start_exit", Server: "npx", What: "start",
			Why: "exited\nwith status 3\x1b[1m", Hint: "check\nthe key"},
			"stdwire: npx: start: exited with status 3\nhint: check the key\n"},
		{"no server", Failure{Code: "usage", What: "call", Why: "unknown flag --x"},
			"stdwire: call: unknown flag --x\n"},
		{"one line of stderr is in the message already",
			Failure{Server: "s", Why: `exited: "boom"`, Stderr: "boom\n"},
			"stdwire: s: exited: \"boom\"\n"},
		{"more of it is shown", Failure{Server: "s", Why: "exited", Stderr: "a\nb\n"},
			"  | a\n  | b\nstdwire: s: exited\n"},
		{"unless it was", Failure{Server: "s", Why: "exited", Stderr: "a\nb\n", Logged: true},
			"stdwire: s: exited\n"},
		{"the last ten lines",
			Failure{Why: "exited", Stderr: strings.Repeat("old\n", 50) +
				strings.Repeat("new\n", 10)}, strings.Repeat("  | new\n", 10) +
				"stdwire: exited\n"},
	} {
		c := termtest.Capture(false)
		tt.f.Print(c.Err, false)
		assert.Equal(t, c.Stderr.String(), tt.want, tt.name)
	}
}

func TestFailureAsJSON(t *testing.T) {
	c := termtest.Capture(true)
	f := Failure{Code: "server_died", Server: "s", Tool: "t", What: "t", Why: "died\nat once",
		Hint: "h", Stderr: "a\nb"}
	f.Print(c.Err, true)
	line := c.Stderr.String()
	assert.Equal(t, strings.Count(line, "\n"), 1)
	assert.Assert(t, strings.HasSuffix(line, "\n"))
	var got map[string]map[string]any
	assert.NilError(t, json.Unmarshal([]byte(line), &got))
	assert.DeepEqual(t, got, map[string]map[string]any{"error": {
		"code": "server_died", "message": "s: t: died at once", "server": "s", "tool": "t",
		"exit_code": 6.0, "stderr_tail": "a\nb", "hint": "h",
	}})
}
