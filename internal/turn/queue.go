package turn

import (
	"context"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/roundrobin"
)

// A queue lets some run at a time, and the others wait for their turns.
type queue struct {
	mu      sync.Mutex
	running int
	waiting roundrobin.Queue[chan struct{}] // closed when it is their turn
}

// turnsOfMessage is how many turns one message has before it counts as a new one: it is parsed, its
// arguments are validated and decoded, and its result and the response are encoded.
const turnsOfMessage = 5

// enter waits for a turn, and takes it: for patience at most, or until ctx ends. At most most run
// at a time, besides those whose patience has ended. left is how many turns are left to what goes
// on, which precedes what is new; 0 for that.
func (q *queue) enter(ctx context.Context, most int, principal string, left *int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	add := q.waiting.Continue
	if *left == 0 {
		*left, add = turnsOfMessage, q.waiting.Add
	}
	*left--
	if q.running < most {
		q.running++
		return
	}
	turn := make(chan struct{})
	add(principal, turn)
	q.await(ctx, turn)
	q.waiting.Serve(func(other chan struct{}) bool {
		if other == turn { // its patience, or ctx, has ended
			q.running++
		}
		return other == turn
	})
}

// leave ends a turn. Those who are next in the queue have theirs.
func (q *queue) leave(most int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	q.waiting.Serve(func(turn chan struct{}) bool {
		if q.running >= most {
			return false
		}
		q.running++
		close(turn)
		return true
	})
}

// settle waits until all that wait now have had their turns, for patience at most, or until ctx
// ends.
func (q *queue) settle(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if last, ok := q.waiting.Last(); ok {
		q.await(ctx, last)
	}
}

// await waits for an event, for patience at most, with mu unlocked. It returns with mu held.
func (q *queue) await(ctx context.Context, event <-chan struct{}) {
	q.mu.Unlock()
	defer q.mu.Lock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-event:
	case <-ctx.Done():
	case <-timer.C:
	}
}
