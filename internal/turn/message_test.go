package turn

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// Messages that have begun end before others begin.
func TestMessages(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		var line Line
		begun, most, ended := 0, 0, 0 // one processor: the work of one message at a time
		for range 20 {
			go func() {
				m := line.Message("")
				for i := range turnsOfMessage {
					m.Do(large+1, func() {
						if i == 0 {
							begun++
						}
						most = max(most, begun)
						time.Sleep(patience / 1000) // of the bubble
						if i == turnsOfMessage-1 {
							begun--
							ended++
						}
					})
				}
			}()
		}
		time.Sleep(patience)
		synctest.Wait()
		assert.Equal(t, ended, 20)
		assert.Assert(t, most <= 2, "%d", most)
		assert.Equal(t, line.work.running, 0)
	})
}

// However many messages of one principal have begun, another principal has every second turn.
func TestMessagesOfPrincipals(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		var line Line
		works := 0
		work := func() {
			works++
			time.Sleep(patience / 1000) // of the bubble
		}
		proceed := make(chan struct{})
		for range 100 {
			go func() {
				m := line.Message("a")
				m.Do(large+1, work)
				<-proceed // as a handler that waits
				for range turnsOfMessage - 1 {
					m.Do(large+1, work)
				}
			}()
		}
		time.Sleep(patience)
		synctest.Wait()
		assert.Equal(t, works, 100)
		close(proceed)
		synctest.Wait()
		m := line.Message("b")
		for i := range turnsOfMessage {
			m.Do(large+1, func() { assert.Check(t, works <= 100+2*(i+2), "%d: %d", i, works) })
		}
		time.Sleep(patience)
		synctest.Wait()
		assert.Equal(t, works, 100*turnsOfMessage)
		assert.Equal(t, line.work.running, 0)
	})
}

// Messages with a lot of work count as new ones after some of it, and let others begin.
func TestMessagesWithMuchWork(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		var line Line
		const messages = 3 // that take turns with one another
		works, before := 0, 0
		for range messages {
			go func() {
				m := line.Message("")
				for range 10 * turnsOfMessage {
					m.Do(large+1, func() {
						works++
						time.Sleep(patience / 1000) // of the bubble
					})
				}
			}()
		}
		synctest.Wait()
		m := line.Message("")
		m.Do(large+1, func() { before = works })
		assert.Assert(t, before <= messages*turnsOfMessage, "%d", before)
		time.Sleep(patience)
		synctest.Wait()
		assert.Equal(t, works, messages*10*turnsOfMessage)
	})
}

// Bodies are read a few at a time, in the order of arrival, until they end or stall.
func TestBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line Line
		n := bodies()
		messages := make([]Message, 4*n)
		var read atomic.Int64
		for i := range messages {
			messages[i] = line.Message("")
			go func() {
				messages[i].Read(t.Context(), large+1)
				// of those that come later, several are read at the same time
				if earlier := read.Add(1) - 1; i < 2*n {
					assert.Check(t, cmp.Equal(int(earlier), i))
				}
			}()
			synctest.Wait()
		}
		assert.Equal(t, int(read.Load()), n)
		small := line.Message("")
		small.Read(t.Context(), large) // does not wait
		small.EndBody()
		for i := range n {
			if i%2 == 0 {
				messages[i].EndBody()
				messages[i].EndBody() // again has no effect
			} else {
				messages[i].Do(large+1, func() {})
			}
			synctest.Wait()
			assert.Equal(t, int(read.Load()), n+i+1)
		}
		time.Sleep(stall - 1)
		messages[n].Read(t.Context(), large+2) // has not stalled
		synctest.Wait()
		assert.Equal(t, int(read.Load()), 2*n)
		time.Sleep(1)
		synctest.Wait()
		assert.Equal(t, int(read.Load()), 3*n-1)
		time.Sleep(stall)
		synctest.Wait()
		assert.Equal(t, int(read.Load()), 4*n-1)
		messages[n].Read(t.Context(), large+3) // which has stalled, and comes behind the last one
		assert.Equal(t, int(read.Load()), 4*n)
		for i := range messages {
			messages[i].EndBody()
		}
		assert.Equal(t, line.bodies.running, 0)
		assert.Equal(t, line.bodies.waiting.Len(), 0)
	})
}

// A body whose request has ended waits no more, and gives its turn back.
func TestBodiesOfEndedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line Line
		ctx, cancel := context.WithCancel(t.Context())
		begin, all := time.Now(), make(chan *Message)
		for range 3 * bodies() {
			go func() {
				m := line.Message("")
				m.Read(ctx, large+1)
				all <- &m
			}()
		}
		synctest.Wait()
		assert.Equal(t, line.bodies.waiting.Len(), 2*bodies())
		cancel()
		for range 3 * bodies() {
			(<-all).EndBody()
		}
		assert.Equal(t, time.Since(begin), time.Duration(0))
		assert.Equal(t, line.bodies.running, 0)
		assert.Equal(t, line.bodies.waiting.Len(), 0)
	})
}
