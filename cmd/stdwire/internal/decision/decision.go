// Package decision is what the operators of gateways that share a store have decided: which servers
// are disabled or enabled by a command, and which definitions are accepted in place of their pins.
//
// A decision is made at one gateway, which applies it and tells the store when that can be used
// ([Decisions.Switch], [Decisions.Accept]). The others follow ([Decisions.Follow]), and those that
// start later. What the store has counts more than the files of a gateway. If the store comes back
// empty or has removed a key, the gateways put back what it had.
package decision

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	// interval is how often the state is applied, which does not look at the store, and the store
	// is looked at while it fails.
	interval     = 250 * time.Millisecond
	storeTimeout = 2 * time.Second
	// endTimeout is how long the end waits for the store, to tell it what was decided last.
	endTimeout = 500 * time.Millisecond
	// keepFor is how long a decision is kept that no gateway has read.
	keepFor = 180 * 24 * time.Hour
	// readEvery is how often decisions are read even if the store says nothing of a change, so that
	// they are kept on, and are put back if the store has removed them.
	readEvery = time.Hour

	maxSwitched = 1000
	maxAccepted = 1000
	maxBytes    = 4 << 20 // of what is accepted
	// maxDefinition is the size of the largest definition that is shared.
	maxDefinition = 1 << 20
)

// The names in the store.
const (
	switchedKey = "servers switched by commands"
	acceptedKey = "definitions accepted"
	changesKey  = "decisions changed"
)

var changes = store.LogBounds{Events: 64, Bytes: 64 << 10, TTL: time.Hour}

// A State is what has been decided.
type State struct {
	Switched map[string]Switched // by the id of the server
	Accepted []Accepted          // in the order of time
}

// A Switched is what the last command has made of a server.
type Switched string

const (
	Disabled Switched = "disabled"
	Enabled  Switched = "enabled" // although its configuration disables it
	// AsConfigured is a server that is enabled again: its configuration may disable it later. That
	// is said, because a server of which nothing is said may have been forgotten.
	AsConfigured Switched = "as configured"
)

// An Accepted is a definition that an operator has accepted.
type Accepted struct {
	// Server is its identity. It has no source, which is a path of one machine.
	Server     pin.Server      `json:"server"`
	Kind       mcp.Kind        `json:"kind"`
	Name       string          `json:"name"`
	Definition json.RawMessage `json:"definition"`
}

// Has reports whether a definition is accepted.
func (s *State) Has(a *Accepted) bool {
	return slices.ContainsFunc(s.Accepted, func(other Accepted) bool { return other.equal(a) })
}

func (a *Accepted) equal(other *Accepted) bool {
	return a.is(other) && a.sameIdentity(other) &&
		string(a.Definition) == string(other.Definition)
}

// is reports whether two are about the same item.
func (a *Accepted) is(other *Accepted) bool {
	return a.Server.ID == other.Server.ID && a.Kind == other.Kind && a.Name == other.Name
}

// sameIdentity reports whether the identity of the server is the same.
func (a *Accepted) sameIdentity(other *Accepted) bool {
	return a.Server.Name == other.Server.Name &&
		string(a.Server.Capabilities) == string(other.Server.Capabilities)
}

// replaces reports whether another definition is not accepted any more when a is: an earlier one of
// the same item, and all of a server whose identity was another one, because accepting that has
// removed its pins.
func (a *Accepted) replaces(other *Accepted) bool {
	return a.is(other) || a.Server.ID == other.Server.ID && !a.sameIdentity(other)
}

// makeCanonical lets definitions that are equal as JSON be equal as text. What has no canonical
// form stays: it cannot be pinned.
func (a *Accepted) makeCanonical() {
	if len(a.Server.Capabilities) == 0 {
		a.Server.Capabilities = json.RawMessage("{}")
	}
	for _, text := range []*json.RawMessage{&a.Definition, &a.Server.Capabilities} {
		if canonical, err := jsondiff.Canonical(*text); err == nil {
			*text = canonical
		}
	}
}

// Decisions are those in a store. They are safe for concurrent use.
type Decisions struct {
	store store.Store
	log   *slog.Logger
	wake  chan struct{} // has an element when something waits, or the store may say something new

	// Only of Follow.
	cursor store.Cursor
	readAt time.Time // when the state was read; zero: what cursor has returned since was not

	mu       sync.Mutex
	switched map[string]Switched // wait for the store
	accepted []Accepted          // wait for the store
	known    *State              // what the store had at last; never nil, never modified
	lost     bool                // the store has lost some of it
	failure  error
}

// New returns the decisions in a store.
func New(s store.Store, log *slog.Logger) *Decisions {
	return &Decisions{store: s, cursor: store.Cursor{Store: s, Key: changesKey}, log: log,
		wake: make(chan struct{}, 1), switched: map[string]Switched{}, known: &State{}}
}

// Switch tells the other gateways that a command has disabled or enabled a server, of which
// configured says whether its configuration disables it. It does not wait for the store.
func (d *Decisions) Switch(id string, disabled, configured bool) {
	s := AsConfigured
	switch {
	case disabled:
		s = Disabled
	case configured:
		s = Enabled
	}
	d.mu.Lock()
	d.switched[id] = s
	d.mu.Unlock()
	wake.Up(d.wake)
}

