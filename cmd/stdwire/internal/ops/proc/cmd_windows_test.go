package proc

import (
	"testing"

	"gotest.tools/v3/assert"
)

// A session with cmd.exe, which echoes its input.
func TestProcCmd(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	started := args{"command": "cmd", "args": []string{"/d"}}
	id := run[StartOutput](t, s, "proc.start", started).Session
	s.expect(t, id, `>$`)
	for range 3 {
		run[SendOutput](t, s, "proc.send", args{"session": id, "text": "set ANSWER=42"})
		s.expect(t, id, `>$`)
		run[SendOutput](t, s, "proc.send", args{"session": id, "text": "echo is %ANSWER%"})
		s.expect(t, id, `^is 42$`)
		s.expect(t, id, `>$`)
	}
	run[SendOutput](t, s, "proc.send", args{"session": id, "text": "exit 5"})
	assert.Equal(t, *s.rest(t, id).ExitCode, 5)
}
