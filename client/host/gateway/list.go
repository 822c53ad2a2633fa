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

// An itemList holds what a server has of one kind: tools, prompts, resources or resource templates.
// F is where they are offered: a server, or a catalog of operations.
type itemList[T any, F comparable] struct {
	m    *upstreamServer
	kind string
	// list fetches all items from the server.
	list func(i client.Integration, ctx context.Context,
		opts ...client.CallOption) iter.Seq2[json.RawMessage, error]
	// name returns the server's name of an item and the gateway's; an item with public "" is left
	// out.
	name func(item *T) (own, public string)
	// shared says that other servers may have the same names.
	shared bool
	// downstreams returns where the items are offered now.
	downstreams func() []F
	// add offers an item at f, and remove withdraws it by its public name.
	add    func(f F, public string, d definition[T]) error
	remove func(f F, public ...string) int
	// operations, if set, offers the same items as operations.
	operations *itemList[T, *dispatch.Catalog]

	stale atomic.Bool // it has changed, and is still to be fetched

	// Of the mount's goroutine, and of who has waited for its end.
	server    string              // the server's name for itself when this was listed
	listed    []definition[T]     // all that the server has
	unusable  []invalidDefinition // items that cannot be offered
	hasListed bool                // listed and unusable are valid
	pins      pinChecker

	mu        sync.Mutex
	claimed   map[string]string        // own names by public names
	wanted    map[string]definition[T] // those of claimed that are usable and that their pins admit
	offered   map[string]definition[T] // those of wanted whose name belongs to this server
	waiting   bool                     // some wait for servers ahead of this one to be listed
	withheld  map[string]Withheld      // by public name
	unoffered map[string]Withheld      // of wanted, what is not offered, by public name
	offeredAt map[F]map[string]string  // definitions by public name
}

// sync fetches and offers the list if it has changed or the client is new.
func (s *itemList[T, F]) sync(ctx context.Context, c *client.Client, anew bool) error {
	if !s.stale.Swap(false) && !anew {
		return nil
	}
	all, odd, err := parseDefinitions[T](s.kind, s.list(c.Integration(), ctx))
	if err != nil && !errors.Is(err, rpc.ErrMethodNotFound) {
		// which is how a server says that it has none
		s.stale.Store(true)
		return err
	}
	s.setListed(c.ServerInfo().Name, all, odd)
	return nil
}

// setListed replaces the list of the server with this name, and warns of unusable items.
func (s *itemList[T, F]) setListed(server string, all []definition[T], odd []invalidDefinition) {
	s.server, s.listed, s.unusable, s.hasListed = server, all, odd, true
	withheld := make(map[string]Withheld, len(odd))
	for _, o := range odd {
		withheld[unusablePrefix+o.own] = Withheld{Kind: s.kind, Name: o.own, Reason: ReasonUnusable,
			Detail: o.err.Error()}
	}
	usable := s.admit(server, all, withheld)
	g := s.m.g
	defer g.lockOffers()()
	g.updateOffers(append(g.upstreamsByID(s.claim(all, usable, withheld)), s.m))
}

// unusablePrefix marks keys of items without a public name.
const unusablePrefix = "\x00"

// recheck compares the last list with changed pins.
func (s *itemList[T, F]) recheck() {
	if s.hasListed {
		s.setListed(s.server, s.listed, s.unusable)
	}
}

// reserve claims the names that a server had, until it is listed.
func (s *itemList[T, F]) reserve(all []definition[T]) {
	g := s.m.g
	defer g.lockOffers()()
	g.updateOffers(g.upstreamsByID(s.claim(all, nil, nil)))
}

// withdraw empties the list and returns the servers that it may affect. The caller holds offerMu.
func (s *itemList[T, F]) withdraw() (affected []string) {
	s.server, s.listed, s.unusable, s.hasListed = "", nil, nil, false
	return s.claim(nil, nil, nil)
}

