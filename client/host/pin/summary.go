package pin

import (
	"maps"
	"slices"
)

// A Summary describes the pins of one server.
type Summary struct {
	ID   string `json:"id"`   // as in [Server]
	Name string `json:"name"` // as in [Server]
	// number of pins by kind; a kind that was never checked is absent
	Pins map[Kind]int `json:"pins"`
}

// Summaries returns the summaries of all servers with pins, sorted by ID.
func (f *File) Summaries() ([]Summary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, err := f.read()
	if err != nil {
		return nil, err
	}
	var all []Summary
	for _, id := range slices.Sorted(maps.Keys(content.Servers)) {
		s := Summary{ID: id, Name: content.Servers[id].Name, Pins: map[Kind]int{}}
		for _, kind := range Kinds() {
			if entries := *content.Servers[id].ofKind(kind); entries != nil {
				s.Pins[kind] = len(entries)
			}
		}
		all = append(all, s)
	}
	return all, nil
}
