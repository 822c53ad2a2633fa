// Package workers runs functions on goroutines that are kept for later functions.
package workers

import "sync"

// maxIdle is how many idle goroutines are kept.
const maxIdle = 64

// A Pool runs functions on goroutines that are kept for later functions, because growing the stack
// of a new goroutine is a tenth of the work for a small request. The zero value is ready to use.
type Pool struct {
	mu     sync.Mutex
	idle   []chan func() // with room for one
	closed bool
}

// Run runs f on a goroutine. It does not block. It prefers the goroutine that became idle last.
func (w *Pool) Run(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := len(w.idle) - 1; last >= 0 {
		w.idle[last] <- f
		w.idle = w.idle[:last]
		return
	}
	go w.work(f)
}

func (w *Pool) work(f func()) {
	work := make(chan func(), 1)
	for more := true; more; f, more = <-work {
		f()
		f = nil // while the goroutine is idle
		if !w.await(work) {
			return
		}
	}
}

// await makes a goroutine idle. It reports false if the goroutine must end.
func (w *Pool) await(work chan func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.idle) == maxIdle {
		return false
	}
	w.idle = append(w.idle, work)
	return true
}

// Close ends the idle goroutines, and the others when their functions return.
func (w *Pool) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, work := range w.idle {
		close(work)
	}
	w.idle = nil
}
