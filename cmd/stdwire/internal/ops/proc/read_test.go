package proc

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/eventually"
	"gotest.tools/v3/assert"
)

func TestProcRead(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "say out", "warn err", "repeat")
	nothing := run[ReadOutput](t, s, "proc.read",
		args{"session": id, "pattern": "never", "wait_ms": 1})
	assert.Assert(t, nothing.Running && !nothing.Matched && nothing.ExitCode == nil)
	run[SendOutput](t, s, "proc.send", args{"session": id, "text": "last"})
	all := run[ReadOutput](t, s, "proc.read", args{"session": id, "until": "exit", "cursor": 0})
	assert.Equal(t, all.Output, "out\nerr\nlast\n")
	assert.Assert(t, !all.Running && !all.More && *all.ExitCode == 0)
	assert.Equal(t, all.Cursor, int64(len(all.Output)))

	// Output is not returned again, unless a cursor asks for it.
	again := run[ReadOutput](t, s, "proc.read", args{"session": id})
	assert.Equal(t, again.Output, "")
	assert.Equal(t, again.Cursor, all.Cursor)
	assert.Equal(t, run[ReadOutput](t, s, "proc.read",
		args{"session": id, "cursor": 3, "max_bytes": 4}).Output, all.Output[3:7])
	assert.Equal(t, run[ReadOutput](t, s, "proc.read", args{"session": id}).Output, all.Output[7:])

	fails(t, s, "proc.read", args{"session": id, "cursor": 1000}, dispatch.InvalidInput, "invalid arguments: cursor")
	fails(t, s, "proc.read", args{"session": id, "cursor": -1}, dispatch.InvalidInput, "invalid arguments: cursor")
	fails(t, s, "proc.read", args{"session": id, "pattern": "("}, dispatch.InvalidInput, "invalid arguments: pattern")
	fails(t, s, "proc.read", args{"session": id, "pattern": "(a{1000}b{1000}){1}"},
		dispatch.InvalidInput, "smaller repetitions")
	fails(t, s, "proc.read", args{"session": id, "pattern": "x", "until": "exit"},
		dispatch.InvalidInput, "invalid arguments: until")
	fails(t, s, "proc.read", args{"session": id, "until": "pattern"}, dispatch.MissingParam,
		"pattern")
}

func TestProcReadUntilOutput(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "repeat", "sleep")
	quiet := run[ReadOutput](t, s, "proc.read",
		args{"session": id, "until": "output", "wait_ms": 1})
	assert.Equal(t, quiet.Output, "")
	assert.Assert(t, quiet.Running)
	read := make(chan ReadOutput)
	go func() {
		envelope := s.dispatch(context.Background(), "proc.read",
			args{"session": id, "until": "output", "wait_ms": 60000})
		read <- decode[ReadOutput](t, envelope)
	}()
	run[SendOutput](t, s, "proc.send", args{"session": id, "text": "x"})
	assert.Equal(t, (<-read).Output, "x\n")
}

// A pattern consumes the output up to the end of its match only, so that the next one finds the
// rest.
func TestProcReadUntilPattern(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "write one 1\ntwo 2\nthree", "sleep")
	first := run[ReadOutput](t, s, "proc.read", args{"session": id, "pattern": `^\w+ \d$`})
	assert.Assert(t, first.Matched)
	assert.Equal(t, first.Output, "one 1")
	assert.Equal(t, s.expect(t, id, `^two`), "\ntwo")
	assert.Equal(t, s.expect(t, id, `re`), " 2\nthre")
	assert.Equal(t, s.expect(t, id, `$`), "e")
	unmatched := run[ReadOutput](t, s, "proc.read", args{"session": id, "pattern": "e", "wait_ms": 1})
	assert.Assert(t, !unmatched.Matched && unmatched.Output == "")
}

func TestProcReadPatternSpansChunks(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	s.start(t, "copy")
	read := make(chan ReadOutput)
	go func() {
		read <- decode[ReadOutput](t,
			s.dispatch(context.Background(), "proc.read",
				args{"pattern": "READY é!", "wait_ms": 60000}))
	}()
	session := s.sessions.List(context.Background())[0].Value
	for i, chunk := range []string{"..REA", "DY ", "\xc3", "\xa9", "! and more"} {
		_, err := session.stdin.f.WriteString(chunk)
		assert.NilError(t, err)
		total := []int64{5, 8, 8, 10, 20}[i] // an incomplete character is held back
		eventually.True(t, "it has come back",
			func() bool { return session.output.total() == total })
	}
	out := <-read
	assert.Assert(t, out.Matched && out.More)
	assert.Equal(t, out.Output, "..READY é!")
	assert.Equal(t, s.expect(t, "", "more"), " and more")
}

