package proc

import (
	"testing"

	"gotest.tools/v3/assert"
)

// A session with cmd.exe, which echoes its input.
func TestProcCmd(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	started := args{"command": "cmd", "args": []string{"/d"}}
	id := run[StartOutput](t, b, "proc.start", started).Session
	b.expect(t, id, `>$`)
	for range 3 {
		run[SendOutput](t, b, "proc.send", args{"session": id, "text": "set ANSWER=42"})
		b.expect(t, id, `>$`)
		run[SendOutput](t, b, "proc.send", args{"session": id, "text": "echo is %ANSWER%"})
		b.expect(t, id, `^is 42$`)
		b.expect(t, id, `>$`)
	}
	run[SendOutput](t, b, "proc.send", args{"session": id, "text": "exit 5"})
	assert.Equal(t, *b.rest(t, id).ExitCode, 5)
}
