package server

// watchers are the connections that are subscribed to each resource, by URI, with the number of
// their subscriptions to it. So the cost of an update depends on the subscribers of its resource,
// not on those of the server.
type watchers map[string]map[*Conn]int

// watchSize returns the bytes of a subscription to a resource in its owner's account: the URI, and
// about as much as the maps take.
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
