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
	// name returns what an item is called by the server, and what by the gateway; "" leaves it out.
	name func(item *T) (own, public string)
	// shared says that the names are not the server's own, but may be those of others too.
	shared bool
	// fronts are where it is offered now.
	fronts func() []F
	// put has a front offer an item, and remove takes away what is called so.
	put    func(f F, public string, d definition[T]) error
	remove func(f F, public ...string) int
	// also, if set, offers the same elsewhere.
	also *shelf[T, *dispatch.Catalog]

	stale atomic.Bool // it has changed, and is still to be fetched

	// Of the mount's goroutine, and of who has waited for its end.
	server string          // what the server called itself when this was listed
	listed []definition[T] // all that the server has
	odd    []withheld      // what else it has, that is of no use
	shown  bool            // and it has said so
	judge  judge

	mu       sync.Mutex
	claimed  map[string]string        // what the server has: by public names, what it calls it
	wanted   map[string]definition[T] // of that, what is admitted
	offered  map[string]definition[T] // of that, what is the server's own
	waiting  bool                     // for servers ahead of this one to say what they have
	withheld map[string]Withheld      // what is not admitted, by public names
	left     map[string]Withheld      // what is not offered though it is admitted
	on       map[F]map[string]string  // the definitions that each front has
}

// sync offers what the server has. anew says that its client is another than the last time.
func (s *shelf[T, F]) sync(ctx context.Context, c *client.Client, anew bool) error {
	if !s.stale.Swap(false) && !anew {
		return nil
	}
	all, odd, err := collect[T](s.kind, s.list(c, ctx))
	if err != nil && !errors.Is(err, rpc.ErrMethodNotFound) { // which is how a server says that it has none
		s.stale.Store(true)
		return err
	}
	s.show(c.ServerInfo().Name, all, odd)
	return nil
}

// show offers what a server of that name has, as far as it is admitted and the server's own, and
// tells of what is odd.
func (s *shelf[T, F]) show(server string, all []definition[T], odd []withheld) {
	s.server, s.listed, s.odd, s.shown = server, all, odd, true
	withheld := make(map[string]Withheld, len(odd))
	for _, o := range odd {
		withheld[oddName+o.own] = Withheld{Kind: s.kind, Name: o.own, Reason: ReasonUnusable, Detail: o.err.Error()}
	}
	usable := s.admit(server, all, withheld)
	g := s.m.g
	defer g.changing()()
	g.arrange(append(g.mountsOf(s.offer(all, usable, withheld)), s.m))
}

// oddName is before the names of what has no public one.
const oddName = "\x00"

// again offers what was listed last, when pins have changed.
func (s *shelf[T, F]) again() {
	if s.shown {
		s.show(s.server, s.listed, s.odd)
	}
}

// reserve keeps the names of what a server had for it, until it says what it has.
func (s *shelf[T, F]) reserve(all []definition[T]) {
	g := s.m.g
	defer g.changing()()
	g.arrange(g.mountsOf(s.offer(all, nil, nil)))
}

// withdraw has the server have nothing. It returns the servers for which that may make a
// difference. With offering.
func (s *shelf[T, F]) withdraw() (affected []string) {
	s.server, s.listed, s.odd, s.shown = "", nil, nil, false
	return s.offer(nil, nil, nil)
}

// offer has the mount claim all, and want what is usable to be offered. It returns the servers for
// which that may make a difference. With offering.
func (s *shelf[T, F]) offer(all, usable []definition[T], withheld map[string]Withheld) (affected []string) {
	claimed, wanted := make(map[string]string, len(all)), make(map[string]definition[T], len(usable))
	for _, d := range all {
		if own, public := s.name(d.item); own != "" && public != "" && claimed[public] == "" {
			claimed[public] = own
		}
	}
	for _, d := range usable {
		own, public := s.name(d.item)
		switch {
		case own == "" || public == "":
		case claimed[public] != own:
			withheld[oddName+own] = Withheld{Kind: s.kind, Name: own, Reason: ReasonUnusable, Detail: "the server has two of that name"}
		default:
			wanted[public] = d
		}
	}
	s.mu.Lock()
	for name, w := range withheld {
		if w.Reason == ReasonUnusable && s.withheld[name] != w {
			s.warnOdd(w)
		}
	}
	before := s.claimed
	s.claimed, s.wanted, s.withheld = claimed, wanted, withheld
	s.mu.Unlock()
	affected = s.m.g.claims.replace(s.kind, s.m.id, before, claimed)
	if s.also != nil {
		affected = append(affected, s.also.offer(all, usable, make(map[string]Withheld))...)
	}
	return affected
}

