package rpc

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// stdioEnv makes the test binary a peer on its standard input and output. Its value is "Stdio",
// "Stdio writes", "Stdio prints" or "os.Stdin".
const stdioEnv = "STDWIRE_TEST_STDIO"

// plainStdio is a simple stream on standard input and output.
type plainStdio struct {
	io.Reader
	io.WriteCloser
}

func (plainStdio) Close() error { return os.Stdin.Close() }

func TestMain(m *testing.M) {
	kind, ok := os.LookupEnv(stdioEnv)
	if !ok {
		os.Exit(m.Run())
	}
	before := runtime.NumGoroutine()
	stream := io.ReadWriteCloser(plainStdio{os.Stdin, os.Stdout})
	if kind != "os.Stdin" {
		stream = Stdio()
	}
	p := Options{}.New(stream)
	if kind == "Stdio writes" {
		_ = p.Notify(context.Background(), "much", []string{strings.Repeat("x", 1<<20)})
	}
	if kind == "Stdio prints" {
		_, err := fmt.Println("before the end")
		fmt.Fprintln(os.Stderr, "printed:", err)
		fmt.Fprintln(os.Stderr, "sent:", p.Notify(context.Background(), "n", nil),
			p.Flush(context.Background()))
	}
	// so that the Read blocks; without it the test is only easier
	time.Sleep(100 * time.Millisecond)
	_ = p.Close()
	fmt.Fprintln(os.Stderr, "waited:", p.Wait())
	if kind == "Stdio prints" {
		_, err := fmt.Println("after the end")
		fmt.Fprintln(os.Stderr, "printed:", err)
	}
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before &&
		kind != "os.Stdin" && time.Now().Before(deadline); {
		runtime.Gosched() // the reader has returned, but its goroutine may still run
	}
	fmt.Fprintln(os.Stderr, "goroutines left:", runtime.NumGoroutine()-before)
	os.Exit(0)
}

// stdioProcess runs TestMain with a value of stdioEnv, on pipes that nobody reads, writes or
// closes, and returns what it prints to standard error.
func stdioProcess(t *testing.T, kind string) string {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), stdioEnv+"="+kind)
	stdin, in, err := os.Pipe()
	assert.NilError(t, err)
	defer in.Close()
	out, stdout, err := os.Pipe()
	assert.NilError(t, err)
	defer out.Close()
	cmd.Stdin, cmd.Stdout = stdin, stdout // exec sets blocking mode, which a shell has too
	stderr, err := cmd.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	stdin.Close()
	stdout.Close()
	limit := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	text, err := io.ReadAll(stderr)
	assert.NilError(t, err)
	assert.NilError(t, cmd.Wait(), "%s", text)
	return string(text)
}

func TestWaitReturnsOnStandardInput(t *testing.T) {
	for _, kind := range []string{"Stdio", "os.Stdin"} {
		text := stdioProcess(t, kind)
		assert.Assert(t, strings.HasPrefix(text, "waited: <nil>\n"), "%s: %s", kind, text)
	}
}

// blockedStream is a stream whose Read does not end with Close.
type blockedStream struct {
	input chan string
}

func (s *blockedStream) Read(p []byte) (int, error)  { return copy(p, <-s.input), nil }
func (s *blockedStream) Write(p []byte) (int, error) { return len(p), nil }
func (s *blockedStream) Close() error                { return nil }

func TestReadAfterCloseIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &blockedStream{make(chan string)}
		p := Options{Hooks: Hooks{Frame: func(context.Context, Direction, []byte) {
			t.Error("a message came after the end")
		}}}.New(s)
		_ = p.Close()
		start := time.Now()
		assert.NilError(t, p.Wait())
		assert.Equal(t, time.Since(start), readerGrace)
		s.input <- "{\"jsonrpc\":\"2.0\",\"method\":\"late\"}\n"
		synctest.Wait()
	})
}
