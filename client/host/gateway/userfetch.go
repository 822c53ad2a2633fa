package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/nametable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// maxAwait is how long a call of an unknown name waits for servers that may have it. It is less
// than the time after which many clients give up without a reason.
const maxAwait = 50 * time.Second

// begin returns the lists of the user of the request in ctx, which it fetches in the background
// unless they are known. It does not block. The error says why the caller cannot use the server.
func (u *upstreamServer) begin(ctx context.Context) (*userLists, error) {
	if u.disabled.Load() {
		return nil, fmt.Errorf("server %q: %w", u.id, host.ErrDisabled)
	}
	name, value, err := u.userOf(ctx)
	if err != nil {
		return nil, fmt.Errorf("server %q %w", u.id, err)
	}
	needsLogin := u.loginOf(ctx) != nil
	t := &u.users
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.byName[name]
	if l != nil && l.isStale() {
		t.remove(name, l)
		l = nil
	}
	switch {
	case l != nil && !(needsLogin && l.isDone() && l.err != nil):
		return l, nil
	case needsLogin:
		return nil, &userError{fmt.Errorf("server %q %w", u.id, errNeedsLogin)}
	}
	return t.start(u, name, value, principal(ctx), false)
}

// start fetches the lists of a user in the background. If announced is true, they are announced to
// his clients even if no request has waited too long for them. The caller holds mu.
func (t *userTable) start(u *upstreamServer, name string, user any, principal string,
	announced bool) (*userLists, error) {
	if len(t.byName) >= maxUsers {
		for other, l := range t.byName {
			if l.isDone() && l.err != nil {
				t.remove(other, l)
			}
		}
	}
	fetched := 0 // now, for the principal, who may have many clients
	for _, l := range t.byName {
		if l.principal == principal && !l.isDone() {
			fetched++
		}
	}
	if len(t.byName) >= maxUsers || fetched >= maxFetches {
		return nil, fmt.Errorf("server %q: %w", u.id, host.ErrTooManySessions)
	}
	l := &userLists{principal: principal, done: make(chan struct{})}
	as := host.WithUser(u.ctx, principal, user)
	if !u.g.background(func() { u.fetchFor(as, name, l, announced) }) {
		return nil, host.ErrClosed
	}
	t.byName[name] = l
	l.began = time.Now()
	return l, nil
}

// listsFor returns the lists of the user of the request in ctx, and waits for them until a timer
// ends. The error says why he has none.
func (u *upstreamServer) listsFor(ctx context.Context, timer <-chan time.Time) (*userLists, error) {
	l, err := u.begin(ctx)
	if err != nil {
		return nil, err
	}
	if !l.isDone() {
		select {
		case <-l.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer:
			return nil, fmt.Errorf("server %q %w", u.id, errUserLists)
		}
	}
	if l.err != nil {
		return nil, l.err
	}
	return l, nil
}

// latestLists returns the last lists of the user of the request in ctx, or nil if they are not
// known. Unlike knownLists, it does not have them fetched.
func (u *upstreamServer) latestLists(ctx context.Context) *userLists {
	name, _, err := u.userOf(ctx)
	if err != nil || u.disabled.Load() {
		return nil
	}
	u.users.mu.Lock()
	l := u.users.byName[name]
	u.users.mu.Unlock()
	if l == nil || !l.isDone() || l.err != nil {
		return nil
	}
	return l
}

// knownLists is listsFor without waiting; nil: they are not known.
func (u *upstreamServer) knownLists(ctx context.Context) *userLists {
	if l, err := u.begin(ctx); err == nil && l.isDone() && l.err == nil {
		return l
	}
	return nil
}

// perUserServers returns the servers with host.PerUser that d offers, in the order of names.
func (g *Gateway) perUserServers(d *downstream) (some []*upstreamServer) {
	for _, u := range g.allUpstreams() {
		if u.sharing == host.PerUser && d.includes(u.id) {
			some = append(some, u)
		}
	}
	if len(some) > 1 {
		order := g.names.Servers()
		slices.SortFunc(some, func(a, b *upstreamServer) int {
			return slices.Index(order, a.id) - slices.Index(order, b.id)
		})
	}
	return some
}

