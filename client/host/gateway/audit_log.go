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

// An auditLog writes audit lines on its own goroutine, which ends with close, so that no call waits
// for a slow or full disk.
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

	// Used by run only.
	partialLine bool // the last line was written in part
	failing     bool // the last write failed
}

func newAuditLog(to io.Writer, values bool, key []byte, log *slog.Logger) *auditLog {
	if key == nil {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
	}
	l := &auditLog{to: to, values: values, key: key, log: log, wake: make(chan struct{}, 1),
		done: make(chan struct{})}
	go l.run()
	return l
}

// add queues a line, or counts it as dropped. It does not block.
func (l *auditLog) add(line []byte) {
	l.mu.Lock()
	switch {
	case l.closed:
	case len(l.pending) > 0 && len(l.pending)+len(line) > maxPendingAudit:
		l.dropped++
	default:
		l.pending = append(l.pending, line...)
	}
	l.mu.Unlock()
	l.wakeWriter()
}

func (l *auditLog) wakeWriter() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// close waits up to auditCloseTimeout until all lines are written.
func (l *auditLog) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wakeWriter()
	timer := time.NewTimer(auditCloseTimeout)
	defer timer.Stop()
	select {
	case <-l.done:
	case <-timer.C:
		l.log.Warn("gateway: the end of the audit log is missing: it could not be written in time",
			slog.Duration("time", auditCloseTimeout))
	}
}

func (l *auditLog) run() {
	defer close(l.done)
	for range l.wake {
		l.mu.Lock()
		lines, dropped, closed := l.pending, l.dropped, l.closed
		l.pending, l.dropped = nil, 0
		l.mu.Unlock()
		dropped += l.write(lines)
		if dropped > 0 &&
			l.write(fmt.Appendf(nil, `{"time":%q,"dropped":%d}`+"\n", formatTime(time.Now()),
				dropped)) > 0 {
			l.mu.Lock()
			l.dropped += dropped // until a write succeeds
			l.mu.Unlock()
		}
		if closed {
			return
		}
	}
}

// write writes lines and returns the number of those that are lost, in whole or in part.
func (l *auditLog) write(lines []byte) (lost int) {
	if len(lines) == 0 {
		return 0
	}
	n, err := 0, error(nil)
	if l.partialLine {
		_, err = l.writeRaw([]byte("\n"))
	}
	if err == nil {
		l.partialLine = false
		if n, err = l.writeRaw(lines); err == nil && n < len(lines) {
			err = io.ErrShortWrite
		}
	}
	n = max(0, min(n, len(lines)))
	if err == nil {
		l.failing = false
		return 0
	}
	if n > 0 {
		l.partialLine = lines[n-1] != '\n'
	}
	if !l.failing {
		l.failing = true
		l.log.Warn("gateway: the audit log cannot be written; calls continue, and lost lines are counted",
			slog.Any("error", err))
	}
	return bytes.Count(lines[n:], []byte("\n"))
}

// writeRaw calls the application's writer and recovers its panics.
func (l *auditLog) writeRaw(b []byte) (n int, err error) {
	err = contain.Do(func() (err error) {
		n, err = l.to.Write(b)
		return err
	})
	return n, err
}
