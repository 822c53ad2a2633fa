package gateway

import "slices"

// Order puts these servers first, in this order, which decides which server owns a name or URI that
// several have. The others follow in the order in which they were added. An ID may be ordered
// before its server is added.
func (g *Gateway) Order(ids ...string) {
	defer g.lockOffers()()
	g.names.SetOrder(append([]string{reserver}, ids...))
	g.updateOffers(g.allUpstreams())
}

// A pendingWarning is logged when offerMu is released.
type pendingWarning struct {
	message string
	attrs   []any
}

// lockOffers locks offerMu; done unlocks it and logs the warnings.
func (g *Gateway) lockOffers() (done func()) {
	g.offerMu.Lock()
	return func() {
		warnings := g.warnings
		g.warnings = nil
		g.offerMu.Unlock()
		for _, n := range warnings {
			g.o.Logger.Warn(n.message, n.attrs...)
		}
	}
}

// warnLater logs a warning when offerMu is released. The caller holds offerMu.
func (g *Gateway) warnLater(message string, attrs ...any) {
	g.warnings = append(g.warnings, pendingWarning{message, attrs})
}

// updateOffers brings the downstream lists of these servers up to date. The caller holds offerMu.
func (g *Gateway) updateOffers(upstreams []*upstreamServer) {
	for _, d := range g.allDownstreams() {
		defer d.server.Integration().DeferListChanged()()
	}
	for _, u := range upstreams { // first, because another server may get the names
		for _, l := range u.lists {
			l.removeStale()
		}
	}
	for _, u := range upstreams {
		for _, l := range u.lists {
			l.addMissing()
		}
	}
	g.notifySubscriptions()
}

// serverListed records that a server was listed, or could not be, and offers the items that waited
// for it.
func (g *Gateway) serverListed(id string) {
	defer g.lockOffers()()
	g.names.SetListed(id)
	g.updateOffers(slices.DeleteFunc(g.allUpstreams(),
		func(u *upstreamServer) bool { return !u.isWaiting() }))
}
