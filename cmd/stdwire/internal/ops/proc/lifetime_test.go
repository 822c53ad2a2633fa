package proc

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/processtest"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

func TestProcList(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	assert.Equal(t, string(s.dispatch(t.Context(), "proc.list", nil).Data), `{"sessions":[]}`)
	before := time.Now().Truncate(time.Millisecond)
	exited, running := s.start(t, "say hello", "exit 4"),
		run[StartOutput](t, s, "proc.start", program(t, "copy"))
	run[WaitOutput](t, s, "proc.wait", args{"session": exited})
	all := run[ListOutput](t, s, "proc.list", nil).Sessions
	assert.Equal(t, len(all), 2)
	assert.Equal(t, all[0].Session, exited)
	assert.DeepEqual(t, all[0].Args, []string{"say hello", "exit 4"})
	assert.Assert(t, !all[0].Running && *all[0].ExitCode == 4 && all[0].OutputBytes == 6)
	assert.Assert(t, !all[0].StartedAt.Before(before) && !all[0].StartedAt.After(time.Now()))
	assert.Equal(t, all[1].Session, running.Session)
	assert.Assert(t, all[1].Running && all[1].PID == running.PID && all[1].Command == self(t) &&
		all[1].ExitCode == nil)
}

func TestProcCap(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{Max: 3})
	var ids []string
	for range 3 {
		ids = append(ids, s.start(t, "copy"))
	}
	err := fails(t, s, "proc.start", program(t, "copy"), dispatch.StateError,
		"which is the limit")
	assert.DeepEqual(t, details[[]string](t, err, "sessions"), ids)

	// The oldest ended session makes room.
	for _, id := range []string{ids[2], ids[1]} {
		run[SendOutput](t, s, "proc.send", args{"session": id, "eof": true})
		s.rest(t, id)
	}
	// But not for another caller.
	fails(t, s.as("bob", nil), "proc.start", program(t, "copy"), dispatch.StateError,
		"which is the limit")
	added := s.start(t, "copy")
	var left []string
	for _, listed := range run[ListOutput](t, s, "proc.list", nil).Sessions {
		left = append(left, listed.Session)
	}
	assert.DeepEqual(t, left, []string{ids[0], ids[2], added})

	// A failed start does not count.
	run[StopOutput](t, s, "proc.stop", args{"session": ids[0]})
	for range 5 {
		fails(t, s, "proc.start", args{"command": "no-such-program"}, dispatch.NotFound, "")
	}
	run[StartOutput](t, s, "proc.start", program(t, "copy"))
}

func TestProcIdle(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{Idle: 600 * time.Millisecond})
	idle := s.start(t, stubborn...)
	pids := s.pids(t, idle)
	busy := s.start(t, "copy")
	// A waiting call keeps its session in use.
	waited := run[ReadOutput](t, s, "proc.read",
		args{"session": busy, "until": "output", "wait_ms": 1200})
	assert.Assert(t, waited.Running)
	processtest.AwaitEnd(t, pids...)
	eventually.True(t, "so is the other, once nobody uses it",
		func() bool { return len(s.sessions.List(context.Background())) == 0 })
	fails(t, s, "proc.read", args{"session": idle}, dispatch.NotRunning, "")
}

func TestProcPrincipals(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	ann, bob := s.as("ann", nil), s.as("bob", nil)
	id := ann.start(t, "copy")
	assert.Equal(t, len(run[ListOutput](t, bob, "proc.list", nil).Sessions), 0)
	for operation, arguments := range map[string]args{
		"proc.send": {"text": "x"}, "proc.read": {}, "proc.wait": {},
		"proc.signal": {"signal": "KILL"},
	} {
		// "" is not ann's only one
		fails(t, bob, operation, arguments, dispatch.NotRunning, "no session is running")
		arguments["session"] = id
		err := fails(t, bob, operation, arguments, dispatch.NotRunning, "no session is running")
		assert.DeepEqual(t, details[[]string](t, err, "sessions"), []string{})
	}
	assert.Assert(t, !run[StopOutput](t, bob, "proc.stop", args{"session": id}).Stopped)
	run[SendOutput](t, ann, "proc.send", args{"text": "mine"})
	ann.expect(t, id, "mine\n")
}

func TestProcClientGone(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	client, leave := context.WithCancel(t.Context())
	defer leave()
	clientService := s.as("", client)
	var pids []int
	for range 3 {
		pids = append(pids, clientService.pids(t, clientService.start(t, stubborn...))...)
	}
	remaining := s.start(t, "copy")
	leave()
	processtest.AwaitEnd(t, pids...)
	eventually.True(t, "only the other is left",
		func() bool { return len(s.sessions.List(context.Background())) == 1 })
	run[SendOutput](t, s, "proc.send", args{"session": remaining, "text": "x"})
}

// The client is gone before the process has started.
func TestProcClientGoneBefore(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	client, leave := context.WithCancel(t.Context())
	leave()
	envelope := s.as("", client).dispatch(t.Context(), "proc.start", program(t, "copy"))
	eventually.True(t, "nothing is left",
		func() bool { return len(s.sessions.List(context.Background())) == 0 })
	if envelope.Err == nil {
		processtest.AwaitEnd(t, decode[StartOutput](t, envelope).PID)
	}
}

