//go:build unix

package proc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/processtest"
	"gotest.tools/v3/assert"
)

const halfOutput = 32 << 10 // bytes kept of the start and the end of an output

func TestProcEval(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	assert.NilError(t, os.Mkdir(filepath.Join(s.dir, "sub"), 0o777))
	for _, test := range []struct {
		arguments args
		want      string
		code      int
	}{
		{args{"script": "echo a; echo b >&2; exit 3"}, "a\nb\n", 3},
		{args{"script": "i=0; while [ $i -lt 20 ]; do echo $i; echo $i >&2; i=$((i+1)); done"},
			inOrder(20), 0},
		{args{"script": "sort", "input": "b\na\n"}, "a\nb\n", 0},
		{args{"script": "cat"}, "", 0}, // empty input
		{args{"script": "true", "input": strings.Repeat("x", 1<<20)}, "", 0},
		{args{"script": `echo "$X-$0"`, "env": []string{"X=y z"}}, "y z-sh\n", 0},
		{args{"script": "basename $PWD", "dir": "sub"}, "sub\n", 0},
		{args{"script": "-x"}, "sh: 1: -x: not found\n", 127},
		{args{"script": "printf '\\377'"}, "\uFFFD", 0},
		{args{"script": "cat <<E | tr a b\naaa\nE\n"}, "bbb\n", 0},
	} {
		out := run[EvalOutput](t, s, "proc.eval", test.arguments)
		if out.Output != test.want &&
			!(test.code == 127 && strings.Contains(out.Output, "not found")) {
			t.Errorf("%v: %q", test.arguments, out.Output)
		}
		assert.Equal(t, *out.ExitCode, test.code, "%v", test.arguments)
		assert.Assert(t, !out.Truncated && !out.TimedOut)
	}
	out := run[EvalOutput](t, s, "proc.eval", args{"script": "kill -TERM $$"})
	assert.Assert(t, out.Signal == "TERM" && out.ExitCode == nil)
	fails(t, s, "proc.eval", args{"script": ""}, dispatch.InvalidInput, "invalid arguments: script")
	fails(t, s, "proc.eval", args{"script": "a\x00b"}, dispatch.InvalidInput, "NUL")
	fails(t, s, "proc.eval", args{"script": ":", "instance": "other"}, dispatch.UnknownInstance,
		"main")
	// a script is not a session
	assert.Equal(t, len(run[ListOutput](t, s, "proc.list", nil).Sessions), 0)
}

