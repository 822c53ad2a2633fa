package tapcmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tapcmd"
)

var commands = command.Table{tapcmd.TapCommand()}

// Nothing is printed for a file that is no recording; a truncated one is converted to its end.
func TestTapTracesOfBrokenFiles(t *testing.T) {
	const start = `{"t":0,"kind":"start","version":1,"at":"2026-11-24T10:00:00Z"}` + "\n"
	const ping = `{"t":1,"n":1,"from":"client","kind":"request","method":"ping","id":1}` + "\n"
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	for _, tt := range []struct {
		content string
		code    int
		spans   int
		stderr  string
	}{
		{start, 0, 0, ""},
		{start + ping, 0, 1, ""},
		{start + ping + ping[:9], 0, 1, "note: FILE: the recording ends in the middle of a line\n"},
		{start + ping + "{\n" + ping, 2, 0,
			"stdwire: tap traces: FILE: line 3 of the recording: unexpected end of JSON input\n"},
		{"hello\n", 2, 0, "stdwire: tap traces: FILE: not a recording of stdwire tap\n"},
	} {
		assert.NilError(t, os.WriteFile(file, []byte(tt.content), 0o600))
		got := commandtest.Run(t, commands, "tap", "traces", file)
		stderr, _, _ := strings.Cut(strings.ReplaceAll(got.Stderr, file, "FILE"), "hint: ")
		assert.Equal(t, stderr, tt.stderr)
		assert.Equal(t, got.Code, tt.code)
		assert.Equal(t, strings.Count(got.Stdout, `"spanId"`), tt.spans, got.Stdout)
		assert.Equal(t, json.Valid([]byte(got.Stdout)), tt.code == 0, got.Stdout)
	}
	for _, tt := range []struct{ args, stderr string }{
		{"tap traces", "stdwire: tap traces: which recording?\n"},
		{"tap traces a b", "stdwire: tap traces: unexpected argument \"b\"\n"},
		{"tap trace", "stdwire: tap: unexpected argument \"trace\"\nhint: did you mean traces?\n"},
	} {
		got := commandtest.Run(t, commands, strings.Fields(tt.args)...)
		assert.Equal(t, got.Code, 2, tt.args)
		assert.Assert(t, strings.HasPrefix(got.Stderr, tt.stderr), "%s: %s", tt.args, got.Stderr)
	}
}
