package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/listfetch"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// awaitName waits until the lists that may have the name of a tool or prompt that is unknown to d
// are known. It returns an error if such a list cannot be fetched, or if the server that the name
// belongs to is down and does not have it in its latest list. The item is for this request: it asks
// the caller to log in to the server that the name belongs to.
func (g *Gateway) awaitName(ctx context.Context, d *downstream, kind mcp.Kind,
	public string) (*server.Item, error) {
	wanted := func(u *upstreamServer) bool {
		return d.includes(u.id) &&
			(g.o.NoPrefix || strings.HasPrefix(public, host.PublicName(u.id, "", math.MaxInt)))
	}
	err := g.awaitUserLists(ctx, wanted, g.o.NoPrefix)
	if asks := g.loginItem(ctx, kind, public, wanted); asks != nil {
		return asks, nil
	}
	if err == nil {
		err = g.awaitLists(ctx, kind, wanted, g.o.NoPrefix)
	}
	if err == nil && !g.o.NoPrefix {
		err = g.explainUnknown(ctx, kind, wanted, func(u *upstreamServer) (bool, string) {
			return u.list(kind).lookUp(public)
		})
	}
	if isWithheld(err) || errors.Is(err, host.ErrDisabled) {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Unknown %s: %.200s (%v)", kind, public, err)
	}
	return nil, clientError(err)
}

// AwaitOperation waits until the tools of the server that an operation may belong to are known, as
// the caller in ctx sees them. It returns an error if they cannot be fetched, or if the server is
// down or disabled and its latest list does not have the tool. Use it as
// [dispatch.Options].Missing of the dispatcher for Options.Catalog.
func (g *Gateway) AwaitOperation(ctx context.Context, operation string) error {
	wanted := func(u *upstreamServer) bool {
		return strings.HasPrefix(operation, itemname.Service(u.id)+".")
	}
	if err := g.askForOperation(ctx, operation, wanted); err != nil {
		return err
	}
	err := g.awaitUserLists(ctx, wanted, false)
	if err == nil {
		err = g.awaitLists(ctx, mcp.KindTool, wanted, false)
	}
	if err == nil {
		err = g.explainUnknown(ctx, mcp.KindTool, wanted, func(u *upstreamServer) (bool, string) {
			operations := u.list(mcp.KindTool).operations
			if operations == nil {
				return true, ""
			}
			return operations.lookUp(operation)
		})
	}
	if err != nil {
		return operationError(ctx, clientError(err))
	}
	return nil
}

// explainUnknown returns an error if one of the wanted servers cannot have an item now, because it
// is down or disabled, or has it and it is withheld, and no wanted server offers the item. It waits
// for a server that starts, because its latest list may be old. lookUp reports whether a server
// offers the item, and returns the server's own name for it.
func (g *Gateway) explainUnknown(ctx context.Context, kind mcp.Kind,
	wanted func(*upstreamServer) bool,
	lookUp func(*upstreamServer) (offered bool, own string)) error {
	var down error
	for _, u := range g.allUpstreams() {
		if !wanted(u) || u.sharing == host.PerUser {
			continue
		}
		offered, own := lookUp(u)
		if offered {
			return nil
		}
		if w, ok := u.list(kind).withheldItem(own); ok {
			down = &withheldError{u.id, w}
		}
		switch s := g.sharedStatus(u.id); s.State {
		case host.Disabled:
			down = cmp.Or(down, fmt.Errorf("server %q: %w", u.id, host.ErrDisabled))
		case host.Waiting, host.Failed:
			down = &host.UnavailableError{ID: u.id, Err: s.Err,
				RetryAfter: max(time.Until(s.RetryAt), time.Millisecond)}
		case host.Starting:
			if err := g.awaitList(ctx, u, u.list(kind).fetcher); err != nil {
				down = err
			}
			if offered, _ = lookUp(u); offered {
				return nil
			}
		}
	}
	return down
}

