package rpc

import (
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// stdioEnv makes the test binary a peer on its standard input and output, of the named kind.
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
	stream := io.ReadWriteCloser(plainStdio{os.Stdin, os.Stdout})
	if kind == "Stdio" {
		stream = Stdio()
	}
	p := NewPeer(stream, Options{})
	// so that the Read blocks; if it does not yet, the test is only easier
	time.Sleep(100 * time.Millisecond)
	_ = p.Close()
	fmt.Fprintln(os.Stderr, "waited:", p.Wait())
	os.Exit(0)
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
		p := NewPeer(s, Options{Hooks: Hooks{Frame: func(Direction, []byte) {
			t.Error("a message came after the end")
		}}})
		_ = p.Close()
		start := time.Now()
		assert.NilError(t, p.Wait())
		assert.Equal(t, time.Since(start), readerGrace)
		s.input <- "{\"jsonrpc\":\"2.0\",\"method\":\"late\"}\n"
		synctest.Wait()
	})
}
