package gateway

import (
	"maps"
	"slices"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Unlisted returns, by server ID, the kinds of the lists that are not known: not fetched yet, or
// not returned by the server. Disabled servers do not count.
func (g *Gateway) Unlisted() map[string][]string {
	all := map[string][]string{}
	for _, u := range g.allUpstreams() {
		if u.disabled.Load() {
			continue
		}
		for _, l := range u.fetchers() {
			if !l.Known() {
				all[u.id] = append(all[u.id], string(l.Kind))
			}
		}
	}
	return all
}

// maxMissing limits the IDs in a partial list.
const maxMissing = 100

// missingServers returns the IDs of the servers of d whose list of a kind is not known, the first
// 100 in alphabetical order, or nil.
func (g *Gateway) missingServers(d *downstream, kind mcp.Kind) []string {
	var missing map[string]bool
	for _, u := range g.allUpstreams() {
		if u.disabled.Load() || !d.includes(u.id) {
			continue
		}
		for _, l := range u.fetchers() {
			if l.Kind == kind && !l.Known() {
				if missing == nil {
					missing = make(map[string]bool)
				}
				missing[u.id] = true
			}
		}
	}
	if missing == nil {
		return nil
	}
	ids := slices.Sorted(maps.Keys(missing))
	return ids[:min(len(ids), maxMissing)]
}
