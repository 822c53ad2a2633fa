package proc

import (
	"context"
	"encoding/base64"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/eventually"
	"gotest.tools/v3/assert"
)

func TestProcSend(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	s.start(t, "copy")
	assert.Equal(t, run[SendOutput](t, s, "proc.send", args{"text": "line"}).BytesWritten, 5)
	run[SendOutput](t, s, "proc.send", args{"text": "no line", "newline": false})
	run[SendOutput](t, s, "proc.send", args{"text": ""})
	run[SendOutput](t, s, "proc.send",
		args{"text": base64.StdEncoding.EncodeToString([]byte("\x01\x02é")), "encoding": "base64"})
	assert.Equal(t, run[SendOutput](t, s, "proc.send", args{"eof": true}).BytesWritten, 0)
	assert.Equal(t, s.rest(t, "").Output, "line\nno line\n\x01\x02é")

	fails(t, s, "proc.send", args{"text": "x"}, dispatch.StateError, "has ended")
	fails(t, s, "proc.send", args{}, dispatch.MissingParam, "eof")
	fails(t, s, "proc.send", args{"text": "!", "encoding": "base64"}, dispatch.InvalidInput,
		"invalid arguments: text: it is not base64")
	fails(t, s, "proc.send", args{"session": "copy-000000", "text": "x"}, dispatch.NotRunning,
		"copy-")
}

func TestProcSendAfterEOF(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "copy", "sleep")
	run[SendOutput](t, s, "proc.send", args{"session": id, "text": "last", "eof": true})
	s.expect(t, id, "last\n")
	fails(t, s, "proc.send", args{"session": id, "text": "x"}, dispatch.StateError, "closed")
	fails(t, s, "proc.send", args{"session": id, "eof": true}, dispatch.StateError, "closed")
}

// A process that closes its stdin and continues.
func TestProcSendToProcessThatDoesNotRead(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "close", "say closed", "sleep")
	s.expect(t, id, "closed\n")
	eventually.True(t, "nobody reads", func() bool {
		return s.dispatch(t.Context(), "proc.send", args{"session": id, "text": "x"}).Err != nil
	})
	err := fails(t, s, "proc.send", args{"session": id, "text": "x"}, dispatch.StateError,
		"has closed its input")
	assert.Equal(t, details[int](t, err, "bytes_written"), 0)
}

// big is more than a pipe holds.
var big = strings.Repeat("0123456789abcde\n", 1<<16)

func TestProcSendTimesOut(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "skip", "await go", "count")
	written := 0
	// The first timeout may be too short.
	for timeout := 50; written == 0 && timeout < 100_000; timeout *= 3 {
		err := fails(t, s, "proc.send",
			args{"session": id, "text": big, "newline": false, "timeout_ms": timeout},
			dispatch.Timeout, "does not read")
		assert.Assert(t, err.Recoverable)
		written = details[int](t, err, "bytes_written")
	}
	assert.Assert(t, 0 < written && written < len(big), "%d", written)
	s.put(t, "go", "", 0o666)
	// The rest can be sent once the process reads.
	run[SendOutput](t, s, "proc.send",
		args{"session": id, "text": big[written:], "newline": false, "eof": true})
	// without the line that was read
	assert.Equal(t, strings.TrimSpace(s.rest(t, id).Output), "1048560")
}

func TestProcSendCancelled(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "sleep")
	eventually.True(t, "the pipe is full", func() bool {
		full := args{"session": id, "text": big, "timeout_ms": 20}
		return details[int](t, fails(t, s, "proc.send", full, dispatch.Timeout, ""),
			"bytes_written") == 0
	})
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range 3 { // one waits for the pipe, the others for the lock
		calls.Go(func() {
			envelope := s.dispatch(ctx, "proc.send", args{"session": id, "text": big})
			assert.Check(t, envelope.Err != nil &&
				envelope.Err.Code == dispatch.Cancelled, "%v", envelope.Err)
		})
	}
	info := s.sessions.List(context.Background())[0]
	eventually.True(t, "somebody writes", func() bool { return len(info.Value.stdin.lock) == 1 })
	cancel()
	calls.Wait()
	// Only those calls were cancelled.
	err := fails(t, s, "proc.send", args{"session": id, "text": "x", "timeout_ms": 20},
		dispatch.Timeout, "")
	assert.Equal(t, details[int](t, err, "bytes_written"), 0)
}

// Concurrent sends are not mixed.
func TestProcSendOneAtATime(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{Buffer: 4 << 20})
	id := s.start(t, "copy")
	var calls sync.WaitGroup
	for _, letter := range []string{"a", "b", "c", "d"} {
		calls.Go(func() {
			envelope := s.dispatch(t.Context(), "proc.send",
				args{"session": id, "text": strings.Repeat(letter, 200<<10)})
			assert.Check(t, envelope.Err == nil)
		})
	}
	calls.Wait()
	run[SendOutput](t, s, "proc.send", args{"session": id, "eof": true})
	var all strings.Builder
	for running := true; running; {
		out := s.dispatch(t.Context(), "proc.read", args{"session": id, "until": "exit"})
		read := decode[ReadOutput](t, out)
		all.WriteString(read.Output)
		running = read.Running || read.More
	}
	lines := strings.Fields(all.String())
	assert.Equal(t, len(lines), 4)
	for _, line := range lines {
		assert.Equal(t, len(line), 200<<10)
		assert.Equal(t, strings.Trim(line, line[:1]), "")
	}
}

// Stopping a session ends calls that wait to write to it.
func TestProcSendEndsWithSession(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "sleep")
	done := make(chan dispatch.Envelope)
	go func() {
		done <- s.dispatch(context.Background(), "proc.send", args{"session": id, "text": big})
	}()
	info := s.sessions.List(context.Background())[0]
	eventually.True(t, "somebody writes", func() bool { return len(info.Value.stdin.lock) == 1 })
	run[StopOutput](t, s, "proc.stop", args{"session": id, "grace_ms": 100})
	select {
	case envelope := <-done:
		failed(t, s, envelope, dispatch.StateError, "")
	case <-time.After(time.Minute):
		t.Fatal("the call still waits")
	}
}
