package server

import (
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
)

// maxWatchedURI is the maximum number of bytes in the URI of a subscription.
const maxWatchedURI = 8 << 10

var errWatchedURI = rpc.Errorf(rpc.CodeInvalidParams,
	"Invalid params: a URI of more than %d bytes cannot be subscribed to", maxWatchedURI)

// watchURI takes the bytes of a URI from its owner's share of [Options].Watched.
func watchURI(a *quota.Account, uri string) error {
	switch {
	case len(uri) > maxWatchedURI:
		return errWatchedURI
	case a.Take(int64(len(uri))) != nil:
		return errNoSubscriptionRoom
	}
	return nil
}

// unwatchURI gives back what watchURI has taken.
func unwatchURI(a *quota.Account, uri string) { _ = a.Resize(a.Held() - int64(len(uri))) }

// watchers maps the URI of each resource to the connections that subscribe to it, with the number
// of their subscriptions. So the cost of an update depends only on the subscribers of its resource.
type watchers map[string]map[*Conn]int

// watchSize returns the bytes that a subscription to a resource takes in its owner's account: the
// URI and the approximate size of the map entries.
func watchSize(uri string) int64 { return int64(len(uri)) + 256 }

func (w watchers) add(c *Conn, uris ...string) {
	for _, uri := range uris {
		if w[uri] == nil {
			w[uri] = map[*Conn]int{}
		}
		w[uri][c]++
	}
}

// remove removes one subscription to each resource.
func (w watchers) remove(c *Conn, uris ...string) {
	for _, uri := range uris {
		if w[uri][c] > 1 {
			w[uri][c]--
			continue
		}
		delete(w[uri], c)
		if len(w[uri]) == 0 {
			delete(w, uri)
		}
	}
}