// A wait for a pattern ends when the result is full, so that a caller that reads all the time loses
// nothing.
func TestProcReadPatternFull(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "fill 100000", "write \ndone\n", "sleep")
	var got int
	for {
		out := run[ReadOutput](t, s, "proc.read",
			args{"session": id, "pattern": "^done$", "wait_ms": 60000, "max_bytes": 4096})
		got += len(out.Output)
		assert.Equal(t, out.Dropped, int64(0))
		if out.Matched {
			break
		}
		assert.Equal(t, len(out.Output), 4096)
	}
	assert.Equal(t, got, 100000+len("\ndone"))
}

func TestProcReadWhenItEnds(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "say bye", "exit 9")
	out := run[ReadOutput](t, s, "proc.read",
		args{"session": id, "pattern": "never", "wait_ms": 60000})
	assert.Assert(t, !out.Running && !out.Matched && out.Signal == "")
	assert.Equal(t, out.Output, "bye\n")
	assert.Equal(t, *out.ExitCode, 9)
	// Only the end remains to wait for.
	for _, until := range []string{"output", "exit"} {
		assert.Assert(t,
			!run[ReadOutput](t, s, "proc.read",
				args{"session": id, "until": until, "wait_ms": 600000}).Running)
	}
}

func TestProcReadCancelled(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "copy")
	session := s.sessions.List(context.Background())[0].Value
	for _, arguments := range []args{{"until": "output"}, {"pattern": "x"}, {"until": "exit"}} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan dispatch.Envelope)
		arguments["session"], arguments["wait_ms"] = id, 600000
		go func() { done <- s.dispatch(ctx, "proc.read", arguments) }()
		eventually.True(t, "it waits", func() bool {
			session.output.mu.Lock()
			defer session.output.mu.Unlock()
			return session.output.changed != nil
		})
		cancel()
		failed(t, s, <-done, dispatch.Cancelled, "")
		session.output.mu.Lock()
		session.output.changed = nil
		session.output.mu.Unlock()
	}
	// It has consumed nothing of the next read.
	run[SendOutput](t, s, "proc.send", args{"session": id, "text": "here"})
	assert.Equal(t, s.expect(t, id, "here\n"), "here\n")
}

// A process that writes far more than is kept does not block, memory is bounded, and lost bytes are
// counted.
func TestProcReadFlood(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{Buffer: 64 << 10})
	id := s.start(t, "fill 20000000", "write \nend\n")
	waited := run[WaitOutput](t, s, "proc.wait", args{"session": id, "timeout_ms": 60000})
	assert.Assert(t, !waited.Running)
	out := s.rest(t, id)
	const total = 20000000 + len("\nend\n")
	assert.Equal(t, len(out.Output), 64<<10)
	assert.Equal(t, out.Dropped, int64(total-64<<10))
	assert.Equal(t, out.Cursor, int64(total))
	assert.Assert(t, strings.HasSuffix(out.Output, "x\nend\n") && !out.More)
	// A cursor to lost output reports the loss each time.
	assert.Equal(t, run[ReadOutput](t, s, "proc.read", args{"session": id, "cursor": 10}).Dropped,
		int64(total-64<<10-10))
}

// A reader slower than the writer: each read continues where the last one ended, or reports how
// much was lost.
func TestProcReadSlowReader(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{Buffer: 8 << 10})
	id := s.start(t, "lines 20000")
	var cursor, read, dropped int64
	var last string
	for {
		out := run[ReadOutput](t, s, "proc.read",
			args{"session": id, "until": "output", "max_bytes": 100})
		assert.Equal(t, out.Cursor, cursor+out.Dropped+int64(len(out.Output)))
		cursor = out.Cursor
		read += int64(len(out.Output))
		dropped += out.Dropped
		if last = last + out.Output; !out.Running && !out.More {
			break
		}
		last = last[max(0, len(last)-100):]
		runtime.Gosched()
	}
	assert.Assert(t, strings.HasSuffix(last, "line 19998\nline 19999\n"))
	assert.Equal(t, run[ListOutput](t, s, "proc.list", nil).Sessions[0].OutputBytes, read+dropped)
}

