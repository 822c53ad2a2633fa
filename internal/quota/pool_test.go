package quota

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
)

func TestAnOwnerHoldsHalfOfWhatTheOthersLeave(t *testing.T) {
	for _, test := range []struct {
		total int64
		takes string // owners that take 1, in this order; "." is the owner ""
		want  map[string]int64
	}{
		{8, "aaaaaaaa", map[string]int64{"a": 4}},
		{8, "aaaabbbb", map[string]int64{"a": 4, "b": 2}},
		{8, "abababab", map[string]int64{"a": 3, "b": 3}},
		{9, "abcabcabc", map[string]int64{"a": 3, "b": 2, "c": 2}},
		{1, "ab", map[string]int64{"a": 1}},
		{3, "aab", map[string]int64{"a": 2, "b": 1}},
		{4, "......", map[string]int64{"": 4}},
		{4, "..aaa", map[string]int64{"": 2, "a": 1}},
	} {
		t.Run(fmt.Sprint(test.total, test.takes), func(t *testing.T) {
			p, got := NewPool(test.total), map[string]int64{}
			for _, c := range test.takes {
				name := string(c)
				if c == '.' {
					name = ""
				}
				if p.Take(name, 1) == nil {
					got[name]++
				}
			}
			assert.DeepEqual(t, got, test.want)
			var used int64
			for name, n := range got {
				assert.Equal(t, p.Held(name), n)
				used += n
			}
			assert.Equal(t, p.Used(), used)
			for name, n := range got {
				p.Give(name, n)
			}
			assert.Equal(t, p.Used(), int64(0))
			assert.Equal(t, len(p.owners), 0)
		})
	}
}

func TestErrorSaysWhoMustGiveBack(t *testing.T) {
	p := NewPool(8)
	assert.ErrorIs(t, p.Take("a", 5), ErrNever)
	assert.ErrorIs(t, p.Take("", 9), ErrNever)
	assert.NilError(t, p.Take("a", 4))
	assert.ErrorIs(t, p.Take("a", 1), ErrShare)
	assert.NilError(t, p.Take("", 4))
	assert.ErrorIs(t, p.Take("b", 1), ErrTotal)
	name, held := p.Heaviest()
	assert.Equal(t, name, "")
	assert.Equal(t, held, int64(4))
}

func TestErrShareOnlyIfTheOwnerCanMakeRoom(t *testing.T) {
	p := NewPool(100)
	assert.NilError(t, p.Take("b", 50))
	assert.NilError(t, p.Take("a", 5))
	assert.ErrorIs(t, p.Take("a", 26), ErrTotal) // b has to give something back
	assert.ErrorIs(t, p.Take("a", 21), ErrShare) // a has to give something back
	assert.Equal(t, p.Room("a"), int64(20))
	assert.Equal(t, p.Room("b"), int64(0))
	assert.Equal(t, p.Room("c"), int64(23))
	assert.Equal(t, p.Room(""), int64(45))
	assert.Equal(t, len(p.owners), 2)
	account := p.Open("c")
	assert.NilError(t, account.Resize(20))
	assert.ErrorIs(t, account.Resize(24), ErrTotal)
	assert.ErrorIs(t, account.Resize(51), ErrNever) // although it takes only 31 more
}

func TestGivingBackMoreThanIsHeldPanics(t *testing.T) {
	p := NewPool(8)
	assert.NilError(t, p.Take("a", 1))
	defer func() { assert.Equal(t, recover(), "quota: 2 given back, but 1 held") }()
	p.Give("a", 2)
}

func TestOwnersThatWaitAreServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(1)
		assert.NilError(t, p.Take("z", 1))
		var mu sync.Mutex
		var order string
		for _, name := range []string{"a", "a", "a", "b", "c", "b"} {
			go func() {
				assert.NilError(t, p.Wait(t.Context(), name, 1))
				mu.Lock()
				order += name
				mu.Unlock()
				p.Give(name, 1)
			}()
			synctest.Wait()
		}
		p.Give("z", 1)
		synctest.Wait()
		assert.Equal(t, order, "abcaba")
		assert.Equal(t, p.Used(), int64(0))
	})
}

func TestCancelledWaitLetsSmallerAmountsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(4)
		assert.NilError(t, p.Take("", 3))
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		large, small := make(chan error, 1), make(chan error, 1)
		go func() { large <- p.Wait(ctx, "", 2) }()
		synctest.Wait()
		go func() { small <- p.Wait(t.Context(), "", 1) }()
		synctest.Wait()
		assert.Equal(t, len(small), 0) // in the order of arrival
		cancel(gone)
		assert.ErrorIs(t, <-large, gone)
		assert.NilError(t, <-small)
		p.Give("", 4)
		assert.Equal(t, len(p.owners), 0)
		assert.Equal(t, len(p.waiting), 0)
	})
}

func TestConcurrentOwnersNeverHoldMoreThanTheTotal(t *testing.T) {
	p := NewPool(10)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			name := fmt.Sprint(i % 4)
			for n := range int64(500) {
				if p.Wait(t.Context(), name, n%3) != nil {
					t.Error("not served")
				}
				if used := p.Used(); used > 10 {
					t.Errorf("%d are held of 10", used)
				}
				p.Give(name, n%3)
			}
		})
	}
	all.Wait()
	assert.Equal(t, len(p.owners), 0)
}

func TestAnAccountGivesEverythingBackWhenItIsClosed(t *testing.T) {
	p := NewPool(10)
	a := p.Open("a")
	assert.NilError(t, a.Take(3))
	assert.NilError(t, a.Resize(5))
	assert.ErrorIs(t, a.Resize(6), ErrNever)
	assert.Equal(t, p.Held("a"), int64(5))
	assert.NilError(t, a.Resize(1))
	assert.NilError(t, a.Wait(t.Context(), 2))
	assert.Equal(t, a.Held(), int64(3))
	assert.Equal(t, FromContext(NewContext(t.Context(), a)), a)
	a.Close()
	assert.Equal(t, p.Used(), int64(0))
	assert.NilError(t, a.Take(1)) // a task that outlives its account gets no error
	assert.NilError(t, a.Wait(t.Context(), 1))
	assert.Equal(t, p.Used(), int64(0))
	assert.NilError(t, p.Take("a", 5))
	for _, n := range []int64{-5, 0, 3} { // what others of the owner hold stays
		assert.NilError(t, a.Resize(n))
		assert.Equal(t, p.Held("a"), int64(5))
	}
	a.Close()
	assert.Equal(t, p.Held("a"), int64(5))

	none := FromContext(t.Context())
	assert.NilError(t, none.Take(1<<40))
	assert.NilError(t, none.Resize(1<<40))
	assert.NilError(t, none.Wait(t.Context(), 1<<40))
	assert.Equal(t, none.Held(), int64(0))
	none.Close()
}
