package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/rpc"
)

// distributeSubscriptions passes changed subscriptions to the servers that own the resources.
func (g *Gateway) distributeSubscriptions() {
	for {
		select {
		case <-g.subscriptionsChanged:
		case <-g.ctx.Done():
			return
		}
		uris := map[*upstreamServer][]string{}
		for _, d := range g.allDownstreams() {
			for _, uri := range d.server.Integration().SubscribedResources() {
				if u := g.ownerOf(d, uri); u != nil {
					if own, ok := appuri.Own(u.id, uri); ok {
						uris[u] = append(uris[u], own) // perhaps again, for another downstream
					}
				}
			}
		}
		for _, u := range g.allUpstreams() {
			u.subscriptions.set(uris[u])
		}
	}
}

// resubscribeDelay is the pause before subscriptions are retried.
const resubscribeDelay = 5 * time.Second

// keepSubscribed renews the server's subscriptions until there are none or the server is removed. A
// server with a connection for each user has none.
func (u *upstreamServer) keepSubscribed() {
	if u.sharing == host.PerUser {
		return // the resources are those of users, and the shared client is no user's
	}
	select {
	case <-u.subscriptions.changed: // by the change that has begun this
	default:
	}
	for len(u.subscriptions.get()) > 0 && u.ctx.Err() == nil {
		err := u.g.manager.UseIdempotent(u.ctx, u.id, "", u.subscribe)
		if err != nil && u.ctx.Err() == nil {
			u.warn("subscriptions to resources have failed and are retried", err)
		}
		pause := time.NewTimer(resubscribeDelay)
		select {
		case <-u.subscriptions.changed:
		case <-pause.C:
		case <-u.ctx.Done():
		}
		pause.Stop()
	}
}

// subscribe keeps c subscribed to the wanted resources until there are none or c ends.
func (u *upstreamServer) subscribe(c *client.Client) error {
	subscribed := map[string]bool{}
	for {
		wanted := map[string]bool{}
		var missing, unwanted []string
		for _, uri := range u.subscriptions.get() {
			if wanted[uri] = true; !subscribed[uri] {
				subscribed[uri] = true // also after an error, which is not retried with this client
				missing = append(missing, uri)
			}
		}
		u.changeAll(c.Subscribe, slices.Clone(missing),
			func(err error) { u.warn("a resource cannot be subscribed to", err) })
		for _, uri := range missing {
			u.updated(uri) // it may have changed before
		}
		for uri := range subscribed {
			if !wanted[uri] {
				delete(subscribed, uri)
				unwanted = append(unwanted, uri)
			}
		}
		u.changeAll(c.Unsubscribe, unwanted,
			func(error) {}) // updates that arrive nevertheless are dropped
		if len(wanted) == 0 {
			return nil
		}
		select {
		case <-u.subscriptions.changed:
		case <-c.Done():
			return c.Err()
		case <-u.ctx.Done():
			return u.ctx.Err()
		}
	}
}

// changeAll calls change, a method of c, with all URIs at once, because a modern server gets all
// subscriptions of c with each call. If that fails, it goes on without the URI in the error, or, if
// the error is of no single one, with either half. It calls failed for each URI that fails.
func (u *upstreamServer) changeAll(change func(context.Context, ...string) error, uris []string,
	failed func(error)) {
	for len(uris) > 0 {
		err := change(u.ctx, uris...)
		if err == nil {
			return
		}
		i := -1
		if call, ok := errors.AsType[*client.CallError](err); ok {
			i = slices.Index(uris, call.Name)
		}
		switch {
		case len(uris) == 1 || u.ctx.Err() != nil || errors.Is(err, rpc.ErrClosed) ||
			errors.Is(err, client.ErrUndeclared):
			failed(err)
			return
		case i >= 0:
			failed(err)
			uris = slices.Delete(uris, i, i+1)
		default:
			u.changeAll(change, uris[:len(uris)/2], failed)
			uris = uris[len(uris)/2:]
		}
	}
}

// updated sends resources/updated for a URI to the downstream servers where it belongs to u or to
// no server.
func (u *upstreamServer) updated(uri string) {
	u.cache.Drop()
	uri = appuri.Public(u.id, uri)
	for _, d := range u.g.allDownstreams() {
		if owner := u.g.ownerOf(d, uri); d.includes(u.id) && (owner == u || owner == nil) {
			d.server.ResourceUpdated(uri)
		}
	}
}
