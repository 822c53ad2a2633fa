package host

import (
	"bytes"
	"fmt"
	"sync"
	"time"
)

// maxLog is how many bytes of a server's log are kept at least; twice as many at most.
const maxLog = 64 << 10

// A Log is the latest of what the processes of a server have written to stderr, one after the
// other, with a line between them for each start and end. It outlives them, so that it tells why
// the last one has died. As an [io.Writer] it is for [client.Command].Stderr. It is safe for
// concurrent use. What is in it is the server's: it has to be made safe before it is shown.
type Log struct {
	mu      sync.Mutex
	buf     []byte
	end     int64         // how many bytes were ever written
	changed chan struct{} // closed by the next write; nil if nobody waits
}

// Write adds to the log. It does not block and does not fail.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(p)
	return len(p), nil
}

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

// Started notes the start of a process. It is for [client.Command].Started: what the process writes
// comes below.
func (l *Log) Started(pid int) { l.appendLine("started, process %d", pid) }

// appendLine writes a line of our own.
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

// From returns what was written from a position on: 0 is the beginning, next is the one behind what
// is returned. missed is how many bytes in front of it are kept no longer; then it begins with a
// whole line, if there is one. grown is closed when there is more.
func (l *Log) From(at int64) (text []byte, next, missed int64, grown <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at < 0 || at > l.end { // of another log
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
