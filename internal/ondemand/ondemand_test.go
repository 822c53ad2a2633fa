package ondemand

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
)

// Work that is due while other work is done is done afterwards, once, by the same goroutine. There
// is none when nothing is due.
func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, done := 0, 0
		proceed := make(chan struct{})
		task := &Task{Start: func(f func()) {
			started++
			go f()
		}, Do: func() {
			<-proceed
			done++
		}}
		task.Wake()
		synctest.Wait()
		for range 3 {
			task.Wake()
		}
		proceed <- struct{}{}
		synctest.Wait()
		assert.Equal(t, done, 1)
		proceed <- struct{}{}
		synctest.Wait() // and no goroutine waits for more when the bubble ends
		assert.Equal(t, done, 2)
		assert.Equal(t, started, 1)

		task.Wake()
		proceed <- struct{}{}
		synctest.Wait()
		assert.Equal(t, done, 3)
		assert.Equal(t, started, 2)
	})
}

// Do sees all that was done before a Wake, however many wake it.
func TestWakeConcurrently(t *testing.T) {
	var wg, callers sync.WaitGroup
	var put, taken, running atomic.Int64
	task := &Task{Start: wg.Go, Do: func() {
		assert.Check(t, running.Add(1) == 1)
		taken.Store(put.Load())
		running.Add(-1)
	}}
	const each = 1000
	for range 4 {
		callers.Go(func() {
			for range each {
				put.Add(1)
				task.Wake()
			}
		})
	}
	callers.Wait()
	wg.Wait()
	assert.Equal(t, taken.Load(), int64(4*each))
}

// A task whose owner has ended is not done.
func TestOwnerHasEnded(t *testing.T) {
	task := &Task{Start: func(func()) {}, Do: func() { t.Error("it is done") }}
	task.Wake()
	task.Wake()
}

// Do may wake its own task.
func TestWakeFromDo(t *testing.T) {
	var wg sync.WaitGroup
	n := 0
	task := &Task{Start: wg.Go}
	task.Do = func() {
		if n++; n < 5 {
			task.Wake()
		}
	}
	task.Wake()
	wg.Wait()
	assert.Equal(t, n, 5)
}
