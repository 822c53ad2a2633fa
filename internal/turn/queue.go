package turn

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// A queue lets some run at a time, and the others wait for their turns.
type queue struct {
	mu      sync.Mutex
	running int
	waiting []waiter       // in the order of their turns
	round   int            // of the one that has had its turn last
	rounds  map[string]int // the last one of each principal that waits; others may be left
}

// A waiter waits for its turn. In each round, each principal has one turn for what is new.
type waiter struct {
	turn  chan struct{} // closed when it is its turn
	round int
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
		*b = begun{q.round, turnsOfRound}
	}
	b.turns--
	if q.running < most {
		q.running++
		return
	}
	if isNew {
		b.round = q.nextRound(principal)
	}
	turn := make(chan struct{})
	q.add(turn, b.round)
	q.await(ctx, turn)
	i := slices.IndexFunc(q.waiting, func(w waiter) bool { return w.turn == turn })
	if i >= 0 { // its patience, or ctx, has ended
		q.running++
		q.take(i)
	}
}

// nextRound returns the round of what is new of a principal.
func (q *queue) nextRound(principal string) int {
	if len(q.rounds) > 2*len(q.waiting) {
		maps.DeleteFunc(q.rounds, func(_ string, last int) bool { return last <= q.round })
	}
	if q.rounds == nil {
		q.rounds = make(map[string]int)
	}
	round := max(q.round, q.rounds[principal]) + 1
	q.rounds[principal] = round
	return round
}

func (q *queue) add(turn chan struct{}, round int) {
	behind := slices.IndexFunc(q.waiting, func(w waiter) bool { return w.round > round })
	if behind < 0 {
		behind = len(q.waiting)
	}
	q.waiting = slices.Insert(q.waiting, behind, waiter{turn, round})
}

// leave ends a turn. The next one in the queue has it.
func (q *queue) leave(most int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 || q.running > most {
		q.running--
		return
	}
	close(q.waiting[0].turn)
	q.take(0)
}

// take lets one that waits have its turn.
func (q *queue) take(i int) {
	q.round = max(q.round, q.waiting[i].round)
	q.waiting = slices.Delete(q.waiting, i, i+1)
}

// settle waits until all that wait now have had their turns, for patience at most, or until ctx
// ends.
func (q *queue) settle(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if last := len(q.waiting) - 1; last >= 0 {
		q.await(ctx, q.waiting[last].turn)
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
