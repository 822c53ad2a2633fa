package gateway

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// The kinds of what servers have, as the log calls them.
const (
	kindTool     = "tool"
	kindPrompt   = "prompt"
	kindResource = "resource"
	kindTemplate = "resource template"
)

// A shelf is what a server has of one kind: tools, prompts, resources or resource templates.
type shelf[T any] struct {
	m    *mount
	kind string
	// list fetches all from the server.
	list func(ctx context.Context, c *client.Client) ([]T, error)
	// admit leaves out what must not be offered; nil admits all.
	admit func(server string, items []T) []T
	// name returns what an item is called by the server, and what by the gateway; "" leaves it out.
	name func(item T) (own, public string)
	// put has the gateway's server offer an item, and remove takes away what is called so.
	put    func(public string, item T) error
	remove func(public ...string) int

	fresh atomic.Pointer[[]T] // a list that the client has fetched because it has changed
	stale atomic.Bool         // it has changed, and is still to be fetched

	// Of the mount's goroutine, and of who has waited for its end.
	listed  []T               // all that the server has
	all     []T               // of these, what is admitted
	offered map[string]string // of it: definitions, by their public names
	short   atomic.Bool       // something is left out, as its name is another's
}

// changed is a callback for the changes of a list.
func (s *shelf[T]) changed(items []T, err error) {
	if errors.Is(err, rpc.ErrClosed) {
		return // the next client is asked anyway
	}
	if err != nil {
		s.m.warn("a server has not said what has changed", err)
		return
	}
	s.fresh.Store(&items)
	s.m.look()
}

// sync offers what the server has. anew says that its client is another than the last time.
func (s *shelf[T]) sync(ctx context.Context, c *client.Client, anew bool) error {
	fresh, stale := s.fresh.Swap(nil), s.stale.Swap(false)
	name := c.ServerInfo().Name
	switch {
	case anew || stale:
		all, err := s.list(ctx, c)
		if err != nil && !errors.Is(err, rpc.ErrMethodNotFound) { // which is how a server says that it has none
			s.stale.Store(true)
			return err
		}
		s.show(name, all)
	case fresh != nil:
		s.show(name, *fresh)
	case s.short.Load():
		s.offer(s.all)
	}
	return nil
}

// show offers what a server of that name has, as far as it is admitted.
func (s *shelf[T]) show(server string, items []T) {
	s.listed = items
	if s.admit != nil {
		items = s.admit(server, items)
	}
	s.offer(items)
}

// offer has the gateway's server offer these items of this mount, and no others.
func (s *shelf[T]) offer(items []T) {
	g := s.m.g
	defer g.server.Hold()()
	now := make(map[string]string, len(items))
	s.short.Store(false)
	for _, item := range items {
		own, public := s.name(item)
		if public == "" {
			continue
		}
		if other, ok := g.own(name{s.kind, public}, owner{s.m.id, own}); !ok {
			s.short.Store(true)
			g.o.Logger.Warn("gateway: a "+s.kind+" is left out, as another has its name", slog.String("name", public),
				slog.String("server", s.m.id), slog.String("own_name", own), slog.String("other_server", other.id), slog.String("other_name", other.own))
			continue
		}
		text, _ := mcp.Marshal(item)
		now[public] = string(text)
		if s.offered[public] == now[public] {
			continue
		}
		if err := s.put(public, item); err != nil {
			g.o.Logger.Warn("gateway: a "+s.kind+" is left out", slog.String("server", s.m.id), slog.String("own_name", own), slog.Any("error", err))
			delete(now, public)
			if _, offered := s.offered[public]; !offered {
				g.disown(name{s.kind, public})
			}
		}
	}
	freed := false
	for public := range s.offered {
		if _, still := now[public]; !still {
			s.remove(public)
			g.disown(name{s.kind, public})
			freed = true
		}
	}
	s.all, s.offered = items, now
	if freed {
		g.fillIn(s.m)
	}
}

func (s *shelf[T]) withdraw() { s.offer(nil) }

func (s *shelf[T]) isShort() bool { return s.short.Load() }

// collect returns all elements of a sequence, or its error.
func collect[T any](seq func(func(T, error) bool)) ([]T, error) {
	var all []T
	for item, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}
