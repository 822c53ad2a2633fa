package gateway

import (
	"context"
	"errors"
	"sync"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/listfetch"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// run lists the server and keeps its lists and subscriptions current.
func (u *upstreamServer) run() {
	defer close(u.done)
	var others sync.WaitGroup
	u.subscriptions.task.Start, u.subscriptions.task.Do = others.Go, u.keepSubscribed
	others.Go(u.listFirst)
	defer others.Wait()
	for {
		select {
		case <-u.subscriptions.wanted:
			if len(u.subscriptions.get()) > 0 {
				u.subscriptions.task.Wake()
			}
		case <-u.recheck:
			u.recheckPins()
		case <-u.wake:
			u.update()
		case <-u.ctx.Done():
			u.g.listsChanged(u.users.clear())
			u.saveCache()
			return
		}
	}
}

// listFirst offers the lists for the first time, from the cache or from the server.
func (u *upstreamServer) listFirst() {
	complete := u.disabled.Load() || u.sharing != host.PerUser && u.loadCache()
	close(u.recalled)
	switch {
	case u.sharing == host.PerUser: // each user's lists are fetched when he asks
		for _, l := range u.fetchers() {
			l.SetKnown()
		}
	case u.disabled.Load():
		u.update()
	case !complete:
		u.warnUnlisted(u.refresh(u.ctx, u.fetchers()...))
	}
	for _, l := range u.fetchers() {
		l.SetTried()
	}
	u.g.serverListed(u.id)
	close(u.listedOnce)
}

// update brings the lists up to date, or withdraws them if the server is disabled. It waits for the
// start of the server, but not for its lists.
func (u *upstreamServer) update() {
	if u.sharing == host.PerUser {
		u.g.listsChanged(u.users.clear())
		return
	}
	if u.disabled.Load() {
		u.withdrawIf(u.disabled.Load) // it may have been enabled and listed meanwhile
		return
	}
	if u.reenabled.Swap(false) && u.loadCache() {
		return
	}
	u.warnUnlisted(u.g.manager.UseIdempotent(u.ctx, u.id, "", func(c *client.Client) error {
		u.fetching.Add(1) // so that the cache is written once
		for _, l := range u.fetchers() {
			l.Update(c)
		}
		u.endFetch()
		return nil
	}))
}

// refresh starts the server if necessary and waits until these lists of it are current or ctx ends.
// The errors are those of [host.Manager.Use], and *listfetch.ListErrors for lists that cannot be
// fetched.
func (u *upstreamServer) refresh(ctx context.Context, lists ...*listfetch.Fetcher) error {
	if u.sharing == host.PerUser {
		return nil
	}
	err := u.g.manager.UseIdempotent(ctx, u.id, "", func(c *client.Client) error {
		fetches := make([]*listfetch.Fetch, len(lists))
		u.fetching.Add(1) // so that the cache is written once
		for i, l := range lists {
			fetches[i] = l.From(c)
		}
		u.endFetch()
		var errs []error
		for _, f := range fetches {
			select {
			case <-f.Done():
				errs = append(errs, f.Err())
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return errors.Join(errs...)
	})
	if err != nil && u.ctx.Err() != nil {
		return host.ErrClosed
	}
	return err
}

// beginFetch runs a fetch of a list in the background. The cache is written when none is in
// progress. It reports false if the gateway is closed.
func (u *upstreamServer) beginFetch(f func()) bool {
	u.fetching.Add(1)
	ok := u.g.background(func() {
		defer u.endFetch()
		f()
	})
	if !ok {
		u.fetching.Add(-1)
	}
	return ok
}

func (u *upstreamServer) endFetch() {
	if u.fetching.Add(-1) == 0 {
		u.saveCache()
	}
}

// setChangeHandlers sets the handlers of change notifications.
func (u *upstreamServer) setChangeHandlers(o *client.Options) {
	o.OnResourceUpdated = u.updated
	o.OnListChanged = func(kind mcp.Kind) {
		u.cache.Drop()
		for _, l := range u.fetchers() { // templates and skills share the notification of resources
			if l.Kind.Info().ListChanged == kind.Info().ListChanged {
				l.Changed()
			}
		}
		u.notify()
	}
}

// warnUnlisted logs why no list of the server can be fetched, unless that is as it should be. A
// listfetch.Fetcher logs the error of its own list, and package statelog that of the server.
func (u *upstreamServer) warnUnlisted(err error) {
	_, isLogged := errors.AsType[*listfetch.ListError](err)
	if _, failed := errors.AsType[*host.UnavailableError](err); failed {
		isLogged = true
	}
	if err != nil && !isLogged && u.ctx.Err() == nil && !errors.Is(err, host.ErrDisabled) {
		u.warn("the lists of a server cannot be fetched", err)
	}
}

// recheckPins compares the latest lists with their pins again.
func (u *upstreamServer) recheckPins() {
	u.g.listsChanged(u.users.clear())
	u.applying.Lock()
	defer u.applying.Unlock()
	revision := int(u.g.pinRevision.Load())
	for _, l := range u.lists {
		if u.g.pins == nil || l.pins.Revision < revision {
			l.recheck()
		}
	}
	if i := u.instructions.Load(); i.isKnown {
		u.admitInstructions(i.server, i.pinned)
	}
}

// withdraw withdraws all items of the server.
func (u *upstreamServer) withdraw() { u.withdrawIf(func() bool { return true }) }

// withdrawIf is withdraw if unwanted returns true while no list changes.
func (u *upstreamServer) withdrawIf(unwanted func() bool) {
	u.applying.Lock()
	defer u.applying.Unlock()
	if !unwanted() {
		return
	}
	u.instructions.Store(new(serverInstructions))
	g := u.g
	defer g.lockOffers()()
	var affected []string
	for _, l := range u.lists {
		affected = append(affected, l.withdraw()...)
	}
	g.updateOffers(append(g.upstreamsByID(affected), u))
}
