package child

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/processtest"
)

func TestRoundTrip(t *testing.T) {
	p := startChild(t, scripted("line", "cat"))
	_, err := io.WriteString(p.Stdin(), "hello\nworld\n")
	assert.NilError(t, err)
	assert.Equal(t, readLine(t, p.Stdout()), "got hello")
	assert.Equal(t, readLine(t, p.Stdout()), "world")
	assert.NilError(t, p.Stdin().Close())
	rest, err := io.ReadAll(p.Stdout())
	assert.NilError(t, err)
	assert.Equal(t, len(rest), 0)
	assert.Equal(t, p.Wait().Error(), "exited with status 0")
}

func TestCrashAtStart(t *testing.T) {
	bothWays(t, func(t *testing.T, awaitExit func(int) bool) {
		p := startAs(t, scripted("err starting", "err boom: missing API key", "exit 3"), awaitExit)
		awaitDone(t, p)
		exit := p.Wait()
		assert.Equal(t, exit.Status, 3)
		assert.Equal(t, exit.Signal, nil)
		assert.Equal(t, exit.BeforeReady, true)
		assert.Equal(t, exit.Stopped, false)
		assert.Equal(t, exit.LastStderr, "boom: missing API key")
		assert.Equal(t, exit.Error(), `exited with status 3: "boom: missing API key"`)
		assert.Equal(t, lastLine(p.StderrTail()), "boom: missing API key")
		assert.Equal(t, p.StderrTail(), "starting\nboom: missing API key\n")
	})
}

func TestExitAfterReady(t *testing.T) {
	p := startChild(t, scripted("line", "exit 4"))
	p.MarkReady()
	io.WriteString(p.Stdin(), "now\n")
	exit := p.Wait()
	assert.Equal(t, exit.BeforeReady, false)
	assert.Equal(t, exit.Error(), "exited with status 4")
}

func TestHint(t *testing.T) {
	p := startChild(t, scripted("err npm error code E404", "exit 1"))
	assert.Assert(t, cmp.Contains(p.Wait().Hint, "package"))
	p = startChild(t, scripted("err npm error code E404", "exit 0"))
	assert.Equal(t, p.Wait().Hint, "")
}

// A grandchild that holds stdout open delays neither Done nor the reader, and ends.
func TestGrandchildHoldsStdout(t *testing.T) {
	bothWays(t, func(t *testing.T, awaitExit func(int) bool) {
		p := startAs(t, scripted("spawn hang", "cat"), awaitExit)
		grandchild := readPid(t, p.Stdout())
		assert.Assert(t, processtest.Runs(grandchild))
		io.WriteString(p.Stdin(), "last words\n")
		p.Stdin().Close()
		rest, err := io.ReadAll(p.Stdout())
		assert.NilError(t, err)
		assert.Equal(t, string(rest), "last words\n")
		awaitDone(t, p)
		assert.Equal(t, p.Wait().Status, 0)
		processtest.AwaitEnd(t, grandchild)
	})
}

// A grandchild that holds no pipe ends as well.
func TestGrandchildHoldsNothing(t *testing.T) {
	bothWays(t, func(t *testing.T, awaitExit func(int) bool) {
		p := startAs(t, scripted("spawnquiet hang"), awaitExit)
		grandchild := readPid(t, p.Stdout())
		awaitDone(t, p)
		assert.Assert(t, !p.Wait().Held)
		processtest.AwaitEnd(t, grandchild)
	})
}

// A grandchild that writes without end does not delay Done for ever.
func TestGrandchildNeverQuiet(t *testing.T) {
	p := startChild(t, scripted("spawn flood", "exit 5"))
	awaitDone(t, p)
	rest, err := io.ReadAll(p.Stdout())
	assert.NilError(t, err)
	assert.Assert(t, len(rest) <= drainBytes+readSize, "%d bytes", len(rest))
	assert.Equal(t, p.Wait().Status, 5)
}

// Nor does one that writes now and then.
func TestGrandchildTrickles(t *testing.T) {
	t.Parallel() // it takes drainTime
	p := startChild(t, scripted("spawn trickle", "line", "exit 5"))
	readPid(t, p.Stdout())
	assert.Equal(t, readLine(t, p.Stdout()), "x")
	_, err := io.WriteString(p.Stdin(), "\n")
	assert.NilError(t, err)
	awaitDone(t, p)
	assert.Equal(t, p.Wait().Error(), `exited with status 5: "y"`)
}

func TestStdoutAfterExit(t *testing.T) {
	bothWays(t, func(t *testing.T, awaitExit func(int) bool) {
		for _, size := range []int{0, 16, pipeHolds} {
			p := startAs(t, fixture("burst", strconv.Itoa(size)), awaitExit)
			<-p.Done()
			all, err := io.ReadAll(p.Stdout())
			assert.NilError(t, err)
			assert.Equal(t, len(all), size)
		}
		// More than a pipe holds, with a slow reader during the exit.
		p := startAs(t, fixture("burst", strconv.Itoa(1<<20)), awaitExit)
		var all bytes.Buffer
		_, err := io.CopyBuffer(struct{ io.Writer }{&all}, p.Stdout(), make([]byte, 1000))
		assert.NilError(t, err)
		assert.Assert(t, bytes.Equal(all.Bytes(), bytes.Repeat([]byte("0123456789abcdef"), 1<<16)))
		<-p.Done()
	})
}

