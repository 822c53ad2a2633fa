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

// A begun is the round of something that has several turns. After the first one, it comes before
// what has not begun. Its queue guards it.
type begun struct {
	round int
	turns int // left in the round
}

// turnsOfRound is how many turns one message has in its round: it is parsed, its arguments are
// validated and decoded, and its result and the response are encoded.
const turnsOfRound = 5

// enter waits for a turn, and takes it: for patience at most, or until ctx ends. At most most run
// at a time, besides those whose patience has ended.
func (q *queue) enter(ctx context.Context, most int, principal string, b *begun) {
	q.mu.Lock()
	defer q.mu.Unlock()
	isNew := b.turns == 0
	if isNew {
		*b = begun{q.waiting.Round(), turnsOfRound}
	}
	b.turns--
	if q.running < most {
		q.running++
		return
	}
	turn := make(chan struct{})
	if isNew {
		b.round = q.waiting.Add(principal, turn)
	} else {
		q.waiting.Insert(b.round, principal, turn)
	}
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
