package gateway

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
)

const (
	// maxTrail is how many bytes of the audit log wait to be written, unless one line alone has more; what comes then is dropped, and counted.
	maxTrail = 4 << 20
	// trailPatience is how long the end of the gateway waits for what is still to be written.
	trailPatience = 5 * time.Second
)

// A trail writes the audit log. One goroutine does that, so that no call waits for a disk that is full or stuck.
type trail struct {
	to     io.Writer
	values bool
	key    []byte // of the digests of arguments
	log    *slog.Logger
	wake   chan struct{} // capacity 1
	done   chan struct{}

	mu      sync.Mutex
	closed  bool
	pending []byte // whole lines
	dropped int    // lines that are missing, and are still to be told

	// Of the goroutine.
	torn    bool // the last line is not whole
	failing bool
}

func newTrail(to io.Writer, values bool, key []byte, log *slog.Logger) *trail {
	if key == nil {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
	}
	t := &trail{to: to, values: values, key: key, log: log, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go t.run()
	return t
}

// add has a line written, or counts it as dropped. It does not block.
func (t *trail) add(line []byte) {
	t.mu.Lock()
	switch {
	case t.closed:
	case len(t.pending) > 0 && len(t.pending)+len(line) > maxTrail:
		t.dropped++
	default:
		t.pending = append(t.pending, line...)
	}
	t.mu.Unlock()
	t.nudge()
}

func (t *trail) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// close has all written that was added, for a while.
func (t *trail) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.nudge()
	timer := time.NewTimer(trailPatience)
	defer timer.Stop()
	select {
	case <-t.done:
	case <-timer.C:
		t.log.Warn("gateway: the end of the audit log is missing: it could not be written in time", slog.Duration("time", trailPatience))
	}
}

func (t *trail) run() {
	defer close(t.done)
	for range t.wake {
		t.mu.Lock()
		lines, dropped, closed := t.pending, t.dropped, t.closed
		t.pending, t.dropped = nil, 0
		t.mu.Unlock()
		dropped += t.write(lines)
		if dropped > 0 && t.write(fmt.Appendf(nil, `{"time":%q,"dropped":%d}`+"\n", stamp(time.Now()), dropped)) > 0 {
			t.mu.Lock()
			t.dropped += dropped // to be told when it can be
			t.mu.Unlock()
		}
		if closed {
			return
		}
	}
}

// write writes lines, and returns how many of them are not, or not whole, in the log.
func (t *trail) write(lines []byte) (lost int) {
	if len(lines) == 0 {
		return 0
	}
	n, err := 0, error(nil)
	if t.torn {
		_, err = t.hand([]byte("\n"))
	}
	if err == nil {
		t.torn = false
		if n, err = t.hand(lines); err == nil && n < len(lines) {
			err = io.ErrShortWrite
		}
	}
	n = max(0, min(n, len(lines)))
	if err == nil {
		t.failing = false
		return 0
	}
	if n > 0 {
		t.torn = lines[n-1] != '\n'
	}
	if !t.failing {
		t.failing = true
		t.log.Warn("gateway: the audit log cannot be written; calls go on, and what is missing is counted", slog.Any("error", err))
	}
	return bytes.Count(lines[n:], []byte("\n"))
}

// hand has the application's writer write.
func (t *trail) hand(b []byte) (n int, err error) {
	err = contain.Do(func() (err error) {
		n, err = t.to.Write(b)
		return err
	})
	return n, err
}
