package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

const (
	maxNames = 4096
	maxText  = 256 // bytes of one attribute
)

// names are the names that are known to exist, as attributes of metrics. The other side chooses the
// names that it sends, and could otherwise fill the series of an instrument. It also saves a copy
// of each name in each call. The zero value is empty.
type names struct {
	mu    sync.Mutex
	known atomic.Pointer[map[string]string] // replaced as a whole
}

// find returns a known name without allocating.
func (n *names) find(name []byte) (string, bool) {
	known := n.known.Load()
	if known == nil {
		return "", false
	}
	found, ok := (*known)[string(name)]
	return found, ok
}

// add makes a name known, unless too many are.
func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var old map[string]string
	if known := n.known.Load(); known != nil {
		old = *known
	}
	if _, ok := old[name]; ok || len(old) >= maxNames {
		return
	}
	grown := make(map[string]string, len(old)+1)
	maps.Copy(grown, old)
	grown[name] = name
	n.known.Store(&grown)
}

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
