// Package ondemand does work on goroutines that exist only while there is some. A program with many
// connections has many kinds of work that are rarely due, and a goroutine that waits for each would
// take more memory than all the rest of a connection that is idle.
package ondemand

import "sync"

// A Task is work that is due from time to time. It is done by one goroutine at a time.
type Task struct {
	// Start runs a function on a new goroutine, or does nothing if the owner of the task has ended.
	// It must not block, run the function itself or call Wake: it is called under a lock.
	Start func(func())
	// Do does all the work that is due. It must return: after a panic or a runtime.Goexit in it,
	// nothing is done any more.
	Do func()

	mu      sync.Mutex
	running bool
	again   bool // Do is called once more
}

// Wake says that work is due: Do begins at least once after the call. Wake does not wait for it. It
// may be called concurrently, and from Do.
func (t *Task) Wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.again = true
	if !t.running {
		t.running = true
		t.Start(t.run)
	}
}

func (t *Task) run() {
	for t.isDue() {
		t.Do()
	}
}

// isDue reports whether Do is to be called. Otherwise the goroutine ends.
func (t *Task) isDue() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running, t.again = t.again, false
	return t.running
}
