package shell

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc"
)

const (
	MaxTraceLines = 1000     // queued lines
	MaxFrame      = 16 << 10 // bytes of a frame that are printed
)

// A Tracer prints the traffic. Frames are queued and printed by its own goroutine, because the
// callers must not wait for a terminal.
type Tracer struct {
	On    bool // whether frames are printed; guarded by mu after start
	Shell *Shell
	Ready chan struct{} // capacity 1: the queue is not empty
	quit  chan struct{}
	ended chan struct{}

	mu      sync.Mutex
	lines   []string
	dropped int

	showing sync.Mutex // held while lines are dequeued and printed, to keep their order
}

func (t *Tracer) start(s *Shell) {
	t.Shell, t.Ready, t.quit, t.ended = s, make(chan struct{}, 1), make(chan struct{}),
		make(chan struct{})
	go func() {
		defer close(t.ended)
		for {
			select {
			case <-t.Ready:
				t.Drain()
			case <-t.quit:
				t.Drain()
				return
			}
		}
	}()
}

func (t *Tracer) stop() {
	close(t.quit)
	<-t.ended
}

// set turns the tracer on or off.
func (t *Tracer) set(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.On = on
}

func (t *Tracer) isOn() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.On
}

// Frame queues a frame; see rpc.Hooks.
func (t *Tracer) Frame(_ context.Context, d rpc.Direction, frame []byte) {
	if !t.isOn() {
		return
	}
	line := FormatFrame(time.Now(), d, frame)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == MaxTraceLines {
		t.dropped++
		return
	}
	t.lines = append(t.lines, line)
	wake.Up(t.Ready)
}

// FormatFrame formats a frame on one line, which a terminal wraps.
func FormatFrame(at time.Time, d rpc.Direction, frame []byte) string {
	arrow := "←"
	if d == rpc.Outbound {
		arrow = "→"
	}
	head := fmt.Sprintf("%s %s ", at.Format("15:04:05.000"), arrow)
	return head + printable.JSON(string(frame[:min(len(frame), MaxFrame)])) +
		moreBytes(len(frame)-MaxFrame)
}

func moreBytes(bytes int) string {
	if bytes <= 0 {
		return ""
	}
	return fmt.Sprintf("… (%s more)", command.Size(bytes))
}

// Drain prints the queued lines.
func (t *Tracer) Drain() {
	t.showing.Lock()
	defer t.showing.Unlock()
	t.mu.Lock()
	lines, dropped := t.lines, t.dropped
	t.lines, t.dropped = nil, 0
	t.mu.Unlock()
	for _, line := range lines {
		t.Shell.Std.Err.Printf("%s", line)
	}
	if dropped > 0 {
		t.Shell.Std.Err.Printf("note: %d more messages are not shown", dropped)
	}
}