// fetchFor fetches the lists of a user, and announces them if that takes long.
func (u *upstreamServer) fetchFor(ctx context.Context, name string, l *userLists, announced bool) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, userListTimeout)
	defer cancel()
	err := u.g.manager.UseIdempotent(ctx, u.id, name, func(c *client.Client) error {
		l.client = c
		return u.readLists(ctx, c, l)
	})
	if err != nil {
		u.warn("the lists of a user cannot be fetched", err)
		l.err, l.retry = err, time.Now().Add(userListRetry)
	}
	close(l.done)
	if announced || time.Since(began) > userListWait {
		u.g.listsChanged(map[string]bool{l.principal: true})
	}
}

// readLists reads the lists of a user from his connection. The error is that of a server that
// returns no list.
func (u *upstreamServer) readLists(ctx context.Context, c *client.Client, l *userLists) error {
	bytes, err := u.readOffers(ctx, c, l)
	if err != nil {
		return err
	}
	if err := u.users.keep(l, bytes); err != nil {
		return fmt.Errorf("server %q %w", u.id, err)
	}
	var all []server.Item
	for kind, offers := range l.offers {
		for public, o := range offers {
			o.public = u.publicDefinition(kind, o.Definition, public)
			all = append(all, u.item(nil, kind, o))
		}
	}
	items, errs := server.NewOwnItems(all)
	for _, err := range errs {
		u.warn("an item of a user is withheld: its definition is invalid", err)
	}
	l.items = items
	u.offerOperations(l)
	return nil
}

// readOffers reads what the server offers a user, and returns the memory that it needs. The error
// is that of a server that returns no list.
func (u *upstreamServer) readOffers(ctx context.Context, c *client.Client, l *userLists) (
	bytes int64, failed error) {
	var tools []*definition.Definition
	l.offers, l.withheld, l.operations = map[mcp.Kind]map[string]*offer{}, nil, nil
	l.unreviewed = map[mcp.Kind][]unreviewedItem{}
	l.missing = map[mcp.Kind]bool{}
	// tools last: some depend on the others
	kinds := []mcp.Kind{mcp.KindResource, mcp.KindResourceTemplate, mcp.KindPrompt, mcp.KindTool}
	for _, kind := range kinds {
		listed, invalid, err := definition.ParseList(kind,
			c.Integration().Definitions(ctx, kind), u.overrides)
		if err != nil && !errors.Is(err, rpc.ErrMethodNotFound) {
			l.missing[kind], failed = true, err
			continue
		}
		for _, d := range listed {
			bytes += copiesOfDefinition * int64(len(d.Text))
		}
		if kind == mcp.KindTool {
			tools = listed
		}
		u.offerTo(l, kind, c.ServerInfo().Name, listed, invalid)
	}
	if u.asTools != nil && !l.missing[mcp.KindTool] {
		for _, d := range u.ownTools(tools,
			func(kind mcp.Kind) bool { return len(l.offers[kind]) > 0 }) {
			public := u.publicName(d.Name)
			l.offers[mcp.KindTool][public] = &offer{Definition: d}
		}
	}
	if len(l.missing) == len(kinds) {
		return 0, failed
	}
	return bytes, nil
}

// offerTo adds the items of a list to those that a user sees, but for what pins, overrides and
// names of others withhold. Servers whose lists are the same for all have precedence, whatever
// their order, so that no name changes its owner with a user.
func (u *upstreamServer) offerTo(l *userLists, kind mcp.Kind, serverName string,
	listed []*definition.Definition, invalid []definition.Invalid) {
	own := u.newList(kind)
	usable, withheld := own.usable(serverName, listed, invalid)
	l.unreviewed[kind] = own.unreviewed
	_, claimed, wanted := own.choose(listed, usable, withheld)
	if own.operations != nil {
		_, _, l.operations = own.operations.choose(listed, usable, map[string]WithheldItem{})
	}
	offers := make(map[string]*offer, len(wanted))
	for public, d := range wanted {
		if own.shared {
			key := nametable.NewKey(kind, public)
			if other, taken := u.g.names.Other(key, u.id); taken {
				withheld[public] = WithheldItem{Kind: kind, Name: claimed[public],
					Reason: ReasonCollision, Detail: other.ID}
				continue
			}
		}
		offers[public] = &offer{Definition: d}
	}
	l.offers[kind] = offers
	for _, w := range withheld {
		l.withheld = append(l.withheld, w)
		u.g.o.Logger.Debug("gateway: an item is withheld from a user",
			slog.String("server", u.id), slog.String("kind", string(kind)),
			slog.String("own_name", w.Name), slog.String("reason", string(w.Reason)),
			slog.String("detail", w.Detail))
	}
}
