package subscriptions

import (
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
)

// Watchers maps the URI of each resource to the connections that subscribe to it, with the number
// of their subscriptions. So the cost of an update depends only on the subscribers of its resource.
type Watchers[C comparable] map[string]map[C]int

// Add adds one subscription to each resource.
func (w Watchers[C]) Add(c C, uris ...string) {
	for _, uri := range uris {
		if w[uri] == nil {
			w[uri] = map[C]int{}
		}
		w[uri][c]++
	}
}

// Remove removes one subscription to each resource.
func (w Watchers[C]) Remove(c C, uris ...string) {
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

// MaxURI is the maximum number of bytes in the URI of a subscription.
const MaxURI = 8 << 10

var (
	ErrURI = rpc.Errorf(rpc.CodeInvalidParams,
		"Invalid params: a URI of more than %d bytes cannot be subscribed to", MaxURI)
	ErrNoRoom = rpc.Errorf(rpc.CodeBusy,
		"There is no room for another subscription; unsubscribe from a resource, or try again later")
)

// Size returns the bytes that a subscription to a resource takes in its owner's account: the URI
// and the approximate size of the map entries.
func Size(uri string) int64 { return int64(len(uri)) + 256 }

// Watch takes the bytes of a URI from its owner's share of the bytes of all such URIs.
func Watch(a *quota.Account, uri string) error {
	switch {
	case len(uri) > MaxURI:
		return ErrURI
	case a.Take(int64(len(uri))) != nil:
		return ErrNoRoom
	}
	return nil
}

// Unwatch gives back what Watch has taken.
func Unwatch(a *quota.Account, uri string) { _ = a.Resize(a.Held() - int64(len(uri))) }
