// Package decision is what the operators of gateways that share a store have decided: which servers
// are disabled or enabled by a command, and which definitions are accepted in place of their pins.
//
// A decision is made at one gateway, which applies it and tells the store when that can be used
// ([Decisions.Switch], [Decisions.Accept]). The others follow ([Decisions.Follow]), and those that
// start later. What the store has counts more than the files of a gateway.
package decision

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	interval     = 250 * time.Millisecond
	storeTimeout = 2 * time.Second
	// keepFor is how long a decision is kept that no gateway has read.
	keepFor = 180 * 24 * time.Hour

	maxSwitched = 1000
	maxAccepted = 1000
	maxBytes    = 4 << 20 // of what is accepted
	// maxDefinition is the size of the largest definition that is shared.
	maxDefinition = 1 << 20
)

// The names in the store.
const (
	switchedKey = "servers switched"
	acceptedKey = "definitions accepted"
	changesKey  = "decisions changed"
)

var changes = store.LogBounds{Events: 64, Bytes: 64 << 10, TTL: time.Hour}

// A State is what has been decided.
type State struct {
	// Disabled has the servers that a command has disabled, and those that it has enabled although
	// their configuration disables them.
	Disabled map[string]bool
	Accepted []Accepted // in the order of time
}

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

// A pendingSwitch is a decision about a server that the store does not have yet.
type pendingSwitch struct{ disabled, configured bool }

// Decisions are those in a store. They are safe for concurrent use.
type Decisions struct {
	store  store.Store
	cursor store.Cursor // only of Follow
	log    *slog.Logger
	wake   chan struct{} // has an element when something waits

	mu       sync.Mutex
	switched map[string]pendingSwitch // wait for the store
	accepted []Accepted               // wait for the store
	failure  error
}

// New returns the decisions in a store.
func New(s store.Store, log *slog.Logger) *Decisions {
	return &Decisions{store: s, cursor: store.Cursor{Store: s, Key: changesKey}, log: log,
		wake: make(chan struct{}, 1), switched: map[string]pendingSwitch{}}
}

// Switch tells the other gateways that a command has disabled or enabled a server, of which
// configured says whether its configuration disables it. It does not wait for the store.
func (d *Decisions) Switch(id string, disabled, configured bool) {
	d.mu.Lock()
	d.switched[id] = pendingSwitch{disabled, configured}
	d.mu.Unlock()
	d.wakeUp()
}

// Accept tells the other gateways that a definition is accepted. It does not wait for the store.
func (d *Decisions) Accept(a Accepted) {
	if len(a.Definition) > maxDefinition {
		d.log.Warn("the other gateways do not know of an accepted definition: it is too large",
			slog.String("server", a.Server.ID), slog.String(string(a.Kind), a.Name))
		return
	}
	d.mu.Lock()
	d.accepted = appendAccepted(d.accepted, a)
	d.mu.Unlock()
	d.wakeUp()
}

func (d *Decisions) wakeUp() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
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
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var state *State
	for {
		changed, err := d.poll(ctx, state)
		d.mu.Lock()
		was := d.failure
		d.failure = err
		d.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			d.warnWaiting()
			return
		case err == nil:
			state = changed
			apply(state)
		case was == nil:
			d.log.Warn("what operators decide at other gateways is not followed: the store fails",
				slog.Any("error", err))
		}
		select {
		case <-ticker.C:
		case <-d.wake:
		case <-ctx.Done():
		}
	}
}

// warnWaiting says what the other gateways will not know.
func (d *Decisions) warnWaiting() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.switched) + len(d.accepted); n > 0 {
		d.log.Warn("the other gateways do not know what was decided here: the store could not be used",
			slog.Int("decisions", n))
	}
}

// poll tells the store what waits, and returns the state, which is the one before if nothing has
// changed.
func (d *Decisions) poll(ctx context.Context, before *State) (*State, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := d.flush(ctx); err != nil {
		return nil, err
	}
	events, gap, err := d.cursor.Next(ctx)
	if err != nil {
		return nil, err
	}
	// after an error the events that were read would be lost
	if before != nil && len(events) == 0 && !gap && d.Failure() == nil {
		return before, nil
	}
	return d.Read(ctx)
}

// flush tells the store what waits.
func (d *Decisions) flush(ctx context.Context) error {
	d.mu.Lock()
	switched, accepted := maps.Clone(d.switched), slices.Clone(d.accepted)
	d.mu.Unlock()
	if len(switched) == 0 && len(accepted) == 0 {
		return nil
	}
	if len(switched) > 0 {
		full := false
		if err := edit(ctx, d.store, switchedKey, func(all *map[string]bool) {
			full = change(all, switched)
		}); err != nil {
			return err
		}
		if full {
			d.log.Warn("the other gateways do not know of all disabled servers: there are too many",
				slog.Int("limit", maxSwitched))
		}
	}
	if len(accepted) > 0 {
		if err := edit(ctx, d.store, acceptedKey, func(all *[]Accepted) {
			for _, a := range accepted {
				*all = appendAccepted(*all, a)
			}
		}); err != nil {
			return err
		}
	}
	if _, err := d.store.Append(ctx, changesKey, []byte("x"), changes); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.switched, func(id string, now pendingSwitch) bool {
		return now == switched[id]
	})
	d.accepted = slices.DeleteFunc(d.accepted, func(now Accepted) bool {
		return slices.ContainsFunc(accepted, func(told Accepted) bool {
			return told.equal(&now)
		})
	})
	return nil
}
