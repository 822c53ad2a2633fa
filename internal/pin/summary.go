package pin

import (
	"maps"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Summary describes the pins of one server.
type Summary struct {
	ID   string `json:"id"`   // as in [Server]
	Name string `json:"name"` // as in [Server]
	// as in [Server]; "" if an earlier version recorded them
	Source string `json:"source,omitempty"`
	// number of pins by kind; a kind that was never checked is absent
	Pins map[mcp.Kind]int `json:"pins"`
}

// Summaries returns the summaries of all servers with pins, sorted by ID and source.
func (f *File) Summaries() ([]Summary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, err := f.read()
	if err != nil {
		return nil, err
	}
	var all []Summary
	for _, key := range slices.Sorted(maps.Keys(content.Servers)) {
		sp := content.Servers[key]
		if sp.Forgotten {
			continue
		}
		id, source, _ := strings.Cut(key, " ")
		s := Summary{ID: id, Source: source, Name: sp.Name, Pins: map[mcp.Kind]int{}}
		for kind := range Kinds() {
			if entries := *sp.ofKind(kind); entries != nil {
				s.Pins[kind] = len(entries)
			}
		}
		all = append(all, s)
	}
	return all, nil
}
