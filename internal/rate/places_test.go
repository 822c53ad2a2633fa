package rate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// A crowd is callers of places, whose turns it records.
type crowd struct {
	places *Places
	mu     sync.Mutex
	order  []string
}

// come lets a caller take places, and give them back after a second.
func (c *crowd) come(principal, name string, places ...Place) {
	go func() {
		if _, err := c.places.Take(context.Background(), principal, places, time.Hour); err != nil {
			name = err.Error()
		}
		c.mu.Lock()
		c.order = append(c.order, name)
		c.mu.Unlock()
		time.Sleep(time.Second)
		c.places.Give(places)
	}()
	synctest.Wait()
}

// turns returns the names of the callers that have had their places, in order.
func (c *crowd) turns() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.order, " ")
}

// Callers of one principal have their places in order, and principals in turn, however many wait.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowd{places: NewPlaces()}
		one := Place{[]byte("k"), 1}
		for i := range 6 {
			c.come("a", fmt.Sprint("a", i), one)
		}
		c.come("b", "b0", one)
		c.come("b", "b1", one)
		c.come("c", "c0", one)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, c.turns(), "a0 a1 b0 c0 a2 b1 a3 a4 a5")
		assert.Equal(t, len(c.places.taken)+c.places.waiting.Len(), 0)
	})
}

// A caller that needs two places holds none while it waits, and waiting for one does not keep
// others from what is free.
func TestTwoPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowd{places: NewPlaces()}
		x, y := Place{[]byte("x"), 1}, Place{[]byte("y"), 1}
		c.come("a", "x", x)
		c.come("a", "both", x, y)
		c.come("a", "y", y)
		assert.Equal(t, c.turns(), "x y")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, c.turns(), "x y both")
	})
}

// Never more than Most run at a time, and whoever waits long enough runs.
func TestMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, running := NewPlaces(), 0
		var mu sync.Mutex
		var wg sync.WaitGroup
		places := []Place{{[]byte("k"), 3}}
		for i := range 200 {
			wg.Go(func() {
				_, err := p.Take(t.Context(), fmt.Sprint(i%7), places, time.Hour)
				assert.Check(t, err)
				mu.Lock()
				running++
				assert.Check(t, running <= 3)
				mu.Unlock()
				time.Sleep(time.Duration(i%5) * time.Millisecond)
				mu.Lock()
				running--
				mu.Unlock()
				p.Give(places)
			})
		}
		wg.Wait()
		synctest.Wait()
		assert.Equal(t, len(p.taken)+p.waiting.Len(), 0)
	})
}

func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces()
		places := []Place{{[]byte("free"), 2}, {[]byte("k"), 1}}
		_, err := p.Take(t.Context(), "a", places, 0)
		assert.NilError(t, err)
		full, err := p.Take(t.Context(), "b", places, 0)
		assert.Assert(t, errors.Is(err, ErrNoPlace) && full == 1)
		began := time.Now()
		full, err = p.Take(t.Context(), "b", places, 5*time.Second)
		assert.Assert(t, errors.Is(err, ErrNoPlace) && full == 1)
		assert.Equal(t, time.Since(began), 5*time.Second)
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		time.AfterFunc(time.Second, func() { cancel(gone) })
		_, err = p.Take(ctx, "b", places, time.Hour)
		assert.Equal(t, err, gone)
		assert.Equal(t, p.waiting.Len(), 0)
		p.Give(places)
		_, err = p.Take(t.Context(), "b", places, 0)
		assert.NilError(t, err, "who has left holds nothing")
	})
}

// One principal cannot take all the room to wait.
func TestRoomToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces()
		places := []Place{{[]byte("k"), 1}}
		_, err := p.Take(t.Context(), "a", places, 0)
		assert.NilError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		refused := func(principal string) bool {
			done := make(chan error, 1)
			wg.Go(func() {
				_, err := p.Take(ctx, principal, places, time.Hour)
				done <- err
			})
			synctest.Wait()
			return len(done) == 1
		}
		n := 0
		for !refused("a") {
			n++
		}
		assert.Equal(t, n, maxWaiting/2)
		assert.Assert(t, !refused("b"))
		cancel()
		wg.Wait()
		assert.Equal(t, p.waiting.Len(), 0)
	})
}
