package shared

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/internal/wake"
)

// A Change is one of a list or resource that clients are told of. The method "" says that any list
// and any resource may have changed.
type Change struct {
	Method string `json:"method,omitempty"`
	URI    string `json:"uri,omitempty"`
}

// changeBounds are those of the log of changes. Who has missed more is told that anything may have
// changed.
var changeBounds = store.LogBounds{Events: 1024, Bytes: 1 << 20, TTL: 24 * time.Hour}

// maxPending limits the changes that wait for the store.
const maxPending = 1024

// Changes tells the clients of all replicas of the changes of each. The log of them is in the
// store; notices only wake its readers.
type Changes struct {
	s    *Sessions
	from string       // this replica
	tell func(Change) // the clients of this replica
	wake chan struct{}

	untold bool // what was added to the log; only Run uses it

	mu      sync.Mutex
	pending map[Change]struct{}
	seen    int64 // the last change of the log that clients have been told of
}

// NewChanges returns what tells the clients of this replica with tell, once Run runs.
func NewChanges(s *Sessions, tell func(Change)) *Changes {
	return &Changes{s: s, from: cryptorand.Text(), tell: tell, wake: make(chan struct{}, 1),
		pending: map[Change]struct{}{}}
}

// Note tells the other replicas of a change of this one. It does not block.
func (c *Changes) Note(change Change) {
	c.mu.Lock()
	if len(c.pending) >= maxPending {
		clear(c.pending)
		change = Change{}
	}
	c.pending[change] = struct{}{}
	c.mu.Unlock()
	c.Wake()
}

// Wake makes Run look at the log.
func (c *Changes) Wake() { wake.Up(c.wake) }

// Seen returns the number of the last change that the clients of this replica know of.
func (c *Changes) Seen() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// Run passes changes on until ctx ends.
func (c *Changes) Run(ctx context.Context) {
	begun := false
	for ctx.Err() == nil {
		err := c.publish(ctx)
		if err == nil {
			err = c.read(ctx, begun)
		}
		if err != nil {
			select {
			case <-time.After(Pause()):
			case <-ctx.Done():
			}
			continue
		}
		begun = true
		select {
		case <-c.wake:
		case <-ctx.Done():
		}
	}
}

// An entry is a change in the log.
type entry struct {
	From   string `json:"from"`
	Change Change `json:"change"`
}

// publish adds what is pending to the log, and tells the other replicas.
func (c *Changes) publish(ctx context.Context) error {
	if err := c.add(ctx); err != nil || !c.untold {
		return err
	}
	err := c.s.Tell(ctx, Notice{Changes: true})
	c.untold = err != nil
	return err
}

// add adds what is pending to the log.
func (c *Changes) add(ctx context.Context) error {
	c.mu.Lock()
	pending := c.pending
	c.pending = map[Change]struct{}{}
	c.mu.Unlock()
	defer func() { // what could not be added
		c.mu.Lock()
		defer c.mu.Unlock()
		maps.Copy(c.pending, pending)
	}()
	for change := range pending {
		text, err := json.Marshal(entry{c.from, change})
		if err != nil {
			return err
		}
		ctx, end := c.s.use(ctx)
		_, err = c.s.Store.Append(ctx, c.s.Part+"changes", text, changeBounds)
		end(err)
		if err != nil {
			return err
		}
		delete(pending, change)
		c.untold = true
	}
	return nil
}

// read tells clients of the changes of other replicas. At first it only looks how many there are.
func (c *Changes) read(ctx context.Context, tell bool) error {
	from, found := c.Seen(), false
	return c.after(ctx, from, func(number int64, e entry) {
		if tell && e.From != c.from {
			c.tell(e.Change)
		}
		if found = found || number != from; !found {
			number = 0 // the log may be empty, which is to be seen once
		}
		c.mu.Lock()
		c.seen = number
		c.mu.Unlock()
	})
}

// Since calls tell with the changes after a number, those of this replica included.
func (c *Changes) Since(ctx context.Context, number int64, tell func(Change)) error {
	return c.after(ctx, number, func(_ int64, e entry) { tell(e.Change) })
}

// after calls f with the entries of the log after a number. If some are missing, an entry that says
// that anything may have changed precedes them.
func (c *Changes) after(ctx context.Context, number int64, f func(int64, entry)) error {
	for {
		ctx, end := c.s.use(ctx)
		events, gap, err := c.s.Store.After(ctx, c.s.Part+"changes", number)
		end(err)
		if err != nil && !errors.Is(err, store.ErrForged) {
			return err
		}
		if gap || err != nil {
			f(number, entry{})
		}
		if len(events) == 0 {
			return nil
		}
		for _, event := range events {
			var e entry
			_ = json.Unmarshal(event.Data, &e) // what cannot be read is any change
			number = event.Number
			f(number, e)
		}
	}
}
