package host

import (
	"bytes"
	"fmt"
	"sync"
	"time"
)

// maxLog is the minimum number of bytes that a log keeps; it keeps at most twice as many.
const maxLog = 64 << 10

// A Log holds the latest stderr of the processes of a server, in order, with a line for each start
// and end. It outlives the processes, so that it shows why the last one ended. It implements
// [io.Writer] for [client.Command].Stderr. It is safe for concurrent use. Its text is untrusted:
// escape it before showing it.
type Log struct {
	mu      sync.Mutex
	buf     []byte
	end     int64         // number of bytes ever written
	changed chan struct{} // closed by the next write; nil unless From has returned it
}

// Write appends to the log. It does not block and returns no error.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(p)
	return len(p), nil
}

// write appends to the log. The caller holds mu.
func (l *Log) write(p []byte) {
	l.end += int64(len(p))
	p = p[max(0, len(p)-maxLog):]
	if len(l.buf)+len(p) > 2*maxLog {
		l.buf = append(l.buf[:0], l.buf[len(l.buf)-maxLog+len(p):]...)
	}
	l.buf = append(l.buf, p...)
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Started records the start of a process. It is for [client.Command].Started.
func (l *Log) Started(pid int) { l.appendLine("started, process %d", pid) }

// appendLine appends a line with the time, on a line of its own.
func (l *Log) appendLine(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := fmt.Appendf(nil, "-- %s "+format+"\n",
		append([]any{time.Now().UTC().Format(time.RFC3339)}, args...)...)
	if n := len(l.buf); n > 0 && l.buf[n-1] != '\n' {
		line = append([]byte{'\n'}, line...)
	}
	l.write(line)
}

// From returns the text from position at on, where 0 is the beginning of the log. next is the
// position after the text. missed is the number of bytes between at and the text that are
// discarded; after discarded bytes the text begins with a whole line if it contains a line end.
// grown is closed when there is more text.
func (l *Log) From(at int64) (text []byte, next, missed int64, grown <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at < 0 || at > l.end { // a position in another log
		at = 0
	}
	first := l.end - int64(min(len(l.buf), maxLog))
	text = bytes.Clone(l.buf[len(l.buf)-int(l.end-max(at, first)):])
	if at < first {
		if i := bytes.IndexByte(text, '\n'); i >= 0 && i+1 < len(text) {
			text = text[i+1:]
		}
		missed = l.end - int64(len(text)) - at
	}
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return text, l.end, missed, l.changed
}
