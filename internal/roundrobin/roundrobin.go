// Package roundrobin orders what waits: in each round, each principal has one turn.
package roundrobin

import (
	"cmp"
	"maps"
	"slices"
)

// A Queue has values that wait for their turns. Those of one principal have theirs in the order of
// arrival, and principals one after the other, however many values one of them has. The zero Queue
// is empty. It is not safe for concurrent use.
type Queue[T comparable] struct {
	waiting []entry[T]     // in the order of their turns
	round   int            // of the value that has had its turn last
	rounds  map[string]int // the last one of each principal that waits; others may be left
}

type entry[T comparable] struct {
	value     T
	principal string
	round     int
}

// Len returns the number of values.
func (q *Queue[T]) Len() int { return len(q.waiting) }

// Last returns the value that has its turn after all others. ok is false if the queue is empty.
func (q *Queue[T]) Last() (v T, ok bool) {
	if len(q.waiting) == 0 {
		return v, false
	}
	return q.waiting[len(q.waiting)-1].value, true
}

// Round returns the round of the value that has had its turn last.
func (q *Queue[T]) Round() int { return q.round }

// Add adds a value, which differs from the others, in the next round in which its principal has no
// turn yet, and returns the round.
func (q *Queue[T]) Add(principal string, v T) (round int) {
	if len(q.rounds) > 2*len(q.waiting) {
		maps.DeleteFunc(q.rounds, func(_ string, last int) bool { return last <= q.round })
	}
	if q.rounds == nil {
		q.rounds = make(map[string]int)
	}
	round = max(q.round, q.rounds[principal]) + 1
	q.rounds[principal] = round
	q.Insert(round, principal, v)
	return round
}

// Insert adds a value, which differs from the others, behind those of a round.
func (q *Queue[T]) Insert(round int, principal string, v T) {
	behind, _ := slices.BinarySearchFunc(q.waiting, round+1,
		func(e entry[T], next int) int { return cmp.Compare(e.round, next) })
	q.waiting = slices.Insert(q.waiting, behind, entry[T]{v, principal, round})
}

// Serve calls begins for each value, in the order of their turns, and removes those for which it
// returns true: they have had their turns. One that has not may be overtaken.
func (q *Queue[T]) Serve(begins func(T) bool) {
	q.waiting = slices.DeleteFunc(q.waiting, func(e entry[T]) bool {
		served := begins(e.value)
		if served {
			q.round = max(q.round, e.round)
		}
		return served
	})
}

// Remove removes a value that has waited in vain, which does not count as a turn of its principal.
// It reports whether the queue had it.
func (q *Queue[T]) Remove(v T) bool {
	i := slices.IndexFunc(q.waiting, func(e entry[T]) bool { return e.value == v })
	if i < 0 {
		return false
	}
	e := q.waiting[i]
	q.waiting = slices.Delete(q.waiting, i, i+1)
	if q.rounds[e.principal] == e.round {
		if q.rounds[e.principal]--; q.rounds[e.principal] <= q.round {
			delete(q.rounds, e.principal)
		}
	}
	return true
}
