package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/printable"
)

// A status is the last line of a terminal, which says how far an operation has come, until
// something else is printed. It is safe for concurrent use.
type status struct {
	w    io.Writer // nil: never shown
	what string

	mu    sync.Mutex
	last  time.Time
	shown bool
	over  bool
}

const (
	// what comes faster is not shown: printing must not slow the operation down
	statusEvery = 100 * time.Millisecond
	statusWidth = 79
	eraseLine   = "\r\x1b[K"
)

func (s *status) show(done, total float64, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.over || s.shown && now.Sub(s.last) < statusEvery {
		return
	}
	s.last, s.shown = now, true
	text := fmt.Sprintf("%s: %g", s.what, done)
	if total > 0 {
		text = fmt.Sprintf("%s: %.0f%%", s.what, 100*done/total)
	}
	line := []rune(printable.Line(text + " " + message))
	if len(line) > statusWidth {
		line = append(line[:statusWidth-1], '…')
	}
	_, _ = io.WriteString(s.w, eraseLine+string(line)) // nothing depends on it
}

// end takes the line away, for good.
func (s *status) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over = true; s.shown {
		_, _ = io.WriteString(s.w, eraseLine)
	}
}