// Waits reports whether the store does not have what was decided here about a server.
func (d *Decisions) Waits(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, waits := d.switched[id]
	return waits
}

// IsReplaced reports whether another definition was accepted here in place of one, and the store
// does not have that yet.
func (d *Decisions) IsReplaced(a *Accepted) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.accepted, func(now Accepted) bool {
		return now.replaces(a) && !now.equal(a)
	})
}

// Accept tells the other gateways that a definition is accepted. It does not wait for the store. If
// another gateway has accepted another one meanwhile, that stays.
func (d *Decisions) Accept(a Accepted) {
	if len(a.Definition) > maxDefinition {
		d.log.Warn("the other gateways do not know of an accepted definition: it is too large",
			slog.String("server", a.Server.ID), slog.String(string(a.Kind), a.Name))
		return
	}
	a.makeCanonical()
	d.mu.Lock()
	d.accepted = appendAccepted(d.accepted, a)
	d.mu.Unlock()
	wake.Up(d.wake)
}

// Failure returns why the store cannot be used, as far as Follow knows, or nil.
func (d *Decisions) Failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

// Follow calls apply with what has been decided, again and again while the store can be used, until
// ctx ends. The state is the same unless it has changed, and must not be modified.
func (d *Decisions) Follow(ctx context.Context, apply func(*State)) {
	var waking sync.WaitGroup
	waking.Go(func() { store.Wake(ctx, d.store, changesKey, d.wake) })
	defer waking.Wait()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var state *State
	for {
		now, err := d.poll(ctx, state)
		d.mu.Lock()
		was := d.failure
		d.failure = err
		d.mu.Unlock()
		if ctx.Err() != nil {
			d.end()
			return
		}
		if now != nil {
			state = now
			apply(state)
		}
		if err != nil && was == nil {
			d.log.Warn("what operators decide is not shared with other gateways: the store fails",
				slog.Any("error", err))
		}
		for waits := true; waits; {
			select {
			case <-ticker.C:
				if waits = err == nil && !d.hasLost(); waits {
					apply(state)
				}
			case <-d.wake:
				waits = false
			case <-ctx.Done():
				waits = false
			}
		}
	}
}

// hasLost reports whether the store has lost something that is to be put back.
func (d *Decisions) hasLost() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}

// end tells the store what waits, and says if the other gateways will not know of it.
func (d *Decisions) end() {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	err := d.flush(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.switched) + len(d.accepted); n > 0 {
		d.log.Warn("the other gateways do not know what was decided here: the store could not be used",
			slog.Int("decisions", n), slog.Any("error", err))
	}
}

// poll tells the store what waits, and returns the state, which is the one before if nothing has
// changed. There may be a state beside an error: then the store was not told.
func (d *Decisions) poll(ctx context.Context, before *State) (*State, error) {
	writing, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	notTold := d.flush(writing)
	reading, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	events, gap, err := d.cursor.Next(reading)
	if err != nil {
		return nil, errors.Join(notTold, err)
	}
	if before != nil && len(events) == 0 && !gap && time.Since(d.readAt) < readEvery {
		return before, notTold
	}
	d.readAt = time.Time{}
	state, err := d.Read(reading)
	if err == nil {
		d.readAt = time.Now()
	}
	return state, errors.Join(notTold, err)
}

// flush tells the store what waits, and what it has lost.
func (d *Decisions) flush(ctx context.Context) error {
	d.mu.Lock()
	switched, accepted := maps.Clone(d.switched), slices.Clone(d.accepted)
	known, lost := *d.known, d.lost
	d.mu.Unlock()
	if len(switched) == 0 && len(accepted) == 0 && !lost {
		return nil
	}
	if len(switched) > 0 || lost && len(known.Switched) > 0 {
		full := false
		if err := edit(ctx, d.store, switchedKey, &known.Switched,
			func(all map[string]Switched) map[string]Switched {
				all, full = change(all, switched)
				return all
			}); err != nil {
			return err
		}
		if full {
			d.log.Warn("the other gateways do not know of all disabled servers: there are too many",
				slog.Int("limit", maxSwitched))
		}
	}
	var outrun []Accepted // by what other gateways have accepted
	if len(accepted) > 0 || lost && len(known.Accepted) > 0 {
		read := known
		if err := edit(ctx, d.store, acceptedKey, &known.Accepted,
			func(all []Accepted) []Accepted {
				all, outrun = read.follow(all, accepted)
				return all
			}); err != nil {
			return err
		}
	}
	for _, a := range outrun {
		d.log.Warn("another gateway has accepted another definition meanwhile, which stays",
			slog.String("server", a.Server.ID), slog.String(string(a.Kind), a.Name))
	}
	d.mu.Lock()
	d.known = &known
	d.mu.Unlock()
	if err := store.AppendAndWake(ctx, d.store, changesKey, []byte("x"), changes); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lost = false
	maps.DeleteFunc(d.switched, func(id string, now Switched) bool {
		return now == switched[id]
	})
	d.accepted = slices.DeleteFunc(d.accepted, func(now Accepted) bool {
		return slices.ContainsFunc(accepted, func(told Accepted) bool {
			return told.equal(&now)
		})
	})
	return nil
}
