package shared

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/store"
)

func newSessions(s store.Store) *Sessions {
	return &Sessions{Store: s, Idle: time.Hour, Log: slog.New(slog.DiscardHandler)}
}

func TestIDs(t *testing.T) {
	assert.Assert(t, IsID(strings.Repeat("A7", 13)))
	for _, wrong := range []string{"", strings.Repeat("A", 25), strings.Repeat("A", 27),
		strings.Repeat("a", 26), strings.Repeat("A", 25) + "1", strings.Repeat("A", 25) + "/"} {
		assert.Assert(t, !IsID(wrong), wrong)
	}
}

// A record is changed only by who knows it, and a change does not bring back a session that ended.
func TestRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), newSessions(new(store.Memory))
		r := Record{Principal: "ada", State: []byte(`1`)}
		assert.NilError(t, s.Open(ctx, "a", &r))
		found, err := s.Find(ctx, "a", nil)
		assert.NilError(t, err)
		assert.DeepEqual(t, found, r)
		stale := r
		saved, err := s.Save(ctx, "a", &r, []byte(`2`))
		assert.Assert(t, saved && err == nil)
		for _, c := range []struct {
			of   Record
			want bool
		}{{r, true}, {stale, false}, {Record{}, false}} {
			current, err := s.Use(ctx, "a", &c.of)
			assert.NilError(t, err)
			assert.Equal(t, current, c.want)
		}
		saved, err = s.Save(ctx, "a", &stale, []byte(`3`))
		assert.Assert(t, !saved && err == nil)

		// It is used, so it ends only for whom that does not matter.
		assert.NilError(t, s.End(ctx, "a", time.Minute))
		current, err := s.Use(ctx, "a", &r)
		assert.Assert(t, current && err == nil)
		time.Sleep(2 * time.Minute)
		assert.NilError(t, s.End(ctx, "a", time.Minute))
		found, err = s.Find(ctx, "a", &r)
		assert.Assert(t, found.Version == 0 && err == nil)
		saved, err = s.Save(ctx, "a", &r, []byte(`4`))
		assert.Assert(t, !saved && err == nil)
		// Other parts of the store have other sessions.
		part := newSessions(s.Store)
		part.Part = "b/"
		assert.NilError(t, s.Open(ctx, "a", &Record{}))
		found, err = part.Find(ctx, "a", nil)
		assert.Assert(t, found.Version == 0 && err == nil)
	})
}

// What the store has lost is put back by who knows it; meanwhile others do not take it for ended.
func TestEmptiedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		one, two := newSessions(new(store.Memory)), newSessions(nil)
		two.Store = one.Store
		r := Record{Principal: "ada", State: []byte(`1`)}
		assert.NilError(t, one.Open(ctx, "a", &r))
		assert.NilError(t, one.Ask(ctx, "a", 1))
		known, err := two.Find(ctx, "a", nil)
		assert.NilError(t, err)

		one.Store = new(store.Memory)
		two.Store = one.Store
		_, err = two.Find(ctx, "a", nil)
		assert.ErrorIs(t, err, ErrEmptied)
		answer, err := one.Answered(ctx, "a", 1) // asks again
		assert.Assert(t, answer == nil && err == nil)
		asked, err := two.Answer(ctx, "a", 1, []byte("yes"))
		assert.Assert(t, asked && err == nil)
		answer, err = one.Answered(ctx, "a", 1)
		assert.Assert(t, string(answer) == "yes" && err == nil)
		for _, s := range []*Sessions{one, two} { // at the same time, as it were
			found, err := s.Find(ctx, "a", &known)
			assert.NilError(t, err)
			assert.Assert(t, found.Version > 0 && string(found.State) == "1")
		}
		assert.NilError(t, one.End(ctx, "a", 0))
		time.Sleep(two.grace())
		found, err := two.Find(ctx, "a", nil)
		assert.Assert(t, found.Version == 0 && err == nil)
	})
}

// Replicas tell one another of changes once, whoever is late hears them, and who has missed some
// hears that anything may have changed.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSessions(new(store.Memory))
		var mu sync.Mutex
		told := map[string][]Change{}
		replica := func(name string) *Changes {
			c := NewChanges(s, func(c Change) {
				mu.Lock()
				defer mu.Unlock()
				told[name] = append(told[name], c)
			})
			go c.Run(ctx)
			go s.Follow(ctx, func(*Notice) { c.Wake() })
			synctest.Wait()
			return c
		}
		one, two := replica("one"), replica("two")
		list, read := Change{Method: "list"}, Change{Method: "updated", URI: "u"}
		one.Note(list)
		synctest.Wait()
		two.Note(read)
		two.Note(read)
		synctest.Wait()
		assert.DeepEqual(t, told, map[string][]Change{"one": {read}, "two": {list}})
		assert.Equal(t, one.Seen(), two.Seen())
		var since []Change
		assert.NilError(t, two.Since(ctx, 0, func(c Change) { since = append(since, c) }))
		assert.DeepEqual(t, since, []Change{list, read})
		replica("late")
		assert.Equal(t, len(told["late"]), 0)

		// The log is lost: that is told once.
		clear(told)
		time.Sleep(changeBounds.TTL)
		for range 3 {
			two.Wake()
			synctest.Wait()
		}
		assert.DeepEqual(t, told, map[string][]Change{"two": {{}}})

		// More than are kept wait.
		for i := range maxPending + 1 {
			one.mu.Lock()
			one.pending[Change{URI: fmt.Sprint(i)}] = struct{}{}
			one.mu.Unlock()
		}
		one.Note(read)
		one.mu.Lock()
		assert.Assert(t, len(one.pending) <= 1)
		one.mu.Unlock()
		cancel()
		synctest.Wait()
	})
}
