//go:build !race

package task

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// A discard is a store that keeps nothing.
type discard struct{}

func (discard) Put(context.Context, *Record) error           { return nil }
func (discard) Get(context.Context, string) (*Record, error) { return nil, nil }
func (discard) List(context.Context, string, string, int) ([]*Record, error) {
	return nil, nil
}
func (discard) Delete(context.Context, string) error { return nil }

// A task of one server costs nothing for what servers could share.
func TestAllocationsOfTasks(t *testing.T) {
	all := New(Options{Store: discard{}, Log: slog.New(slog.DiscardHandler)})
	result := json.RawMessage(`{}`)
	run := func() {
		ctx, cancel := context.WithCancelCause(context.Background())
		task := Call{Tasks: all, Modern: true, Owner: "ann", TTL: time.Hour, Link: NewLink(nil),
			Context: ctx, Cancel: cancel, Mutex: new(sync.Mutex),
			Stopped: func() error { return nil }, LogError: func(err error) error { return err },
			Notify: func(string) {}}.New()
		if err := task.Create(); err != nil {
			panic(err)
		}
		task.Returned(Outcome{Result: result})
	}
	least := testing.AllocsPerRun(100, run)
	for range 5 {
		least = min(least, testing.AllocsPerRun(100, run))
	}
	assert.Assert(t, least <= 49, "%v allocations", least)
}
