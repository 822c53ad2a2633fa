// Package turn lets the work on large messages, their decoding and encoding, run for about as many
// at a time as there are processors, first come, first served. So the messages of one peer do not
// all take memory at once, and those that came first are answered first. Handlers never run in a
// turn: however long they wait, they hold nobody up.
package turn

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// large is the size in bytes above which the work on a message has a turn. The memory of smaller
// ones is little, and waiting would cost more than it saves.
const large = 256 << 10

// patience is how long work waits for its turn, and a reader for the work. It ends only if methods
// of the application that decode or encode its values block.
const patience = time.Second

// A Line is where work waits for its turn. The zero Line is ready to use.
type Line struct {
	mu      sync.Mutex
	running int
	waiting []chan struct{} // closed when it is the turn of the work; in order of arrival
	settled chan struct{}   // closed when no work waits; made on demand
}

// Key is the key of the *Line in the context of a message.
type Key struct{}

// Within returns ctx with the line of a message of size bytes, if that is large.
func Within(ctx context.Context, l *Line, size int) context.Context {
	if size <= large {
		return ctx
	}
	return context.WithValue(ctx, Key{}, l)
}

// Do calls work, on size bytes of the message whose handler has ctx. Large work has its turn in the
// line of ctx.
func Do(ctx context.Context, size int, work func()) {
	if size > large {
		if line, _ := ctx.Value(Key{}).(*Line); line != nil {
			line.enter()
			defer line.leave()
		}
	}
	work()
}

// enter waits for a turn, and takes it.
func (l *Line) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running < runtime.GOMAXPROCS(0) {
		l.running++
		return
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	l.await(context.Background(), turn)
	if i := slices.Index(l.waiting, turn); i >= 0 { // its patience has ended
		l.running++
		l.remove(i)
	}
}

// leave ends a turn. The next in line has it.
func (l *Line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 || l.running > runtime.GOMAXPROCS(0) {
		l.running--
		return
	}
	close(l.waiting[0])
	l.remove(0)
}

// remove removes one of those that wait.
func (l *Line) remove(i int) {
	l.waiting = slices.Delete(l.waiting, i, i+1)
	if len(l.waiting) == 0 && l.settled != nil {
		close(l.settled)
		l.settled = nil
	}
}

// Settle is for a reader that has passed on a message of size bytes. If that is large, Settle waits
// until no work waits for its turn, or ctx ends. So what is read meanwhile stays with its sender.
func (l *Line) Settle(ctx context.Context, size int) {
	if size <= large {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		return
	}
	if l.settled == nil {
		l.settled = make(chan struct{})
	}
	l.await(ctx, l.settled)
}

// await waits for an event, for patience at most, with mu unlocked. It returns with mu held.
func (l *Line) await(ctx context.Context, event <-chan struct{}) {
	l.mu.Unlock()
	defer l.mu.Lock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-event:
	case <-ctx.Done():
	case <-timer.C:
	}
}
