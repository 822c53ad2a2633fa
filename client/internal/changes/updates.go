package changes

import (
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/ondemand"
)

const (
	maxUpdates     = 1024    // URIs that wait for the callback
	maxUpdateBytes = 1 << 20 // of all of them
)

// Updates holds the URIs of changed resources, each once, until a callback takes them. When it is
// full, it only records that every resource may have changed. Its methods may be called
// concurrently and do not block.
type Updates struct {
	task ondemand.Task // empties it

	mu    sync.Mutex
	uris  []string
	seen  map[string]bool // the URIs in uris
	bytes int
	full  bool // every resource may have changed
}

// NewUpdates returns no updates. After each, deliver, which takes all, runs on a goroutine that
// start starts.
func NewUpdates(start func(func()), deliver func()) *Updates {
	return &Updates{seen: make(map[string]bool),
		task: ondemand.Task{Start: start, Do: deliver}}
}

// Put handles notifications/resources/updated, on the reader's goroutine.
func (u *Updates) Put(params []byte) {
	uri, ok := jsonscan.Text(jsonscan.Member(params, "uri"))
	if !ok {
		return
	}
	u.mu.Lock()
	if !u.full && !u.seen[uri] {
		u.uris = append(u.uris, uri)
		u.seen[uri] = true
		u.bytes += len(uri)
		if len(u.uris) > maxUpdates || u.bytes > maxUpdateBytes {
			u.clear()
			u.full = true
		}
	}
	u.mu.Unlock()
	u.task.Wake()
}

// PutAll records that every resource may have changed.
func (u *Updates) PutAll() {
	u.mu.Lock()
	u.clear()
	u.full = true
	u.mu.Unlock()
	u.task.Wake()
}

func (u *Updates) clear() {
	u.uris, u.bytes, u.full = nil, 0, false
	clear(u.seen)
}

// Take returns the URIs and removes them; full says that every resource may have changed instead.
func (u *Updates) Take() (uris []string, full bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	uris, full = u.uris, u.full
	u.clear()
	return uris, full
}
