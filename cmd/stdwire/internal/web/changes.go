package web

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
	topicServers   = "servers"
	topicTraffic   = "traffic"
	topicCalls     = "calls"
	topicQuestions = "questions"
	topicUpdates   = "updates" // of subscribed resources

	topicList          = "list "         // of any server, with the method that lists it
	topicExtensions    = "extensions"    // that are declared to servers
	topicAuthorization = "authorization" // logins and credentials
)

// changes counts the changes of each topic. The page fetches the state of a topic again when its
// count has changed, so a slow or reloaded page misses nothing and needs no queue.
type changes struct {
	mu       sync.Mutex
	versions map[string]int64
	changed  chan struct{} // closed at the next change
}

func newChanges() *changes {
	return &changes{versions: map[string]int64{}, changed: make(chan struct{})}
}

// add records a change of a topic.
func (c *changes) add(topic string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.versions[topic]++
	close(c.changed)
	c.changed = make(chan struct{})
}

// current returns the versions of all topics, and a channel that is closed at the next change.
func (c *changes) current() (map[string]int64, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.versions), c.changed
}

const (
	streamPause     = 100 * time.Millisecond // between two events of a stream
	streamHeartbeat = 15 * time.Second
	streamWrite     = 10 * time.Second // how long a page may take to read an event
)

// serve writes the versions of all topics as Server-Sent Events, at once and after each change,
// until the page disconnects or stops reading.
func (c *changes) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	heartbeat := time.NewTicker(streamHeartbeat)
	defer heartbeat.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		versions, changed := c.current()
		if writeEvent(w, versions) != nil {
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

// writeEvent writes a value as a Server-Sent Event. It fails if the page has disconnected or has
// stopped reading.
func writeEvent(w http.ResponseWriter, value any) error {
	control := http.NewResponseController(w)
	text, err := json.Marshal(value)
	if err == nil {
		err = control.SetWriteDeadline(time.Now().Add(streamWrite))
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "data: %s\n\n", text)
	}
	if err == nil {
		err = control.Flush()
	}
	return err
}
