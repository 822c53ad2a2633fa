// Package changes tells the page which parts of its state have changed.
package changes

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"
)

// The topics of changes. Each is a part of the state that the page fetches separately.
const (
	Servers   = "servers"
	Traffic   = "traffic"
	Calls     = "calls"
	Questions = "questions"
	Updates   = "updates" // of subscribed resources

	List          = "list "         // of any server, with the method that lists it
	Extensions    = "extensions"    // that are declared to servers
	Authorization = "authorization" // logins and credentials
)

// Changes counts the changes of each topic. The page fetches the state of a topic again when its
// count has changed, so a slow or reloaded page misses nothing and needs no queue.
type Changes struct {
	mu       sync.Mutex
	versions map[string]int64
	changed  chan struct{} // closed at the next change
}

func New() *Changes {
	return &Changes{versions: map[string]int64{}, changed: make(chan struct{})}
}

// Add records a change of a topic.
func (c *Changes) Add(topic string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.versions[topic]++
	close(c.changed)
	c.changed = make(chan struct{})
}

// Current returns the versions of all topics, and a channel that is closed at the next change.
func (c *Changes) Current() (map[string]int64, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.versions), c.changed
}

const (
	streamPause  = 100 * time.Millisecond // between two events of a stream
	Heartbeat    = 15 * time.Second
	WriteTimeout = 10 * time.Second // how long a page may take to read an event
)

// Serve writes the versions of all topics as Server-Sent Events, at once and after each change,
// until the page disconnects or stops reading.
func (c *Changes) Serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	heartbeat := time.NewTicker(Heartbeat)
	defer heartbeat.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		versions, changed := c.Current()
		if WriteEvent(w, versions) != nil {
			return
		}
		pause.Reset(streamPause)
		select {
		case <-pause.C:
		case <-r.Context().Done():
			return
		}
		select {
		case <-changed:
		case <-heartbeat.C: // the event is repeated, so that a lost connection is noticed
		case <-r.Context().Done():
			return
		}
	}
}

// WriteEvent writes a value as a Server-Sent Event. It fails if the page has disconnected or has
// stopped reading.
func WriteEvent(w http.ResponseWriter, value any) error {
	control := http.NewResponseController(w)
	text, err := json.Marshal(value)
	if err == nil {
		err = control.SetWriteDeadline(time.Now().Add(WriteTimeout))
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "data: %s\n\n", text)
	}
	if err == nil {
		err = control.Flush()
	}
	return err
}
