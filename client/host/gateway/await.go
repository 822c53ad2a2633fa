package gateway

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/stdwire/stdwire/client/host"
)

// awaitName waits until the lists that may have a name unknown to d are known. kind is kindTool or
// kindPrompt. It returns an error if such a list cannot be fetched.
func (g *Gateway) awaitName(ctx context.Context, d *downstream, kind, public string) error {
	return g.awaitLists(ctx, kind, func(u *upstreamServer) bool {
		return d.includes(u.id) &&
			(g.o.NoPrefix || strings.HasPrefix(public, host.PublicName(u.id, "", math.MaxInt)))
	}, g.o.NoPrefix)
}

// AwaitOperation waits until the tools of the server that an operation may belong to are known. It
// returns an error if they cannot be fetched. Use it as [dispatch.Options].Missing of the dispatcher for
// Options.Catalog.
func (g *Gateway) AwaitOperation(ctx context.Context, operation string) error {
	err := g.awaitLists(ctx, kindTool, func(u *upstreamServer) bool {
		return strings.HasPrefix(operation, host.ServiceName(u.id)+".")
	}, false)
	if err != nil {
		return operationError(ctx, err)
	}
	return nil
}

// awaitLists waits until the lists of one kind of the wanted servers are known. If any is true,
// each of them may have the name, and a list that cannot be fetched is not an error.
func (g *Gateway) awaitLists(ctx context.Context, kind string, wanted func(*upstreamServer) bool,
	any bool) error {
	for _, u := range g.unlistedUpstreams(kind, wanted) {
		l := u.fetcherOf(kind)
		if any {
			select {
			case <-l.tried:
			case <-u.done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			continue
		}
		if err := u.refresh(ctx, l); err != nil && !errors.Is(err, host.ErrDisabled) &&
			!errors.Is(err, host.ErrUnknown) {
			return clientError(err)
		}
	}
	return nil
}

// unlistedUpstreams returns the wanted servers whose list of this kind is unknown.
func (g *Gateway) unlistedUpstreams(kind string,
	wanted func(*upstreamServer) bool) (some []*upstreamServer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, u := range g.upstreams {
		if !u.fetcherOf(kind).known.Load() && !u.disabled.Load() && wanted(u) {
			some = append(some, u)
		}
	}
	return some
}

// fetcherOf returns the fetcher of the list of tools or prompts.
func (u *upstreamServer) fetcherOf(kind string) *listFetcher {
	if kind == kindPrompt {
		return u.prompts.fetcher
	}
	return u.tools.fetcher
}
