//go:build unix

package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/processtest"
	"gotest.tools/v3/assert"
)

// sh starts a shell with a script and returns the id of its session.
func (s *testService) sh(t testing.TB, script string) string {
	t.Helper()
	return run[StartOutput](t, s, "proc.start",
		args{"command": "sh", "args": []string{"-c", script}}).Session
}

// state returns the state letter of a process in /proc, or "" if it does not exist.
func state(t testing.TB, pid int) string {
	t.Helper()
	out, _ := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	if out = []byte(strings.TrimSpace(string(out))); len(out) == 0 {
		return ""
	}
	return string(out[:1])
}

// A process leads a group of its own, so that signals to this program's group do not reach it.
func TestProcStartGroup(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	started := run[StartOutput](t, s, "proc.start", program(t, "copy"))
	group, err := syscall.Getpgid(started.PID)
	assert.NilError(t, err)
	assert.Equal(t, group, started.PID)
}

func TestProcStopBySIGTERM(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.sh(t, `trap 'echo ends; exit 6' TERM; echo ready; while :; do sleep 0.01; done`)
	s.expect(t, id, "ready\n")
	out := run[StopOutput](t, s, "proc.stop", args{"session": id, "grace_ms": 60000})
	assert.Equal(t, *out.ExitCode, 6)
	assert.Assert(t, strings.Contains(out.Output, "ends\n"), out.Output)
}

// The answer says which signal ended it.
func TestProcReadWhenSignalEnds(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.sh(t, "echo bye; kill -SEGV $$")
	out := run[ReadOutput](t, s, "proc.read",
		args{"session": id, "pattern": "never", "wait_ms": 60000})
	assert.Assert(t, !out.Running && !out.Matched && out.ExitCode == nil)
	assert.Equal(t, out.Output, "bye\n")
	assert.Equal(t, out.Signal, "SEGV")
}

// When the process ends, its descendants end, also those in sessions of their own.
func TestProcEndTakesDescendants(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid")
	}
	s := newService(t, Options{})
	id := s.sh(t, `setsid sleep 300 & echo $!; sleep 300 & echo $!`)
	var first, second int
	_, err := fmt.Sscan(s.rest(t, id).Output, &first, &second)
	assert.NilError(t, err)
	processtest.AwaitEnd(t, first, second)
}

func TestProcSignal(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.sh(t, `for s in INT TERM HUP QUIT USR1 USR2; do trap "echo got $s" $s; done; echo ready; while :; do sleep 0.01; done`)
	s.expect(t, id, "ready\n")
	for _, signal := range []string{"INT", "TERM", "HUP", "QUIT", "USR1", "USR2"} {
		assert.Equal(t, run[SignalOutput](t, s, "proc.signal", args{"signal": signal}),
			SignalOutput{id, signal})
		s.expect(t, id, "got "+signal+"\n")
	}
	fails(t, s, "proc.signal", args{"signal": "SEGV"}, dispatch.InvalidInput, "invalid arguments: signal")
	run[SignalOutput](t, s, "proc.signal", args{"signal": "KILL"})
	assert.Equal(t, s.rest(t, id).Signal, "KILL")
	fails(t, s, "proc.signal", args{"signal": "INT"}, dispatch.StateError, "has ended")
}

func TestProcSignalReachesTheGroup(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.sh(t, `trap "echo parent" USR1; sh -c 'trap "echo child; exit" USR1; echo ready; while :; do sleep 0.01; done' & wait; wait; echo over`)
	s.expect(t, id, "ready\n")
	run[SignalOutput](t, s, "proc.signal", args{"signal": "USR1"})
	s.expect(t, id, "(?s)(child|parent).*(child|parent)")
	s.expect(t, id, "over\n")
}

func TestProcSignalStopAndContinue(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ps"); err != nil {
		t.Skip("there is no ps")
	}
	s := newService(t, Options{})
	id := s.start(t, "copy")
	run[SignalOutput](t, s, "proc.signal", args{"signal": "STOP"})
	pid := run[ListOutput](t, s, "proc.list", nil).Sessions[0].PID
	eventually.True(t, "it is stopped", func() bool { return state(t, pid) == "T" })
	run[SendOutput](t, s, "proc.send", args{"text": "x"})
	assert.Equal(t, run[ReadOutput](t, s, "proc.read", nil).Output, "")
	run[SignalOutput](t, s, "proc.signal", args{"signal": "CONT"})
	s.expect(t, id, "x\n")
	// A stopped process can be ended too.
	run[SignalOutput](t, s, "proc.signal", args{"signal": "STOP"})
	assert.Assert(t, run[StopOutput](t, s, "proc.stop", args{"grace_ms": 50}).Stopped)
	processtest.AwaitEnd(t, pid)
}

func TestProcStartFailuresOfUnix(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	s.put(t, "plain", "#!/bin/sh\n", 0o644)
	s.put(t, "lost", "#!/no/such/interpreter\n", 0o755)
	s.put(t, "garbage", "\x7fELFno", 0o755)
	assert.NilError(t, os.Mkdir(filepath.Join(s.dir, "dir"), 0o777))
	for _, test := range []struct {
		command string
		code    dispatch.Code
		text    string
	}{
		{"no-such-program", dispatch.NotFound, "not found in $PATH"},
		{"/no/such/program", dispatch.NotFound, "no such file"},
		{"./plain", dispatch.PermissionDenied, "permission denied"},
		{"./plain/x", dispatch.NotFound, "not a directory"},
		{"./dir", dispatch.PermissionDenied, "permission denied"},
		{"/", dispatch.PermissionDenied, "is a directory"},
		{"./lost", dispatch.NotFound, "interpreter"},
		{"./garbage", dispatch.InvalidInput, "exec format"},
	} {
		fails(t, s, "proc.start", args{"command": test.command}, test.code, test.text)
	}
}
