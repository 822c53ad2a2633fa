package gateway

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/stdwire/stdwire/client/host"
)

// await waits, for a name that a front does not have, until the servers have said what they have
// that may have it: those that have not yet, as they are still starting, or cannot be started,
// which is the error then.
func (g *Gateway) await(ctx context.Context, f *front, public string) error {
	return g.awaitUnknown(ctx, func(m *mount) bool {
		return f.includes(m.id) && (g.o.NoPrefix || strings.HasPrefix(public, host.PublicName(m.id, "", math.MaxInt)))
	}, g.o.NoPrefix)
}

// AwaitOperation is for the Missing of the dispatcher of Options.Catalog: it waits until the server
// whose tool an operation may be has said what it has, if it has not yet. The error is why it has
// not.
func (g *Gateway) AwaitOperation(ctx context.Context, operation string) error {
	err := g.awaitUnknown(ctx, func(m *mount) bool { return strings.HasPrefix(operation, host.ServiceName(m.id)+".") }, false)
	if err != nil {
		return failed(ctx, err)
	}
	return nil
}

// awaitUnknown waits for those servers of which it is not known what they have. With any, each of
// them may have what is wanted or not, and one that cannot be started is no error.
func (g *Gateway) awaitUnknown(ctx context.Context, wanted func(*mount) bool, any bool) error {
	for _, m := range g.unknown(wanted) {
		if any {
			select {
			case <-m.looked:
			case <-m.done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			continue
		}
		if err := g.Refresh(ctx, m.id); err != nil && !errors.Is(err, host.ErrDisabled) && !errors.Is(err, host.ErrUnknown) {
			return told(err)
		}
	}
	return nil
}

func (g *Gateway) unknown(wanted func(*mount) bool) (some []*mount) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.mounts {
		if !m.known.Load() && !m.disabled.Load() && wanted(m) {
			some = append(some, m)
		}
	}
	return some
}
