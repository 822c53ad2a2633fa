package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/lineedit"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
)

const (
	maxTraced = 1000     // lines that wait to be shown
	maxFrame  = 16 << 10 // bytes of a frame that are shown where there is no terminal to be as wide as
)

// A tracer shows the traffic. Frames come from the goroutines that send and receive, which must not wait for a terminal: so there is a queue, and a goroutine
// that shows what is in it.
type tracer struct {
	on    bool // from the start; then under mu
	shell *shell
	ready chan struct{} // capacity 1: the queue is not empty
	quit  chan struct{}
	ended chan struct{}

	mu      sync.Mutex
	lines   []string
	dropped int

	showing sync.Mutex // held while lines are taken and shown, so that they stay in order
}

func (t *tracer) start(s *shell) {
	t.shell, t.ready, t.quit, t.ended = s, make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(t.ended)
		for {
			select {
			case <-t.ready:
				t.drain()
			case <-t.quit:
				t.drain()
				return
			}
		}
	}()
}

func (t *tracer) stop() {
	close(t.quit)
	<-t.ended
}

// set turns the tracer on and off.
func (t *tracer) set(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on = on
}

func (t *tracer) isOn() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.on
}

// frame takes a frame; see rpc.Hooks.
func (t *tracer) frame(d rpc.Direction, frame []byte) {
	if !t.isOn() {
		return
	}
	line := traced(time.Now(), d, frame, t.columns())
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == maxTraced {
		t.dropped++
		return
	}
	t.lines = append(t.lines, line)
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

// columns is how wide a line may be; 0 is any width.
func (t *tracer) columns() int {
	if !t.shell.std.err.terminal {
		return 0
	}
	return t.shell.editor.Width()
}

// traced shows a frame on one line.
func traced(at time.Time, d rpc.Direction, frame []byte, columns int) string {
	arrow := "←"
	if d == rpc.Outbound {
		arrow = "→"
	}
	head := fmt.Sprintf("%s %s ", at.Format("15:04:05.000"), arrow)
	if columns == 0 {
		return head + printable.JSON(string(frame[:min(len(frame), maxFrame)])) + more(len(frame)-maxFrame)
	}
	const longest = 4 // bytes of a character
	return lineedit.Cut(head+printable.JSON(string(frame[:min(len(frame), longest*columns)])), columns-1)
}

func more(bytes int) string {
	if bytes <= 0 {
		return ""
	}
	return fmt.Sprintf("… (%s more)", size(bytes))
}

// drain shows what waits to be shown.
func (t *tracer) drain() {
	t.showing.Lock()
	defer t.showing.Unlock()
	t.mu.Lock()
	lines, dropped := t.lines, t.dropped
	t.lines, t.dropped = nil, 0
	t.mu.Unlock()
	for _, line := range lines {
		t.shell.std.err.printf("%s", line)
	}
	if dropped > 0 {
		t.shell.std.err.printf("note: %d more messages are not shown", dropped)
	}
}
