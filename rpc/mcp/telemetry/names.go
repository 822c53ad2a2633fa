package telemetry

import (
	"sync/atomic"
	"unicode/utf8"
)

const (
	maxNames = 4096
	maxText  = 256 // bytes of one attribute
)

// names holds names that are known to exist, as attributes of metrics. The other side chooses the
// names that it sends, and could otherwise fill the series of an instrument. The table also saves a
// copy of each name in each call. The zero value is empty.
type names struct {
	table[string, string]
	last atomic.Pointer[string] // the last one found; comparing it costs less than a search
}

// find returns a known name.
func (n *names) find(name []byte) (string, bool) {
	if last := n.last.Load(); last != nil && *last == string(name) {
		return *last, true
	}
	known, ok := n.get(string(name))
	if ok {
		n.last.Store(&known)
	}
	return known, ok
}

// learn makes a name known, unless too many are.
func (n *names) learn(name string) { n.add(name, maxNames, func() string { return name }) }

// clip returns a copy of the first maxText bytes of text, cut between characters.
func clip[T string | []byte](text T) string {
	if len(text) <= maxText {
		return string(text)
	}
	cut := []byte(text[:maxText])
	for len(cut) > 0 && !utf8.Valid(cut) {
		cut = cut[:len(cut)-1]
	}
	return string(cut)
}