// warnOdd tells the log of what is left out because of its definition. With offering.
func (s *shelf[T, F]) warnOdd(w Withheld) {
	s.m.g.note("gateway: a "+s.kind+" is left out, as clients could not take its definition", slog.String("server", s.m.id), slog.String("own_name", w.Name),
		slog.String("error", w.Detail), slog.String("see", "stdwire doctor "+s.m.id))
}

// shrink takes away what is not to be offered any more, or is another server's. With offering.
func (s *shelf[T, F]) shrink() {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, left := s.m.g, make(map[string]Withheld)
	offered := make(map[string]definition[T], len(s.wanted))
	s.waiting = false
	waits := s.shared && g.claims.waits(s.m.id, func(string) bool { return true })
	for public, d := range s.wanted {
		if other, taken := g.claims.ahead(name{s.kind, public}, s.m.id); taken {
			left[public] = Withheld{Kind: s.kind, Name: s.claimed[public], Reason: ReasonCollision, Detail: other.id}
			if s.left[public] != left[public] {
				g.note("gateway: a "+s.kind+" is left out, as another has its name", slog.String("name", public),
					slog.String("server", s.m.id), slog.String("own_name", s.claimed[public]), slog.String("other_server", other.id), slog.String("other_name", other.own))
			}
			continue
		}
		if _, had := s.offered[public]; waits && !had {
			s.waiting = true
			continue
		}
		if failed := s.left[public]; failed.Reason == ReasonUnusable {
			left[public] = failed
		}
		offered[public] = d
	}
	s.offered, s.left = offered, left
	fronts := s.fronts()
	for f, has := range s.on {
		included := slices.Contains(fronts, f)
		for public := range has {
			if _, still := offered[public]; !still || !included {
				s.remove(f, public)
				delete(has, public)
			}
		}
		if !included {
			delete(s.on, f)
		}
	}
	if s.also != nil {
		s.also.shrink()
	}
}

// grow offers what is not there yet. With offering, when all mounts that have too much have shrunk.
func (s *shelf[T, F]) grow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.fronts() {
		if s.on[f] == nil {
			if s.on == nil {
				s.on = make(map[F]map[string]string)
			}
			s.on[f] = make(map[string]string)
		}
		for public, d := range s.offered {
			if s.on[f][public] == string(d.text) {
				continue
			}
			if err := s.put(f, public, d); err != nil {
				failed := Withheld{Kind: s.kind, Name: s.claimed[public], Reason: ReasonUnusable, Detail: err.Error()}
				if s.left[public] != failed {
					s.warnOdd(failed)
				}
				s.left[public] = failed
				delete(s.offered, public)
				if _, had := s.on[f][public]; had { // what it was before
					s.remove(f, public)
					delete(s.on[f], public)
				}
				continue
			}
			s.on[f][public] = string(d.text)
			delete(s.left, public)
		}
	}
	if s.also != nil {
		s.also.grow()
	}
}

// count returns how many are offered.
func (s *shelf[T, F]) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.offered)
}

// isWaiting reports whether something may be offered when servers ahead have said what they have.
func (s *shelf[T, F]) isWaiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// standing reports whether something is offered, and why it is not admitted; "" if it is, or is not
// there.
func (s *shelf[T, F]) standing(public string) (offered bool, reason Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, offered = s.offered[public]
	return offered, s.withheld[public].Reason
}
