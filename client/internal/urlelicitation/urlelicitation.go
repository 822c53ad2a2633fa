// Package urlelicitation tracks the URL elicitations of a connection and their completion
// (2025-11-25, Elicitation, "Completion Notifications for URL Mode Elicitation").
package urlelicitation

import (
	"crypto/sha256"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/ondemand"
)

// MaxID is the length in bytes of the longest id of an elicitation that is tracked.
const MaxID = 1024

const maxElicitations = 1024 // that are remembered; also, completions that wait for the callback

// A Table has the elicitations of a connection by their ids. It also records the completion of an
// unknown id, because the notification may arrive before the request. Its methods may be called
// concurrently and do not block.
type Table struct {
	deliver *ondemand.Task // passes completions to the application; nil if it wants none

	mu          sync.Mutex
	all         map[[sha256.Size]byte]*elicitation // by id
	order       [][sha256.Size]byte                // the oldest first
	completions []string                           // ids for deliver
}

type elicitation struct {
	requested bool          // the user was asked to visit the page
	completed bool          // the server sent the notification
	done      chan struct{} // closed on completion
}

// NewTable returns an empty table. After each completion that the user waits for, deliver, which
// takes all, runs; with nil, none are kept.
func NewTable(deliver *ondemand.Task) *Table {
	return &Table{deliver: deliver, all: make(map[[sha256.Size]byte]*elicitation)}
}

// find returns the elicitation with an id, and adds it if it is new. The caller holds mu.
func (t *Table) find(id string) *elicitation {
	key := sha256.Sum256([]byte(id))
	e := t.all[key]
	if e == nil {
		if len(t.order) == maxElicitations {
			delete(t.all, t.order[0])
			t.order = t.order[1:]
		}
		e = &elicitation{done: make(chan struct{})}
		t.all[key], t.order = e, append(t.order, key)
	}
	return e
}

// Put handles notifications/elicitation/complete, on the reader's goroutine.
func (t *Table) Put(params []byte) {
	id, ok := jsonscan.Text(jsonscan.Member(params, "elicitationId"))
	if !ok || len(id) > MaxID {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.find(id)
	if e.completed {
		return
	}
	e.completed = true
	close(e.done)
	if e.requested {
		t.queueCompletion(id)
	}
}

// queueCompletion queues an id for deliver, if it is set. The caller holds mu.
func (t *Table) queueCompletion(id string) {
	if t.deliver == nil || len(t.completions) == maxElicitations {
		return
	}
	t.completions = append(t.completions, id)
	t.deliver.Wake()
}

// MarkRequested records that the user is asked to visit the page.
func (t *Table) MarkRequested(id string) {
	if len(id) > MaxID {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.find(id)
	if !e.requested && e.completed {
		t.queueCompletion(id)
	}
	e.requested = true
}

// AwaitCompletion returns a channel that is closed on completion. A completed elicitation starts
// over.
func (t *Table) AwaitCompletion(id string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.find(id)
	if e.requested && e.completed {
		*e = elicitation{done: make(chan struct{})}
	}
	return e.done
}

// Take returns the ids of those that are complete, and removes them.
func (t *Table) Take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	news := t.completions
	t.completions = nil
	return news
}