func TestProcEvalTruncated(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	out := run[EvalOutput](t, s, "proc.eval",
		args{"script": `echo first; i=0; while [ $i -lt 30000 ]; do echo "€ $i"; i=$((i+1)); done; echo last`})
	assert.Assert(t, out.Truncated)
	assert.Assert(t, strings.HasPrefix(out.Output, "first\n€ 0\n") &&
		strings.HasSuffix(out.Output, "\n€ 29999\nlast\n"))
	assert.Assert(t, !strings.Contains(out.Output, "\uFFFD"))
	head, rest, ok := strings.Cut(out.Output, "\n[… ")
	assert.Assert(t, ok)
	var left int
	_, err := fmt.Sscanf(rest, "%d bytes are left out here …]", &left)
	assert.NilError(t, err)
	_, tail, _ := strings.Cut(rest, "]\n")
	assert.Equal(t, len(head)+left+len(tail), len("first\nlast\n")+30000*len("€ \n")+138890)
	assert.Assert(t, len(head) <= halfOutput && len(tail) <= halfOutput)

	// Two full halves are not truncated.
	whole := run[EvalOutput](t, s, "proc.eval",
		args{"script": fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", 2*halfOutput)})
	assert.Assert(t, !whole.Truncated && len(whole.Output) == 2*halfOutput)
}

func TestProcEvalBlocked(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	for _, script := range []string{"sudo id", "rm -rf /", "echo x; RM  -rf '/'", "nohup sleep 1",
		"curl x | sh"} {
		err := fails(t, s, "proc.eval", args{"script": script}, dispatch.Blocked, "must not contain")
		assert.Equal(t, details[string](t, err, "path"), "/script")
	}
	fails(t, s, "proc.eval", args{"script": "sh", "input": "sudo id"}, dispatch.Blocked,
		"input must not contain")
	fails(t, s, "proc.eval", args{"script": "$X", "env": []string{"X=sudo id"}}, dispatch.Blocked,
		"env[0] must not contain")
}

// scriptPIDs waits until a stubborn script has written its process ids to a file.
func (s *testService) scriptPIDs(t testing.TB) (pids []int) {
	t.Helper()
	pids = make([]int, 3)
	eventually.True(t, "the script runs", func() bool {
		data, _ := os.ReadFile(filepath.Join(s.dir, "pids"))
		n, _ := fmt.Sscan(string(data), &pids[0], &pids[1], &pids[2])
		return n == 3
	})
	return pids
}

// stubbornScript is a script whose shell and two children ignore all signals that they can. It
// writes the three process ids to a file.
const stubbornScript = `echo partial; trap '' TERM HUP INT; sleep 300 & one=$!
sleep 300 & echo $$ $one $! >pids; wait`

func TestProcEvalTimesOut(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	// The script may need more time until it waits.
	var out EvalOutput
	for timeout := 1000; timeout < 100_000; timeout *= 3 {
		out = run[EvalOutput](t, s, "proc.eval",
			args{"script": stubbornScript, "timeout_ms": timeout})
		if data, _ := os.ReadFile(filepath.Join(s.dir, "pids")); len(data) > 0 {
			break
		}
	}
	assert.Assert(t, out.TimedOut)
	assert.Equal(t, out.Output, "partial\n")
	assert.Equal(t, out.Signal, "KILL")
	processtest.AwaitEnd(t, s.scriptPIDs(t)...)
}

func TestProcEvalCancelled(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan dispatch.Envelope)
	go func() { done <- s.dispatch(ctx, "proc.eval", args{"script": stubbornScript}) }()
	pids := s.scriptPIDs(t)
	cancel()
	failed(t, s, <-done, dispatch.Cancelled, "")
	processtest.AwaitEnd(t, pids...)
}

func TestProcEvalShutdown(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	done := make(chan dispatch.Envelope)
	go func() {
		done <- s.dispatch(context.Background(), "proc.eval", args{"script": stubbornScript})
	}()
	pids := s.scriptPIDs(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	assert.NilError(t, s.Shutdown(ctx))
	processtest.AwaitEnd(t, pids...)
	failed(t, s, <-done, dispatch.StateError, "shutting down")
	fails(t, s, "proc.eval", args{"script": ":"}, dispatch.StateError, "shutting down")
}

// Background processes of a script end with it.
func TestProcEvalBackground(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	out := run[EvalOutput](t, s, "proc.eval", args{"script": "sleep 300 & echo $!"})
	var pid int
	_, err := fmt.Sscan(out.Output, &pid)
	assert.NilError(t, err)
	processtest.AwaitEnd(t, pid)
}

func TestProcEvalCap(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{Max: 2})
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() { s.dispatch(ctx, "proc.eval", args{"script": "sleep 300"}) })
	}
	eventually.True(t, "two run", func() bool { return len(s.scripts.slots) == 2 })
	fails(t, s, "proc.eval", args{"script": ":"}, dispatch.StateError, "2 scripts")
	s.start(t, "copy") // sessions are counted separately
	cancel()
	calls.Wait()
	run[EvalOutput](t, s, "proc.eval", args{"script": ":"})
}

func TestProcEvalDirEscape(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	for _, dir := range s.escapingLinks(t) {
		fails(t, s, "proc.eval", args{"script": "pwd", "dir": dir}, dispatch.PermissionDenied, "")
	}
	out := run[EvalOutput](t, s, "proc.eval", args{"script": "basename $PWD", "dir": "inside"})
	assert.Equal(t, out.Output, "in\n")
}

// No file stays open after a script, however it ended.
func TestProcEvalFiles(t *testing.T) {
	s := newService(t, Options{})
	noFilesLeft(t, func() {
		run[EvalOutput](t, s, "proc.eval", args{"script": "cat", "input": "x"})
		run[EvalOutput](t, s, "proc.eval", args{"script": "sleep 300", "timeout_ms": 1})
	})
}

// Shutdown ends all processes of a running script.
func TestProcEvalShutdownWhileInUse(t *testing.T) {
	before := goroutines()
	s := newService(t, Options{})
	done := make(chan dispatch.Envelope)
	go func() {
		script := args{"script": "touch running; sleep 300", "timeout_ms": 600000}
		done <- s.dispatch(context.Background(), "proc.eval", script)
	}()
	eventually.True(t, "it runs", func() bool {
		_, err := os.Stat(filepath.Join(s.dir, "running"))
		return err == nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	assert.NilError(t, s.Shutdown(ctx))
	<-done
	eventually.True(t, "all goroutines have ended", func() bool { return goroutines() <= before })
}

// The allow list applies to proc.start. Scripts have a gate of their own, and no list.
func TestProcAllowIsNotForEval(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{Allow: []string{}})
	assert.DeepEqual(t,
		details[[]string](t,
			fails(t, s, "proc.start", args{"command": "cat"}, dispatch.PermissionDenied, ""),
			"allowed"), []string{})
	assert.Equal(t, run[EvalOutput](t, s, "proc.eval",
		args{"script": "echo $PATH", "env": []string{"PATH=/x"}}).Output, "/x\n")
}
