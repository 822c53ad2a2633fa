package server

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