func TestProcReadBinary(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "hex 610062fffe63c32864eda08065f09f")
	out := s.rest(t, id)
	// an incomplete character at the end is returned
	assert.Equal(t, out.Output, "a\x00b\uFFFDc\uFFFD(d\uFFFDe\uFFFD")
	assert.Equal(t, out.Cursor, int64(15))
}

// A read does not split characters.
func TestProcReadRunesWhole(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	const all = "aé€😀éé€€😀😀b"
	id := s.start(t, "write "+all)
	for maximum := 4; maximum < 10; maximum++ {
		var got string
		for cursor, more := int64(0), true; more; {
			out := run[ReadOutput](t, s, "proc.read",
				args{"session": id, "until": "exit", "cursor": cursor, "max_bytes": maximum})
			assert.Assert(t, 0 < len(out.Output) && len(out.Output) <= maximum)
			got += out.Output
			cursor, more = out.Cursor, out.More || out.Running
		}
		assert.Equal(t, got, all, "%d bytes at a time", maximum)
	}
}

// stdout and stderr come in the order in which they are written.
func TestProcReadMerged(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "both 100")
	assert.Equal(t, s.rest(t, id).Output, inOrder(100))
}

func inOrder(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d\n%d\n", i, i)
	}
	return b.String()
}

// Each byte goes to one of several concurrent readers.
func TestProcReadTogether(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "lines 2000")
	var mu sync.Mutex
	var total int
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				envelope := s.dispatch(t.Context(), "proc.read",
					args{"session": id, "until": "output", "max_bytes": 64})
				out := decode[ReadOutput](t, envelope)
				mu.Lock()
				total += len(out.Output)
				mu.Unlock()
				if !out.Running && !out.More {
					return
				}
			}
		})
	}
	readers.Wait()
	assert.Equal(t, int64(total), run[ListOutput](t, s, "proc.list", nil).Sessions[0].OutputBytes)
}

// Sessions with interpreters.
func TestProcREPL(t *testing.T) {
	t.Parallel()
	for _, repl := range []struct {
		command, args, prompt, send, want string
		mayBeStub                         bool // a file that only says how to install the program
	}{
		{"python3", "-i -q -u", "^>>> $", "print(6*7)", "42\n>>> ", true},
		{"node", "-i", "^> $", "6*7", "42\n> ", true},
		{"sh", "-i", "^[$#] $", "echo $((6*7))", "42\n", false},
	} {
		t.Run(repl.command, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(repl.command)
			if err == nil && repl.mayBeStub {
				err = exec.Command(path, "--version").Run()
			}
			if err != nil {
				t.Skipf("%s is not there", repl.command)
			}
			s := newService(t, Options{})
			id := run[StartOutput](t, s, "proc.start",
				args{"command": repl.command, "args": strings.Fields(repl.args)}).Session
			s.expect(t, id, repl.prompt)
			for range 3 {
				run[SendOutput](t, s, "proc.send", args{"session": id, "text": repl.send})
				// prompts may be on stderr
				assert.Assert(t, strings.HasPrefix(s.expect(t, id, repl.prompt), repl.want))
			}
			run[StopOutput](t, s, "proc.stop", args{"session": id})
		})
	}
}

// A line to a process and back.
func BenchmarkProcRoundTrip(b *testing.B) {
	s := newService(b, Options{})
	if envelope := s.dispatch(context.Background(), "proc.start",
		program(b, "copy")); envelope.Err != nil {
		b.Fatal(envelope.Err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.dispatch(context.Background(), "proc.send", args{"text": "x"})
		if out := s.dispatch(context.Background(), "proc.read",
			args{"pattern": "x\n"}); out.Err != nil {
			b.Fatal(out.Err)
		}
	}
}

func BenchmarkProcStartStop(b *testing.B) {
	s := newService(b, Options{})
	for b.Loop() {
		if envelope := s.dispatch(context.Background(), "proc.start",
			program(b, "copy")); envelope.Err != nil {
			b.Fatal(envelope.Err)
		}
		s.dispatch(context.Background(), "proc.stop", nil)
	}
}
