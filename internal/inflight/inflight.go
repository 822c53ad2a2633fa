// Package inflight counts in tests how many calls run at the same time.
package inflight

import "sync"

// A Count counts calls. The zero value has counted none. Its methods are safe for concurrent use.
type Count struct {
	mu        sync.Mutex
	now, most int
}

// Begin counts a call until the returned function is called.
func (c *Count) Begin() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.most = max(c.most, c.now)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now--
	}
}

// Now returns the number of calls that run.
func (c *Count) Now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Most returns the largest number of calls that have run at the same time.
func (c *Count) Most() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most
}