// sharedStatus returns the status of the process of a server that all clients share.
func (g *Gateway) sharedStatus(id string) host.Status {
	for _, s := range g.manager.Status() {
		if s.ID == id && s.Session == "" {
			return s
		}
	}
	return host.Status{ID: id, State: host.Stopped}
}

// awaitList waits up to maxAwait until a list of the server is current.
func (g *Gateway) awaitList(ctx context.Context, u *upstreamServer, l *listfetch.Fetcher) error {
	limited, cancel := context.WithTimeout(ctx, maxAwait)
	defer cancel()
	err := u.refresh(limited, l)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		why := fmt.Sprintf("has not returned its list of %ss", l.Kind)
		if g.sharedStatus(u.id).State == host.Starting {
			why = "is still starting"
		}
		return rpc.Errorf(rpc.CodeInternalError, "server %q %s after %s: try again later", u.id,
			why, maxAwait)
	}
	return err
}

// awaitLists waits until the lists of one kind of the wanted servers are known. If any is true,
// each of them may have the name, and a list that cannot be fetched is not an error.
func (g *Gateway) awaitLists(ctx context.Context, kind mcp.Kind, wanted func(*upstreamServer) bool,
	any bool) error {
	for _, u := range g.allUpstreams() {
		l := u.list(kind).fetcher
		if l.Known() || u.disabled.Load() || !wanted(u) {
			continue
		}
		if any {
			select {
			case <-l.Tried():
			case <-u.done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			continue
		}
		if err := g.awaitList(ctx, u, l); err != nil && !errors.Is(err, host.ErrDisabled) &&
			!errors.Is(err, host.ErrUnknown) {
			return err
		}
	}
	return nil
}

// awaitUserLists waits for the lists of the user of the request in ctx at the wanted servers. If
// any is true, each of them may have what is looked for, and one that cannot be used is not an
// error.
func (g *Gateway) awaitUserLists(ctx context.Context, wanted func(*upstreamServer) bool,
	any bool) error {
	timer := time.NewTimer(maxAwait)
	defer timer.Stop()
	for _, u := range g.allUpstreams() {
		if u.sharing != host.PerUser || !wanted(u) {
			continue
		}
		if _, err := u.listsFor(ctx, timer.C); err != nil && !any {
			return err
		}
	}
	return nil
}

// ownItems returns what only the caller of the request in ctx sees at d: of each server with
// host.PerUser what his own connection lists, and a tool to log in if he has to. A server that
// cannot be used for him has nothing else. It returns nil if d offers no such server.
func (g *Gateway) ownItems(ctx context.Context, d *downstream) []*server.OwnItems {
	servers := g.perUserServers(d)
	if servers == nil {
		return nil
	}
	for _, u := range servers { // all at the same time
		_, _ = u.begin(ctx)
	}
	sets := []*server.OwnItems{}
	timer := time.NewTimer(userListWait)
	defer timer.Stop()
	over, closed := timer.C, make(chan time.Time)
	close(closed)
	for _, u := range servers {
		l, err := u.listsFor(ctx, over)
		if err == nil {
			sets = append(sets, l.items)
		}
		if u.loginOf(ctx) != nil && !u.disabled.Load() {
			sets = append(sets, u.toLogIn())
		}
		if errors.Is(err, errUserLists) {
			over = closed // the others are not waited for either
		}
	}
	return sets
}

// AwaitCaller waits, a few seconds at most, for what only the caller in ctx has at servers with
// [host.PerUser], so that the operations in Options.Catalog include it.
func (g *Gateway) AwaitCaller(ctx context.Context) {
	g.ownItems(ctx, &downstream{all: true})
}

// knownItems is ownItems for a notification: what is known of the lists, without the tool to log
// in.
func (g *Gateway) knownItems(ctx context.Context, d *downstream) []*server.OwnItems {
	servers := g.perUserServers(d)
	if servers == nil {
		return nil
	}
	sets := []*server.OwnItems{}
	for _, u := range servers {
		if l := u.latestLists(ctx); l != nil {
			sets = append(sets, l.items)
		}
	}
	return sets
}