func TestStdoutClose(t *testing.T) {
	p := startChild(t, scripted("out one", "cat"))
	assert.Equal(t, readLine(t, p.Stdout()), "one")
	read := make(chan error)
	go func() {
		_, err := p.Stdout().Read(make([]byte, 10))
		read <- err
	}()
	assert.NilError(t, p.Stdout().Close())
	assert.ErrorIs(t, <-read, os.ErrClosed)
	assert.NilError(t, p.Stdout().Close())
	assert.NilError(t, p.Close())
	_, err := p.Stdout().Read(make([]byte, 10))
	assert.ErrorIs(t, err, os.ErrClosed)

	p = startChild(t, scripted("out never read"))
	<-p.Done()
	assert.NilError(t, p.Stdout().Close())
	_, err = p.Stdout().Read(make([]byte, 10))
	assert.ErrorIs(t, err, os.ErrClosed)
}

func TestChattyStderr(t *testing.T) {
	p := startChild(t, fixture("chatty"))
	assert.Equal(t, readLine(t, p.Stdout()), "done")
	awaitDone(t, p)
	assert.Equal(t, len(p.stderr.tail.ring), stderrLimit)
	assert.Assert(t, cap(p.stderr.tail.ring) <= 2*stderrLimit)
	want := strings.Repeat("x", 1023) + "\n"
	assert.Equal(t, p.StderrTail(), "…"+strings.Repeat(want, 63)+"the last line\n")
	assert.Equal(t, lastLine(p.StderrTail()), "the last line")
}

func TestStderrTee(t *testing.T) {
	cfg := fixture("chatty")
	copied := 0 // a buffer of so much may take a second to grow, after which a tee is given up
	cfg.StderrTee = writeFunc(func(b []byte) (int, error) {
		copied += len(b)
		return len(b), nil
	})
	p := startChild(t, cfg)
	<-p.Done()
	assert.Equal(t, copied, 10<<20+len("the last line\n"))

	// A tee that fails is called once.
	calls := 0
	cfg.StderrTee = writeFunc(func(b []byte) (int, error) {
		calls++
		return 0, errors.New("disk full")
	})
	p = startChild(t, cfg)
	assert.Equal(t, readLine(t, p.Stdout()), "done")
	<-p.Done()
	assert.Equal(t, calls, 1)
	assert.Equal(t, lastLine(p.StderrTail()), "the last line")
}

// When this program is killed, its children see the end of their stdin.
func TestParentKilled(t *testing.T) {
	parent := startChild(t, fixture("parent", "spawn cat", "cat"))
	child, grandchild := readPid(t, parent.Stdout()), readPid(t, parent.Stdout())
	assert.Assert(t, processtest.Runs(child) && processtest.Runs(grandchild))
	assert.NilError(t, parent.group.(*ownGroup).Leader.Kill())
	processtest.AwaitEnd(t, child, grandchild)
	parent.Wait()
}

// No process, goroutine or file is left in any case.
func TestNothingLeft(t *testing.T) {
	startChild(t, scripted("exit 0")).Wait() // lets the runtime allocate what it keeps
	goroutines, descriptors := runtime.NumGoroutine(), processtest.OpenFiles()
	for range 5 {
		crashed := startChild(t, scripted("out x", "err y", "exit 1"))
		stopped := startChild(t, scripted("spawn hang", "cat"))
		teed := scripted("err y", "cat")
		teed.StderrTee = io.Discard
		killed := startChild(t, teed)
		_, err := Start(t.Context(), Config{Command: filepath.Join(t.TempDir(), "missing")})
		assert.ErrorIs(t, err, os.ErrNotExist)
		crashed.Wait()
		assert.NilError(t, stopped.Close())
		_, err = killed.Stop(expired())
		assert.NilError(t, err)
		assert.Equal(t, processtest.OpenFiles(), descriptors) // at Done, not some time after
	}
	eventually.AtMost(t, "goroutines", goroutines, runtime.NumGoroutine)
}

func TestDeadlines(t *testing.T) {
	p := startChild(t, fixture("stubborn"))
	assert.Equal(t, readLine(t, p.Stdout()), "ready")
	soon := time.Now().Add(time.Millisecond)

	reader := p.Stdout().(interface{ SetReadDeadline(time.Time) error })
	assert.NilError(t, reader.SetReadDeadline(soon))
	_, err := p.Stdout().Read(make([]byte, 1))
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)

	writer := p.Stdin().(interface{ SetWriteDeadline(time.Time) error })
	assert.NilError(t, writer.SetWriteDeadline(soon))
	_, err = p.Stdin().Write(make([]byte, 1<<20))
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)

	// The deadline has no effect after the exit: the reader gets EOF, not a timeout.
	p.Stop(expired())
	assert.NilError(t, reader.SetReadDeadline(soon))
	_, err = p.Stdout().Read(make([]byte, 1))
	assert.Equal(t, err, io.EOF)
}
