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
	// maxPendingAudit limits the bytes of audit lines that wait to be written; a single line may be
	// longer. Further lines are dropped and counted.
	maxPendingAudit = 4 << 20
	// auditCloseTimeout is how long Close waits for pending audit lines.
	auditCloseTimeout = 5 * time.Second
)

// An auditLog writes audit lines on its own goroutine, so that no call waits for a slow or full
// disk.
type auditLog struct {
	to     io.Writer
	values bool
	key    []byte // HMAC key of argument digests
	log    *slog.Logger
	wake   chan struct{} // capacity 1
	done   chan struct{}

	mu      sync.Mutex
	closed  bool
	pending []byte // whole lines
	dropped int    // lines dropped and not reported yet

	// Of the goroutine.
	partialLine bool // the last line was written in part; used by run only
	failing     bool
}

func newAuditLog(to io.Writer, values bool, key []byte, log *slog.Logger) *auditLog {
	if key == nil {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
	}
	t := &auditLog{to: to, values: values, key: key, log: log, wake: make(chan struct{}, 1),
		done: make(chan struct{})}
	go t.run()
	return t
}

// add queues a line, or counts it as dropped. It does not block.
func (t *auditLog) add(line []byte) {
	t.mu.Lock()
	switch {
	case t.closed:
	case len(t.pending) > 0 && len(t.pending)+len(line) > maxPendingAudit:
		t.dropped++
	default:
		t.pending = append(t.pending, line...)
	}
	t.mu.Unlock()
	t.wakeWriter()
}

func (t *auditLog) wakeWriter() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// close waits up to auditCloseTimeout until all lines are written.
func (t *auditLog) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.wakeWriter()
	timer := time.NewTimer(auditCloseTimeout)
	defer timer.Stop()
	select {
	case <-t.done:
	case <-timer.C:
		t.log.Warn("gateway: the end of the audit log is missing: it could not be written in time",
			slog.Duration("time", auditCloseTimeout))
	}
}

func (t *auditLog) run() {
	defer close(t.done)
	for range t.wake {
		t.mu.Lock()
		lines, dropped, closed := t.pending, t.dropped, t.closed
		t.pending, t.dropped = nil, 0
		t.mu.Unlock()
		dropped += t.write(lines)
		if dropped > 0 &&
			t.write(fmt.Appendf(nil, `{"time":%q,"dropped":%d}`+"\n", formatTime(time.Now()),
				dropped)) > 0 {
			t.mu.Lock()
			t.dropped += dropped // to be told when it can be
			t.mu.Unlock()
		}
		if closed {
			return
		}
	}
}

// write writes lines and returns how many are lost, in whole or in part.
func (t *auditLog) write(lines []byte) (lost int) {
	if len(lines) == 0 {
		return 0
	}
	n, err := 0, error(nil)
	if t.partialLine {
		_, err = t.writeRaw([]byte("\n"))
	}
	if err == nil {
		t.partialLine = false
		if n, err = t.writeRaw(lines); err == nil && n < len(lines) {
			err = io.ErrShortWrite
		}
	}
	n = max(0, min(n, len(lines)))
	if err == nil {
		t.failing = false
		return 0
	}
	if n > 0 {
		t.partialLine = lines[n-1] != '\n'
	}
	if !t.failing {
		t.failing = true
		t.log.Warn("gateway: the audit log cannot be written; calls go on, and what is missing is counted",
			slog.Any("error", err))
	}
	return bytes.Count(lines[n:], []byte("\n"))
}

// writeRaw calls the application's writer and recovers its panics.
func (t *auditLog) writeRaw(b []byte) (n int, err error) {
	err = contain.Do(func() (err error) {
		n, err = t.to.Write(b)
		return err
	})
	return n, err
}
