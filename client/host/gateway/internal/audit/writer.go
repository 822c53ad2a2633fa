package audit

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/wake"
)

const (
	// maxPending limits the bytes of audit lines that wait to be written; a single line may be
	// longer. Further lines are dropped and counted.
	maxPending = 4 << 20
	// closeTimeout is how long Close waits for pending audit lines.
	closeTimeout = 5 * time.Second
)

// A writer writes audit lines on its own goroutine, which ends with Close, so that no call waits
// for a slow or full disk.
type writer struct {
	to   io.Writer
	log  *slog.Logger
	wake chan struct{} // capacity 1
	done chan struct{}

	mu      sync.Mutex
	closed  bool
	pending []byte // whole lines
	dropped int    // lines dropped and not reported yet

	// Used by run only.
	partialLine bool // the last line was written in part
	failing     bool // the last write failed
}

// newWriter returns a writer of lines to a file or the like. Call Close to end its goroutine.
func newWriter(to io.Writer, log *slog.Logger) *writer {
	w := &writer{to: to, log: log, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go w.run()
	return w
}

// add queues a line, or counts it as dropped. It does not block.
func (w *writer) add(line []byte) {
	w.mu.Lock()
	switch {
	case w.closed:
	case len(w.pending) > 0 && len(w.pending)+len(line) > maxPending:
		w.dropped++
	default:
		w.pending = append(w.pending, line...)
	}
	w.mu.Unlock()
	wake.Up(w.wake)
}

// Close waits up to closeTimeout until all lines are written.
func (w *writer) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	wake.Up(w.wake)
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-w.done:
	case <-timer.C:
		w.log.Warn("gateway: the end of the audit log is missing: it could not be written in time",
			slog.Duration("time", closeTimeout))
	}
}

func (w *writer) run() {
	defer close(w.done)
	for range w.wake {
		w.mu.Lock()
		lines, dropped, closed := w.pending, w.dropped, w.closed
		w.pending, w.dropped = nil, 0
		w.mu.Unlock()
		dropped += w.write(lines)
		if dropped > 0 &&
			w.write(fmt.Appendf(nil, `{"time":%q,"dropped":%d}`+"\n", formatTime(time.Now()),
				dropped)) > 0 {
			w.mu.Lock()
			w.dropped += dropped // until a write succeeds
			w.mu.Unlock()
		}
		if closed {
			return
		}
	}
}

// write writes lines and returns the number of those that are lost, in whole or in part.
func (w *writer) write(lines []byte) (lost int) {
	if len(lines) == 0 {
		return 0
	}
	n, err := 0, error(nil)
	if w.partialLine {
		_, err = w.writeRaw([]byte("\n"))
	}
	if err == nil {
		w.partialLine = false
		if n, err = w.writeRaw(lines); err == nil && n < len(lines) {
			err = io.ErrShortWrite
		}
	}
	n = max(0, min(n, len(lines)))
	if err == nil {
		w.failing = false
		return 0
	}
	if n > 0 {
		w.partialLine = lines[n-1] != '\n'
	}
	if !w.failing {
		w.failing = true
		w.log.Warn("gateway: the audit log cannot be written; calls continue, and lost lines are counted",
			slog.Any("error", err))
	}
	return bytes.Count(lines[n:], []byte("\n"))
}

// writeRaw calls the application's writer and recovers its panics.
func (w *writer) writeRaw(b []byte) (n int, err error) {
	err = contain.Do(func() (err error) {
		n, err = w.to.Write(b)
		return err
	})
	return n, err
}

// formatTime returns a time as in audit lines.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