// Stubborn processes end before the deadline of ctx.
func TestProcShutdown(t *testing.T) {
	s := newService(t, Options{})
	var pids []int
	for range 20 {
		pids = append(pids, s.pids(t, s.start(t, stubborn...))...)
	}
	const limit = 3 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	start := time.Now()
	err := s.Shutdown(ctx)
	processtest.AwaitEnd(t, pids...)
	duration := time.Since(start)
	t.Logf("20 stubborn processes: %v, %v", duration, err)
	// killing 60 takes a while on a busy machine; with the whole grace it would be 40 s
	assert.Assert(t, duration < limit+7*time.Second, "%v", duration)
	fails(t, s, "proc.start", program(t, "copy"), dispatch.StateError, "program is ending")
	var shutdowns sync.WaitGroup
	for range 4 {
		shutdowns.Go(func() { assert.Check(t, s.Shutdown(context.Background())) })
	}
	shutdowns.Wait()
}

func TestProcShutdownOutOfTime(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	pids := append(s.pids(t, s.start(t, stubborn...)), s.pids(t, s.start(t, stubborn...))...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.Shutdown(ctx) // with or without an error, the processes are gone
	processtest.AwaitEnd(t, pids...)
}

// Calls that wait during Shutdown return, and none of their processes is left.
func TestProcShutdownWhileInUse(t *testing.T) {
	before := goroutines()
	s := newService(t, Options{})
	var calls sync.WaitGroup
	id := s.start(t, "copy")
	sleeping := s.start(t, "sleep")
	for operation, arguments := range map[string]args{
		"proc.read": {"session": id, "pattern": "never", "wait_ms": 600000},
		"proc.wait": {"session": id, "timeout_ms": 600000},
		"proc.send": {"session": sleeping, "text": big, "timeout_ms": 600000},
	} {
		calls.Go(func() { s.dispatch(context.Background(), operation, arguments) })
	}
	sleeper := program(t, "sleep")
	for range 8 { // and some that start
		calls.Go(func() {
			for s.dispatch(context.Background(), "proc.start", sleeper).Err == nil {
			}
		})
	}
	eventually.True(t, "there are many",
		func() bool { return len(s.sessions.List(context.Background())) > 10 })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	assert.NilError(t, s.Shutdown(ctx))
	calls.Wait()
	eventually.True(t, "all goroutines have ended", func() bool { return goroutines() <= before })
}

// goroutines counts the goroutines of this package and of package guard that do not run a test.
func goroutines() (n int) {
	buf := make([]byte, 1<<20)
	for stack := range bytes.SplitSeq(buf[:runtime.Stack(buf, true)], []byte("\n\n")) {
		if (bytes.Contains(stack, []byte("/ops/proc.")) ||
			bytes.Contains(stack, []byte("/guard."))) &&
			!bytes.Contains(stack, []byte("testing.tRunner")) {
			n++
		}
	}
	return n
}

func TestProcRegister(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roots, err := fs.OpenRoots([]fs.Root{{Name: "main", Dir: dir}})
	assert.NilError(t, err)
	defer roots.Close()
	for _, gate := range []dispatch.Gate{"", dispatch.GateExec, dispatch.GateEval} {
		catalog := dispatch.NewCatalog(gate)
		s, err := Register(catalog, Options{Roots: roots})
		assert.NilError(t, err)
		for _, op := range catalog.Operations() {
			assert.Equal(t, op.Spec().Gate, gate, op.Name())
			assert.Assert(t, gate != "", "%s needs no gate", op.Name())
		}
		assert.Equal(t, len(catalog.Operations()) > 0,
			gate == dispatch.GateExec || gate == dispatch.GateEval && HasEval, gate)
		_, err = Register(catalog, Options{Roots: roots})
		assert.ErrorContains(t, err, "taken")
		assert.NilError(t, s.Shutdown(t.Context()))
	}
	_, err = Register(dispatch.NewCatalog(), Options{})
	assert.ErrorContains(t, err, "roots")
	_, err = Register(dispatch.NewCatalog(), Options{Roots: roots, Allow: []string{"./x"}})
	assert.ErrorContains(t, err, `"./x"`)
}

// The types, gates and error codes of the operations.
func TestProcTypes(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	var got strings.Builder
	for _, op := range s.dispatcher.Catalog().Operations() {
		spec := op.Spec()
		fmt.Fprintln(&got, op.Name(), spec.Type, spec.Gate, spec.Errors)
		assert.Assert(t, len(spec.Summary) < 100, spec.Summary)
	}
	if !HasEval {
		_, others, _ := strings.Cut(string(golden.Get(t, "operations.txt")), "\n") // after proc.eval
		assert.Equal(t, got.String(), others)
		return
	}
	golden.Assert(t, got.String(), "operations.txt")
}

// No file stays open after a process, however it ended, or if it did not start.
func TestProcFiles(t *testing.T) {
	s := newService(t, Options{})
	garbage := s.garbage(t)
	noFilesLeft(t, func() {
		missing := program(t, "copy")
		missing["dir"] = "gone"
		fails(t, s, "proc.start", args{"command": "no-such-program"}, dispatch.NotFound, "")
		fails(t, s, "proc.start", missing, dispatch.NotFound, "")
		fails(t, s, "proc.start", args{"command": "./" + garbage}, dispatch.InvalidInput, "")
		s.rest(t, s.start(t))
		ended := s.sessions.List(t.Context())[0].ID
		run[StopOutput](t, s, "proc.stop", args{"session": ended})
		id := s.start(t, "copy")
		run[StopOutput](t, s, "proc.stop", args{"session": id, "grace_ms": 0})
	})
}

// noFilesLeft checks that repeated work opens no more files than the first round, which opens some
// once.
func noFilesLeft(t *testing.T, round func()) {
	t.Helper()
	round()
	before := openFiles(t)
	for range 5 {
		round()
	}
	eventually.AtMost(t, "open files", before, func() int { return openFiles(t) })
}
