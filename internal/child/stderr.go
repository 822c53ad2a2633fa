package child

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/timeout"
)

const (
	stderrLimit = 64 << 10 // how many of the last bytes of stderr are kept
	teePatience = time.Second
)

// stderr reads the child's stderr from start to end, whether or not the caller asks for it, because
// a child blocks when the pipe is full.
type stderr struct {
	f    *os.File
	tail *tail
	tee  *tee // nil if there is none, or after it failed
	done chan struct{}
}

func newStderr(f *os.File, cfg Config) *stderr {
	s := &stderr{f: f, tail: &tail{limit: stderrLimit}, done: make(chan struct{})}
	if cfg.StderrTee != nil {
		s.tee = &tee{cfg.StderrTee}
	}
	return s
}

func (s *stderr) run() {
	defer close(s.done)
	defer s.f.Close()
	buf := make([]byte, stderrRead)
	for {
		n, err := s.f.Read(buf)
		if n == len(buf) {
			s.write(readOn(s.f, buf))
		} else {
			s.write(buf[:n])
		}
		if errors.Is(err, os.ErrDeadlineExceeded) { // interrupted: the child has exited
			drain(s.f, s.write)
		}
		if err != nil {
			break
		}
	}
}

// readOn adds to b what there is to read, up to readSize in all, if the system says that there is
// something. So a line is in one piece, which matters where several children are copied to.
func readOn(f *os.File, b []byte) []byte {
	more, _ := unread(f)
	if more == 0 {
		return b
	}
	n := len(b)
	b = append(b, make([]byte, min(more, readSize-n))...)
	more, _ = f.Read(b[n:]) // the next Read has the same error
	return b[:n+more]
}

func (s *stderr) write(b []byte) {
	if len(b) == 0 {
		return
	}
	s.tail.write(b)
	if s.tee != nil && !s.tee.write(b) {
		s.tee = nil
	}
}

// tail keeps the last bytes of what was written to it, in a ring.
type tail struct {
	limit int

	mu   sync.Mutex
	ring []byte // grows to limit, then is overwritten from next on
	next int
	lost bool // earlier bytes were overwritten
}

func (t *tail) write(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost = t.lost || len(t.ring)+len(b) > t.limit
	b = b[max(0, len(b)-t.limit):]
	n := min(t.limit-len(t.ring), len(b))
	t.ring = append(t.ring, b[:n]...)
	for b = b[n:]; len(b) > 0; b = b[n:] {
		n = copy(t.ring[t.next:], b)
		t.next = (t.next + n) % t.limit
	}
}

// text returns the bytes kept, from the first whole line on, in printable form.
func (t *tail) text() string {
	t.mu.Lock()
	s := string(slices.Concat(t.ring[t.next:], t.ring[:t.next]))
	lost := t.lost
	t.mu.Unlock()
	if !lost {
		return printable.Text(s)
	}
	if _, whole, ok := strings.Cut(s, "\n"); ok && whole != "" {
		s = whole
	}
	return "…" + printable.Text(s)
}

// tee writes to a writer that may fail or block, on a goroutine that is abandoned if Write blocks
// for good.
type tee struct{ w io.Writer }

// write reports whether the writer still works; if not, it must not be called again. The goroutine
// gets a copy of b, because a Write that blocks keeps it.
func (t *tee) write(b []byte) bool {
	b = slices.Clone(b)
	works, returned := false, make(chan struct{})
	go func() {
		defer close(returned) // deferred, because Write may call runtime.Goexit
		_ = contain.Call(func() {
			_, err := t.w.Write(b)
			works = err == nil
		})
	}()
	timeout.InParts(teePatience, func(part time.Duration) bool {
		select {
		case <-returned:
			return true
		case <-time.After(part):
			return false
		}
	})
	select {
	case <-returned: // perhaps during a pause in the last part
		return works
	default:
		return false
	}
}
