package tapcmd

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/lineedit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/terminal"
)

// A liveView shows what passes on stderr, each message on a line as wide as the terminal. Nothing waits for who reads there: lines that are too many at a time are counted.
type liveView struct {
	console *term.Console
	lines   chan string
	missed  int // lines that are not shown, and not told of yet
	quit    chan struct{}
	done    chan struct{}
}

// newLiveView starts a view, which has a goroutine until it is closed.
func newLiveView(c *term.Console) *liveView {
	const waiting = 1024
	v := &liveView{console: c, lines: make(chan string, waiting), quit: make(chan struct{}), done: make(chan struct{})}
	go v.run()
	return v
}

// run shows lines until it is to end, and then what there is.
func (v *liveView) run() {
	defer close(v.done)
	for {
		select {
		case line := <-v.lines:
			v.print(line)
		case <-v.quit:
			for len(v.lines) > 0 { // nobody else takes any
				v.print(<-v.lines)
			}
			return
		}
	}
}

func (v *liveView) print(line string) {
	_, _ = io.WriteString(v.console, lineedit.Cut(line, v.columns())+"\n")
}

func (v *liveView) columns() int {
	const unbounded = 1000
	if !v.console.Terminal {
		return unbounded
	}
	if columns, _, err := terminal.Size(os.Stderr); err == nil && columns > 0 {
		return columns
	}
	return term.Width
}

// show shows a frame. It does not block, and is not safe for concurrent use.
func (v *liveView) show(r *tap.Record) {
	for _, line := range tapLines(r) {
		if v.missed > 0 && v.offer(fmt.Sprintf("-- %d messages were too many at a time to be shown", v.missed)) {
			v.missed = 0
		}
		if v.missed > 0 || !v.offer(line) {
			v.missed++
		}
	}
}

func (v *liveView) offer(line string) bool {
	select {
	case v.lines <- line:
		return true
	default:
		return false
	}
}

// close waits a moment for what is still to be shown, and reports whether it was. What is shown later is not.
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
