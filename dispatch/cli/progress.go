package cli

import (
	"io"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/terminal"
)

// A progress shows how far an operation has come, until its result is printed. It is safe for
// concurrent use.
type progress struct {
	w       io.Writer
	what    string
	columns func() int // of the terminal

	mu     sync.Mutex
	meter  terminal.Meter
	status terminal.StatusLine
	last   time.Time // when the status was shown
	ended  bool
}

// progressInterval is the least time between two updates, because printing must not slow the
// operation down.
const progressInterval = 100 * time.Millisecond

// show is a [dispatch.Call]'s Progress.
func (p *progress) show(done, total float64, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.ended || now.Sub(p.last) < progressInterval {
		return
	}
	p.last = now
	columns := p.columns()
	p.status.Show(p.w, columns, p.what+": "+
		p.meter.Text(done, total, message, now, columns))
}

// end erases the status and ignores later progress.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.status.Erase(p.w, p.columns())
}
