// Package queue has notifications that wait for a callback of the application.
package queue

import (
	"sync"

	"github.com/stdwire/stdwire/internal/ondemand"
)

const (
	maxItems = 256     // that wait
	maxBytes = 1 << 20 // of all of them; one is always accepted
)

// A Queue is of notifications. When it is full, it drops the oldest. Its methods may be called
// concurrently and do not block.
type Queue[T any] struct {
	deliver ondemand.Task
	size    func(T) int // in bytes

	mu      sync.Mutex
	items   []T
	bytes   int
	dropped int
}

// New returns an empty queue of items whose size in bytes a function returns. After a Put, deliver,
// which takes all items, runs on a goroutine that start starts.
func New[T any](size func(T) int, start func(func()), deliver func()) *Queue[T] {
	return &Queue[T]{size: size, deliver: ondemand.Task{Start: start, Do: deliver}}
}

// Put adds an item, and returns how many it drops for it.
func (q *Queue[T]) Put(item T) (dropped int) {
	q.mu.Lock()
	q.items = append(q.items, item)
	q.bytes += q.size(item)
	for len(q.items) > maxItems || q.bytes > maxBytes && len(q.items) > 1 {
		q.shift()
		dropped++
	}
	q.dropped += dropped
	q.mu.Unlock()
	q.deliver.Wake()
	return dropped
}

// shift removes the first item. The caller holds mu.
func (q *Queue[T]) shift() T {
	var none T
	first := q.items[0]
	q.items[0] = none
	q.items = q.items[1:]
	q.bytes -= q.size(first)
	return first
}

// Take removes the first item; ok is false if there is none. dropped is the number of items that
// were dropped since the last call.
func (q *Queue[T]) Take() (item T, ok bool, dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	dropped, q.dropped = q.dropped, 0
	if len(q.items) == 0 {
		return item, false, dropped
	}
	return q.shift(), true, dropped
}