// claim takes the names of all items, marks the usable ones as wanted, and returns the servers that
// it may affect. The caller holds offerMu.
func (s *itemList[T, F]) claim(all, usable []definition[T],
	withheld map[string]Withheld) (affected []string) {
	claimed, wanted := make(map[string]string, len(all)),
		make(map[string]definition[T], len(usable))
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
			withheld[unusablePrefix+own] = Withheld{Kind: s.kind, Name: own, Reason: ReasonUnusable,
				Detail: "the server has two of that name"}
		default:
			wanted[public] = d
		}
	}
	s.mu.Lock()
	for name, w := range withheld {
		if w.Reason == ReasonUnusable && s.withheld[name] != w {
			s.warnUnusable(w)
		}
	}
	before := s.claimed
	s.claimed, s.wanted, s.withheld = claimed, wanted, withheld
	s.mu.Unlock()
	affected = s.m.g.names.replace(s.kind, s.m.id, before, claimed)
	if s.operations != nil {
		affected = append(affected, s.operations.claim(all, usable, make(map[string]Withheld))...)
	}
	return affected
}

// warnUnusable logs an item that is left out because of its definition. The caller holds offerMu.
func (s *itemList[T, F]) warnUnusable(w Withheld) {
	s.m.g.warnLater("gateway: a "+s.kind+" is left out, as clients could not take its definition",
		slog.String("server", s.m.id), slog.String("own_name", w.Name),
		slog.String("error", w.Detail), slog.String("see", "stdwire doctor "+s.m.id))
}

// removeStale withdraws items that are gone or belong to another server. The caller holds offerMu.
func (s *itemList[T, F]) removeStale() {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, left := s.m.g, make(map[string]Withheld)
	offered := make(map[string]definition[T], len(s.wanted))
	s.waiting = false
	waits := s.shared && g.names.waitsForAhead(s.m.id, func(string) bool { return true })
	for public, d := range s.wanted {
		if other, taken := g.names.firstAhead(nameKey{s.kind, public}, s.m.id); taken {
			left[public] = Withheld{Kind: s.kind, Name: s.claimed[public], Reason: ReasonCollision,
				Detail: other.id}
			if s.unoffered[public] != left[public] {
				g.warnLater("gateway: a "+s.kind+" is left out, as another has its name",
					slog.String("name", public),
					slog.String("server", s.m.id), slog.String("own_name", s.claimed[public]),
					slog.String("other_server", other.id), slog.String("other_name", other.own))
			}
			continue
		}
		if _, had := s.offered[public]; waits && !had {
			s.waiting = true
			continue
		}
		if failed := s.unoffered[public]; failed.Reason == ReasonUnusable {
			left[public] = failed
		}
		offered[public] = d
	}
	s.offered, s.unoffered = offered, left
	fronts := s.downstreams()
	for f, has := range s.offeredAt {
		included := slices.Contains(fronts, f)
		for public := range has {
			if _, still := offered[public]; !still || !included {
				s.remove(f, public)
				delete(has, public)
			}
		}
		if !included {
			delete(s.offeredAt, f)
		}
	}
	if s.operations != nil {
		s.operations.removeStale()
	}
}

// addMissing offers the items that are not offered yet. The caller holds offerMu and has called
// removeStale on all affected lists.
func (s *itemList[T, F]) addMissing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.downstreams() {
		if s.offeredAt[f] == nil {
			if s.offeredAt == nil {
				s.offeredAt = make(map[F]map[string]string)
			}
			s.offeredAt[f] = make(map[string]string)
		}
		for public, d := range s.offered {
			if s.offeredAt[f][public] == string(d.text) {
				continue
			}
			if err := s.add(f, public, d); err != nil {
				failed := Withheld{Kind: s.kind, Name: s.claimed[public], Reason: ReasonUnusable,
					Detail: err.Error()}
				if s.unoffered[public] != failed {
					s.warnUnusable(failed)
				}
				s.unoffered[public] = failed
				delete(s.offered, public)
				if _, had := s.offeredAt[f][public]; had { // what it was before
					s.remove(f, public)
					delete(s.offeredAt[f], public)
				}
				continue
			}
			s.offeredAt[f][public] = string(d.text)
			delete(s.unoffered, public)
		}
	}
	if s.operations != nil {
		s.operations.addMissing()
	}
}

// count returns the number of offered items.
func (s *itemList[T, F]) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.offered)
}

// isWaiting reports whether some items wait for servers ahead of this one to be listed.
func (s *itemList[T, F]) isWaiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// status reports whether an item is offered and, if it is withheld, why.
func (s *itemList[T, F]) status(public string) (offered bool, reason Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, offered = s.offered[public]
	return offered, s.withheld[public].Reason
}
