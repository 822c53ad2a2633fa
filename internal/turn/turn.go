// Package turn lets the work on large messages, their decoding and encoding, run for about as many
// at a time as there are processors. So the messages of one peer do not all take memory at once.
// The work of each principal is done in the order in which it was due, and principals have their
// turns one after the other. Handlers never run in a turn: however long they wait, they hold nobody
// up.
package turn

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/contextkey"
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
	waiting []waiter       // in the order of their turns
	round   int            // of the work that has had its turn last
	rounds  map[string]int // the last one of each principal whose work waits; others may be left
}

// A waiter is work that waits. In each round, each principal has one turn.
type waiter struct {
	turn  chan struct{} // closed when it is its turn
	round int
}

// Key is the key of the *Line in the context of a message.
type Key struct{}

// Within returns ctx with a line for the messages of a principal that is no [contextkey.Principal].
func Within(ctx context.Context, l *Line, principal string) context.Context {
	return &lineContext{ctx, place{l, principal}}
}

type lineContext struct {
	context.Context
	place place
}

// A place is a line, and whose work waits there.
type place struct {
	line      *Line
	principal string
}

func (c *lineContext) Value(key any) any {
	if key == (Key{}) {
		return &c.place
	}
	return c.Context.Value(key)
}

// Do calls work, on size bytes of the message whose handler has ctx. Large work has its turn in the
// line of ctx.
func Do(ctx context.Context, size int, work func()) {
	if size > large {
		switch at := ctx.Value(Key{}).(type) {
		case *place:
			at.line.enter(at.principal)
			defer at.line.leave()
		case *Line:
			principal, _ := ctx.Value(contextkey.Principal{}).(string)
			at.enter(principal)
			defer at.leave()
		}
	}
	work()
}

// enter waits for a turn, and takes it.
func (l *Line) enter(principal string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running < runtime.GOMAXPROCS(0) {
		l.running++
		return
	}
	turn := make(chan struct{})
	l.add(turn, principal)
	l.await(context.Background(), turn)
	i := slices.IndexFunc(l.waiting, func(w waiter) bool { return w.turn == turn })
	if i >= 0 { // its patience has ended
		l.running++
		l.take(i)
	}
}

func (l *Line) add(turn chan struct{}, principal string) {
	if len(l.rounds) > 2*len(l.waiting) {
		maps.DeleteFunc(l.rounds, func(_ string, last int) bool { return last <= l.round })
	}
	if l.rounds == nil {
		l.rounds = make(map[string]int)
	}
	round := max(l.round, l.rounds[principal]) + 1
	l.rounds[principal] = round
	behind := slices.IndexFunc(l.waiting, func(w waiter) bool { return w.round > round })
	if behind < 0 {
		behind = len(l.waiting)
	}
	l.waiting = slices.Insert(l.waiting, behind, waiter{turn, round})
}

// leave ends a turn. The next in line has it.
func (l *Line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 || l.running > runtime.GOMAXPROCS(0) {
		l.running--
		return
	}
	close(l.waiting[0].turn)
	l.take(0)
}

// take lets work that waits have its turn.
func (l *Line) take(i int) {
	l.round = max(l.round, l.waiting[i].round)
	l.waiting = slices.Delete(l.waiting, i, i+1)
}

// Settle is for a reader that has passed on a message of size bytes. If that is large, Settle waits
// until all work that is due now has had its turn, or ctx ends. So what would be read meanwhile
// stays with its sender.
func (l *Line) Settle(ctx context.Context, size int) {
	if size <= large {
		return
	}
	runtime.Gosched() // so that the message's own work is due
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := len(l.waiting) - 1; last >= 0 {
		l.await(ctx, l.waiting[last].turn)
	}
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
