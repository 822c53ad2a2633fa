package web

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
)

// A message is a message as the timeline shows it.
type message struct {
	N          int64         `json:"n"` // from 1, in the order of arrival
	Lane       string        `json:"lane"`
	Connection int           `json:"conn"`
	At         float64       `json:"t"` // milliseconds since 1970
	From       tap.Direction `json:"from"`
	Kind       tap.Kind      `json:"kind"`
	Method     string        `json:"method,omitempty"`
	Subject    string        `json:"about,omitempty"`
	ID         string        `json:"id,omitempty"`     // as JSON
	Request    int64         `json:"of,omitempty"`     // of a response: the number of its request
	Call       int64         `json:"within,omitempty"` // the number of the request it belongs to
	Ms         float64       `json:"ms,omitempty"`     // of a response
	Failed     string        `json:"failed,omitempty"` // of a response
	Size       int64         `json:"size"`

	record *tap.Record
}

const maxLanes = 256

// limits bound the messages that are kept.
type limits struct {
	messages int   // of a lane
	bytes    int64 // of all lanes
}

var defaultLimits = limits{200_000, 512 << 20}

// A traffic keeps the latest messages of all connections. Each server has its own lane, so a server
// that sends many messages displaces only its own.
type traffic struct {
	changes *changes
	limits  limits
	network *network

	mu          sync.Mutex
	last        int64 // number of the latest message
	bytes       int64
	lanes       map[string]*lane
	connections []*connection
}

// A lane is the messages of one server or one recording.
type lane struct {
	messages []*message
	bytes    int64
	lost     int64 // number of messages that are not kept any more
}

func newTraffic(c *changes) *traffic {
	return &traffic{changes: c, limits: defaultLimits, network: &network{changes: c},
		lanes: map[string]*lane{}}
}

// cost estimates the memory of a message in bytes.
func (m *message) cost() int64 {
	const overhead = 600
	return int64(len(m.record.Payload())+len(m.ID)+len(m.Method)+len(m.Subject)) + overhead
}

// add adds a frame of a connection.
func (t *traffic) add(c *connection, r *tap.Record) {
	at := r.At
	if at.IsZero() {
		at = c.opened.Add(time.Duration(r.Seconds * float64(time.Second)))
	}
	m := &message{Lane: c.lane, Connection: c.number, At: float64(at.UnixMicro()) / 1e3,
		From: r.From, Kind: r.Kind, Method: r.Method, Subject: r.Subject, ID: string(r.ID),
		Ms: r.Ms, Failed: r.Failed, Size: r.Size, record: r}
	t.mu.Lock()
	defer t.changes.add(topicTraffic)
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
func (t *traffic) drop(l *lane) {
	cost := l.messages[0].cost()
	l.messages[0] = nil // append reuses the array for a while
	l.messages = l.messages[1:]
	l.bytes -= cost
	t.bytes -= cost
	l.lost++
}

// clear removes all messages.
func (t *traffic) clear() {
	t.mu.Lock()
	defer t.changes.add(topicTraffic)
	defer t.mu.Unlock()
	t.lanes, t.bytes = map[string]*lane{}, 0
}

// A trafficPage is a part of the timeline.
type trafficPage struct {
	Messages []*message `json:"messages"`
	Last     int64      `json:"last"` // number of the latest message of the timeline
	// Lanes maps each lane to the number of its oldest message.
	Lanes map[string]lanePage `json:"lanes"`
}

type lanePage struct {
	First int64 `json:"first"`
	Lost  int64 `json:"lost"`
}

// after returns at most limit messages, the first of them after the message with number n.
func (t *traffic) after(n int64, limit int) trafficPage {
	t.mu.Lock()
	defer t.mu.Unlock()
	page := trafficPage{Messages: []*message{}, Last: t.last, Lanes: map[string]lanePage{}}
	var rests [][]*message
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
	i, _ := slices.BinarySearchFunc(l.messages, n, func(m *message, n int64) int {
		return int(m.N - n)
	})
	return i
}

// message returns the message with a number.
func (t *traffic) message(n int64) (*message, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lanes {
		if i := l.index(n); i < len(l.messages) && l.messages[i].N == n {
			return l.messages[i], nil
		}
	}
	return nil, notFound("message", n)
}

// messagesOf returns the messages of a connection, in order.
func (t *traffic) messagesOf(c *connection) (all []*message) {
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

// search returns the numbers of the messages that contain a text, ignoring the case of ASCII
// letters.
func (t *traffic) search(text string) []int64 {
	t.mu.Lock()
	var all []*message
	for _, l := range t.lanes {
		all = append(all, l.messages...)
	}
	t.mu.Unlock()
	found, want := []int64{}, bytes.ToLower([]byte(text))
	for _, m := range all {
		if bytes.Contains(bytes.ToLower(m.record.Payload()), want) {
			found = append(found, m.N)
		}
	}
	return found
}
