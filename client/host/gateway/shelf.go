package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
)

// The kinds of what servers have, as the log calls them.
const (
	kindTool     = "tool"
	kindPrompt   = "prompt"
	kindResource = "resource"
	kindTemplate = "resource template"
)

// A shelf is what a server has of one kind: tools, prompts, resources or resource templates. It is offered at fronts, which are servers, or catalogs of operations.
type shelf[T any, F comparable] struct {
	m    *mount
	kind string
	// list fetches all from the server.
	list func(c *client.Client, ctx context.Context, opts ...client.CallOption) iter.Seq2[json.RawMessage, error]
	// admit leaves out what must not be offered; nil admits all.
	admit func(server string, all []definition[T]) []definition[T]
	// name returns what an item is called by the server, and what by the gateway; "" leaves it out.
	name func(item *T) (own, public string)
	// fronts are where it is offered now.
	fronts func() []F
	// put has a front offer an item, and remove takes away what is called so.
	put    func(f F, public string, d definition[T]) error
	remove func(f F, public ...string) int
	// hold, if set, has a front tell its clients of changes when they are made.
	hold func(f F) (release func())
	// also, if set, offers the same elsewhere.
	also *shelf[T, *dispatch.Catalog]

	stale atomic.Bool // it has changed, and is still to be fetched

	// Of the mount's goroutine, and of who has waited for its end.
	listed []definition[T] // all that the server has
	all    []definition[T] // of these, what is admitted
	short  atomic.Bool     // something is left out, as its name is another's

	mu       sync.Mutex
	withheld map[string]error         // why something is left out because of its definition, by the server's names
	offered  map[string]definition[T] // by public names
	owned    map[string]struct{}      // the names
	on       map[F]map[string]string  // the definitions that each front has
}

// sync offers what the server has. anew says that its client is another than the last time.
func (s *shelf[T, F]) sync(ctx context.Context, c *client.Client, anew bool) error {
	switch {
	case s.stale.Swap(false) || anew:
		all, odd, err := collect[T](s.kind, s.list(c, ctx))
		if err != nil && !errors.Is(err, rpc.ErrMethodNotFound) { // which is how a server says that it has none
			s.stale.Store(true)
			return err
		}
		s.show(c.ServerInfo().Name, all, odd)
	case s.isShort():
		s.offer(s.all)
	}
	return nil
}

// show offers what a server of that name has, as far as it is admitted, and tells of what is odd.
func (s *shelf[T, F]) show(server string, all []definition[T], odd []withheld) {
	s.listed = all
	s.mu.Lock()
	before := s.withheld
	s.withheld = nil
	for _, w := range odd {
		s.withhold(w, before)
	}
	for _, d := range all { // which was put nowhere, and may not be now
		own, _ := s.name(d.item)
		if err := before[own]; err != nil {
			s.withhold(withheld{own, err}, before)
		}
	}
	s.mu.Unlock()
	if s.admit != nil {
		all = s.admit(server, all)
	}
	s.offer(all)
}

// withhold notes what is left out because of its definition, and tells the log unless it was told before. With mu.
func (s *shelf[T, F]) withhold(w withheld, before map[string]error) {
	if s.withheld == nil {
		s.withheld = make(map[string]error)
	}
	old := before[w.own]
	s.withheld[w.own] = w.err
	if old == nil || old.Error() != w.err.Error() {
		s.m.g.o.Logger.Warn("gateway: a "+s.kind+" is left out, as clients could not take its definition", slog.String("server", s.m.id), slog.String("own_name", w.own),
			slog.Any("error", w.err), slog.String("see", "stdwire doctor "+s.m.id))
	}
}

// offer has the fronts offer these items of this mount, and no others.
func (s *shelf[T, F]) offer(all []definition[T]) {
	g := s.m.g
	now := make(map[string]definition[T], len(all))
	s.short.Store(false)
	for _, d := range all {
		own, public := s.name(d.item)
		if own == "" || public == "" {
			continue
		}
		if other, ok := g.own(name{s.kind, public}, owner{s.m.id, own}); !ok {
			s.short.Store(true)
			g.o.Logger.Warn("gateway: a "+s.kind+" is left out, as another has its name", slog.String("name", public),
				slog.String("server", s.m.id), slog.String("own_name", own), slog.String("other_server", other.id), slog.String("other_name", other.own))
			continue
		}
		now[public] = d
	}
	s.all = all
	s.mu.Lock()
	s.offered = now
	if s.owned == nil {
		s.owned, s.on = make(map[string]struct{}), make(map[F]map[string]string)
	}
	for public := range now {
		s.owned[public] = struct{}{}
	}
	s.mu.Unlock()
	s.spread()
	if s.also != nil {
		s.also.offer(all)
	}
}

// spread brings the fronts up to date, and gives names back that are not used any more.
func (s *shelf[T, F]) spread() {
	g := s.m.g
	s.mu.Lock()
	fronts := s.fronts()
	for _, f := range fronts {
		if s.hold != nil {
			defer s.hold(f)()
		}
		for public, d := range s.offered {
			if s.on[f][public] == string(d.text) {
				continue
			}
			own, _ := s.name(d.item)
			if err := s.put(f, public, d); err != nil {
				s.withhold(withheld{own, err}, s.withheld)
				delete(s.offered, public)
				continue
			}
			delete(s.withheld, own)
			if s.on[f] == nil {
				s.on[f] = make(map[string]string)
			}
			s.on[f][public] = string(d.text)
		}
	}
	for f, has := range s.on {
		included := slices.Contains(fronts, f)
		for public := range has {
			if _, still := s.offered[public]; !still || !included {
				s.remove(f, public)
				delete(has, public)
			}
		}
		if !included {
			delete(s.on, f)
		}
	}
	freed := false
	for public := range s.owned {
		if _, still := s.offered[public]; !still {
			g.disown(name{s.kind, public})
			delete(s.owned, public)
			freed = true
		}
	}
	s.mu.Unlock()
	if freed {
		g.fillIn(s.m)
	}
}

func (s *shelf[T, F]) withdraw() { s.offer(nil) }

func (s *shelf[T, F]) isShort() bool { return s.short.Load() || s.also != nil && s.also.isShort() }
