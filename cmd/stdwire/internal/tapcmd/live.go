package tapcmd

import (
	"fmt"
	"io"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/terminal"
)

// A liveView prints messages on stderr, each on one line, truncated to the width of the terminal.
// It does not block the traffic if stderr is not read: it then drops lines and counts them.
type liveView struct {
	console *term.Console
	lines   chan string
	dropped int // lines that were not printed and not yet reported
	quit    chan struct{}
	done    chan struct{}
}

// newLiveView returns a liveView. Its goroutine runs until close.
func newLiveView(c *term.Console) *liveView {
	const waiting = 1024
	v := &liveView{console: c, lines: make(chan string, waiting), quit: make(chan struct{}),
		done: make(chan struct{})}
	go v.run()
	return v
}

// run prints lines until close is called, and then the remaining ones.
func (v *liveView) run() {
	defer close(v.done)
	for {
		select {
		case line := <-v.lines:
			v.print(line)
		case <-v.quit:
			for len(v.lines) > 0 { // run is the only receiver
				v.print(<-v.lines)
			}
			return
		}
	}
}

func (v *liveView) print(line string) {
	style := terminal.Plain
	if v.console.Color {
		style = styleOf(line)
	}
	_, _ = io.WriteString(v.console, style.Paint(printable.Cut(line, v.columns()))+"\n")
}

func (v *liveView) columns() int {
	const unbounded = 1000
	if !v.console.Terminal {
		return unbounded
	}
	return v.console.Columns().Total()
}

// show prints a record. It does not block. It is not safe for concurrent use.
func (v *liveView) show(r *tap.Record) {
	for _, line := range tapLines(r) {
		if v.dropped > 0 &&
			v.enqueue(fmt.Sprintf("-- %d messages are not shown: too many arrived at a time",
				v.dropped)) {
			v.dropped = 0
		}
		if v.dropped > 0 || !v.enqueue(line) {
			v.dropped++
		}
	}
}

func (v *liveView) enqueue(line string) bool {
	select {
	case v.lines <- line:
		return true
	default:
		return false
	}
}

// close waits, for a limited time, until the remaining lines are printed, and reports whether they
// were. Later lines are dropped.
func (v *liveView) close() bool {
	close(v.quit)
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-v.done:
		return true
	case <-timer.C:
		return false
	}
}
