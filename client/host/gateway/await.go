package gateway

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/stdwire/stdwire/client/host"
)

// awaitName waits until the servers that may have a name unknown to d are listed. It returns an
// error if such a server cannot be started.
func (g *Gateway) awaitName(ctx context.Context, d *downstream, public string) error {
	return g.awaitLists(ctx, func(u *upstreamServer) bool {
		return d.includes(u.id) &&
			(g.o.NoPrefix || strings.HasPrefix(public, host.PublicName(u.id, "", math.MaxInt)))
	}, g.o.NoPrefix)
}

// AwaitOperation waits until the server that an operation may belong to is listed. It returns an
// error if the server cannot be listed. Use it as [dispatch.Options].Missing of the dispatcher for
// Options.Catalog.
func (g *Gateway) AwaitOperation(ctx context.Context, operation string) error {
	err := g.awaitLists(ctx, func(u *upstreamServer) bool {
		return strings.HasPrefix(operation, host.ServiceName(u.id)+".")
	}, false)
	if err != nil {
		return operationError(ctx, err)
	}
	return nil
}

// awaitLists waits until the wanted servers are listed. If any is true, each of them may have the
// name, and a server that cannot be started is not an error.
func (g *Gateway) awaitLists(ctx context.Context, wanted func(*upstreamServer) bool,
	any bool) error {
	for _, u := range g.unlistedUpstreams(wanted) {
		if any {
			select {
			case <-u.listedOnce:
			case <-u.done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			continue
		}
		if err := g.Refresh(ctx, u.id); err != nil && !errors.Is(err, host.ErrDisabled) &&
			!errors.Is(err, host.ErrUnknown) {
			return clientError(err)
		}
	}
	return nil
}

// unlistedUpstreams returns the wanted servers whose lists are unknown.
func (g *Gateway) unlistedUpstreams(wanted func(*upstreamServer) bool) (some []*upstreamServer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, u := range g.upstreams {
		if !u.known.Load() && !u.disabled.Load() && wanted(u) {
			some = append(some, u)
		}
	}
	return some
}
