// Package traffic keeps the messages and HTTP requests of connections, relates, searches, compares
// and exports them.
package traffic

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
)

// A Message is a message as the timeline shows it.
type Message struct {
	N          int64         `json:"n"` // from 1, in the order of arrival
	Lane       string        `json:"lane"`
	Connection int           `json:"conn"`
	At         float64       `json:"t"` // milliseconds since 1970
	From       tap.Direction `json:"from"`
	Kind       tap.Type      `json:"kind"`
	Method     string        `json:"method,omitempty"`
	Subject    string        `json:"about,omitempty"`
	ID         string        `json:"id,omitempty"`     // as JSON
	Request    int64         `json:"of,omitempty"`     // of a response: the number of its request
	Call       int64         `json:"within,omitempty"` // the number of the request it belongs to
	Ms         float64       `json:"ms,omitempty"`     // of a response
	Failed     string        `json:"failed,omitempty"` // of a response
	Size       int64         `json:"size"`

	Record *tap.Record
}

const maxLanes = 256

// limits bound the messages that are kept.
type limits struct {
	messages int   // of a lane
	bytes    int64 // of all lanes
}

var defaultLimits = limits{200_000, 512 << 20}

// A Traffic keeps the latest messages of all connections. Each server has its own lane, so a server
// that sends many messages displaces only its own.
type Traffic struct {
	changes *changes.Changes
	limits  limits
	Network *network

	mu          sync.Mutex
	last        int64 // number of the latest message
	bytes       int64
	lanes       map[string]*lane
	connections []*Connection
}

// A lane is the messages of one server or one recording.
type lane struct {
	messages []*Message
	bytes    int64
	lost     int64 // number of messages that are not kept any more
}

func New(c *changes.Changes) *Traffic {
	return &Traffic{changes: c, limits: defaultLimits, Network: &network{changes: c},
		lanes: map[string]*lane{}}
}

// cost estimates the memory of a message in bytes.
func (m *Message) cost() int64 {
	const overhead = 600
	return int64(len(m.Record.Payload())+len(m.ID)+len(m.Method)+len(m.Subject)) + overhead
}

// Add adds a frame of a connection.
func (t *Traffic) Add(c *Connection, r *tap.Record) {
	at := r.At
	if at.IsZero() {
		at = c.opened.Add(time.Duration(r.Seconds * float64(time.Second)))
	}
	m := &Message{Lane: c.lane, Connection: c.number, At: float64(at.UnixMicro()) / 1e3,
		From: r.From, Kind: r.Type, Method: r.Method, Subject: r.Subject, ID: string(r.ID),
		Ms: r.Ms, Failed: r.Failed, Size: r.Size, Record: r}
	t.mu.Lock()
	defer t.changes.Add(changes.Traffic)
	defer t.mu.Unlock()
	l := t.lanes[c.lane]
	if l == nil {
		if len(t.lanes) >= maxLanes {
			return
		}
		l = new(lane)
		t.lanes[c.lane] = l
	}
	t.last++
	m.N = t.last
	c.relate(m)
	l.messages = append(l.messages, m)
	l.bytes += m.cost()
	t.bytes += m.cost()
	for len(l.messages) > t.limits.messages {
		t.drop(l)
	}
	for t.bytes > t.limits.bytes {
		largest := l
		for _, other := range t.lanes {
			if other.bytes > largest.bytes {
				largest = other
			}
		}
		t.drop(largest)
	}
}

// drop removes the oldest message of a lane.
func (t *Traffic) drop(l *lane) {
	cost := l.messages[0].cost()
	l.messages[0] = nil // append reuses the array for a while
	l.messages = l.messages[1:]
	l.bytes -= cost
	t.bytes -= cost
	l.lost++
}

// Clear removes all messages.
func (t *Traffic) Clear() {
	t.mu.Lock()
	defer t.changes.Add(changes.Traffic)
	defer t.mu.Unlock()
	t.lanes, t.bytes = map[string]*lane{}, 0
}

// A trafficPage is a part of the timeline.
type trafficPage struct {
	Messages []*Message `json:"messages"`
	Last     int64      `json:"last"` // number of the latest message of the timeline
	// Lanes maps each lane to the number of its oldest message.
	Lanes map[string]lanePage `json:"lanes"`
}

type lanePage struct {
	First int64 `json:"first"`
	Lost  int64 `json:"lost"`
}

// After returns at most limit messages, the first of them after the message with number n.
func (t *Traffic) After(n int64, limit int) trafficPage {
	t.mu.Lock()
	defer t.mu.Unlock()
	page := trafficPage{Messages: []*Message{}, Last: t.last, Lanes: map[string]lanePage{}}
	var rests [][]*Message
	for name, l := range t.lanes {
		first := t.last + 1
		if len(l.messages) > 0 {
			first = l.messages[0].N
		}
		page.Lanes[name] = lanePage{first, l.lost}
		if i := l.index(n + 1); i < len(l.messages) {
			rests = append(rests, l.messages[i:])
		}
	}
	for len(page.Messages) < limit && len(rests) > 0 {
		next := 0
		for i := range rests {
			if rests[i][0].N < rests[next][0].N {
				next = i
			}
		}
		page.Messages = append(page.Messages, rests[next][0])
		if rests[next] = rests[next][1:]; len(rests[next]) == 0 {
			rests = slices.Delete(rests, next, next+1)
		}
	}
	return page
}

// index returns the index of the first message whose number is at least n.
func (l *lane) index(n int64) int {
	i, _ := slices.BinarySearchFunc(l.messages, n, func(m *Message, n int64) int {
		return int(m.N - n)
	})
	return i
}

// Message returns the message with a number.
func (t *Traffic) Message(n int64) (*Message, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lanes {
		if i := l.index(n); i < len(l.messages) && l.messages[i].N == n {
			return l.messages[i], nil
		}
	}
	return nil, reply.NotFound("message", n)
}

// messagesOf returns the messages of a connection, in order.
func (t *Traffic) messagesOf(c *Connection) (all []*Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.lanes[c.lane]; l != nil {
		for _, m := range l.messages {
			if m.Connection == c.number {
				all = append(all, m)
			}
		}
	}
	return all
}

// Search returns the numbers of the messages that contain a text, ignoring the case of ASCII
// letters.
func (t *Traffic) Search(text string) []int64 {
	t.mu.Lock()
	var all []*Message
	for _, l := range t.lanes {
		all = append(all, l.messages...)
	}
	t.mu.Unlock()
	found, want := []int64{}, bytes.ToLower([]byte(text))
	for _, m := range all {
		if bytes.Contains(bytes.ToLower(m.Record.Payload()), want) {
			found = append(found, m.N)
		}
	}
	return found
}
