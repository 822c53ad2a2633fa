package server

import "slices"

// watchers are the connections that are subscribed to each resource, by URI. A connection is listed
// once for each of its subscriptions. So the cost of an update depends on the subscribers of its
// resource, not on those of the server.
type watchers map[string][]*Conn

func (w watchers) add(c *Conn, uris ...string) {
	for _, uri := range uris {
		w[uri] = append(w[uri], c)
	}
}

// remove removes one subscription to each resource.
func (w watchers) remove(c *Conn, uris ...string) {
	for _, uri := range uris {
		conns := w[uri]
		i := slices.Index(conns, c)
		switch {
		case i < 0:
		case len(conns) == 1:
			delete(w, uri)
		default:
			last := len(conns) - 1
			conns[i], conns[last] = conns[last], nil
			w[uri] = conns[:last]
		}
	}
}
