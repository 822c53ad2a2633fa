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
	goesOn    bool // see Continue
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

// Add adds a value, which differs from the others, in the next round in which its principal has no
// turn yet.
func (q *Queue[T]) Add(principal string, v T) {
	if len(q.rounds) > 2*len(q.waiting) {
		maps.DeleteFunc(q.rounds, func(_ string, last int) bool { return last <= q.round })
	}
	if q.rounds == nil {
		q.rounds = make(map[string]int)
	}
	round := max(q.round, q.rounds[principal]) + 1
	q.rounds[principal] = round
	q.insert(entry[T]{v, principal, round, false})
}

// insert adds an entry behind those of its round.
func (q *Queue[T]) insert(e entry[T]) {
	behind, _ := slices.BinarySearchFunc(q.waiting, e.round+1,
		func(e entry[T], next int) int { return cmp.Compare(e.round, next) })
	q.waiting = slices.Insert(q.waiting, behind, e)
}

// Continue adds a value, which differs from the others, that goes on with what has had a turn. It
// precedes what is new of its principal, and of all principals if none of its own goes on before
// it: of each principal, one value goes on in a round.
func (q *Queue[T]) Continue(principal string, v T) {
	last := -1 // of the principal that goes on
	for i, e := range q.waiting {
		if e.goesOn && e.principal == principal {
			last = i
		}
	}
	e := entry[T]{v, principal, q.round, true}
	if last < 0 {
		isLater := func(other entry[T]) bool { return !other.goesOn || other.round > q.round }
		first := slices.IndexFunc(q.waiting, isLater)
		if first < 0 {
			first = len(q.waiting)
		}
		q.waiting = slices.Insert(q.waiting, first, e)
		return
	}
	// It has the next turn of the principal, and what is new a later one each.
	e.round = q.waiting[last].round + 1
	for i := range q.waiting[last+1:] {
		if other := &q.waiting[last+1+i]; other.principal == principal {
			e.value, other.value = other.value, e.value
			e.goesOn, other.goesOn = other.goesOn, e.goesOn
			e.round = other.round + 1
		}
	}
	if q.rounds == nil {
		q.rounds = make(map[string]int)
	}
	q.rounds[principal] = max(q.rounds[principal], e.round)
	q.insert(e)
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
