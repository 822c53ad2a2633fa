// Package subscription has the subscriptions of a client to changes of resources and lists.
package subscription

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// MaxBytes is the size of all URIs that one client is subscribed to. A modern server gets all of
// them in one request.
const MaxBytes = 16 << 20

const (
	// what is kept of a message that names a request that the client may not know yet
	maxOwnID    = 20      // bytes of an id; the client's are integers
	maxEarlyAck = 1 << 20 // bytes of an acknowledgement
)

// A Stream is the subscriptions/listen stream of a connection (2026-07-28, Subscriptions), and
// holds the subscribed resources in both eras. To change its filter, a second stream is opened,
// which replaces the first once it is acknowledged, so that no change is missed. The methods may be
// called concurrently and do not block.
type Stream struct {
	Busy     chan struct{}          // capacity 1: held while a stream is opened
	Replaced chan struct{}          // capacity 1: there is a new stream
	Lists    mcp.SubscriptionFilter // of all streams; set before the first

	mu     sync.Mutex
	stream *rpc.Call // in flight while the stream is open; nil for none
	// the last request that the server ended and that was not stream at that time
	ended rpc.ID
	next  *rpc.Call       // will replace stream
	acks  chan Ack        // capacity 1: of next
	early Ack             // the last acknowledgement that did not match next
	uris  map[string]bool // of the subscribed resources
}

// An Ack is the filter that the server acknowledged.
type Ack struct {
	ID     string // of the request, encoded
	Agreed mcp.SubscriptionFilter
}

var (
	// ErrEnded is the cancellation cause of a stream that the server has ended.
	ErrEnded = errors.New("ended by the server")
	// ErrReplaced is the cancellation cause of a stream that another has replaced.
	ErrReplaced = errors.New("replaced")
)

// NewStream returns a stream that is not open.
func NewStream() *Stream {
	return &Stream{Busy: make(chan struct{}, 1), Replaced: make(chan struct{}, 1)}
}

// Open sets the stream.
func (s *Stream) Open(stream *rpc.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open(stream)
}

func (s *Stream) open(stream *rpc.Call) {
	s.stream = stream
	if stream != nil && s.ended == stream.ID() {
		stream.Cancel(ErrEnded)
	}
}

// Replace sets the stream, nil for none, and the subscribed resources, and returns the stream
// before.
func (s *Stream) Replace(stream *rpc.Call, uris map[string]bool) (old *rpc.Call) {
	s.mu.Lock()
	old = s.stream
	s.open(stream)
	s.uris = uris
	s.mu.Unlock()
	wake.Up(s.Replaced)
	return old
}

// Forget removes a stream that is not opened again.
func (s *Stream) Forget(stream *rpc.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == stream {
		s.stream = nil
	}
}

// Current returns the stream, nil for none.
func (s *Stream) Current() *rpc.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream
}

// End handles the id in notifications/cancelled, on the reader's goroutine, and reports whether it
// is the id of the stream.
func (s *Stream) End(id rpc.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stream := range []*rpc.Call{s.stream, s.next} {
		if stream != nil && stream.ID() == id {
			stream.Cancel(ErrEnded)
			return true
		}
	}
	if len(id.String()) <= maxOwnID {
		s.ended = id
	}
	return false
}

// Acknowledge handles an acknowledgement of size bytes, on the reader's goroutine.
func (s *Stream) Acknowledge(a Ack, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil || a.ID != "" && a.ID != s.next.ID().String() {
		if len(a.ID) <= maxOwnID && size <= maxEarlyAck {
			s.early = a
		}
		return
	}
	select {
	case s.acks <- a:
	default: // it has one
	}
}

// Expect sets the next stream, and returns the channel of its acknowledgement.
func (s *Stream) Expect(stream *rpc.Call) <-chan Ack {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.acks = stream, make(chan Ack, 1)
	if s.early.ID == stream.ID().String() {
		s.acks <- s.early
	}
	if s.ended == stream.ID() {
		stream.Cancel(ErrEnded)
	}
	return s.acks
}

// StopExpecting clears the next stream.
func (s *Stream) StopExpecting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.acks = nil, nil
}

// Filter returns the filter for the lists and these resources.
func (s *Stream) Filter(uris map[string]bool) mcp.SubscriptionFilter {
	f := s.Lists
	if len(uris) > 0 {
		f.ResourceSubscriptions = slices.Sorted(maps.Keys(uris))
	}
	return f
}

// Subscribed returns a copy of the set of subscribed resources, which is never nil.
func (s *Stream) Subscribed() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]bool, len(s.uris))
	maps.Copy(all, s.uris)
	return all
}

// Has reports whether a resource is subscribed.
func (s *Stream) Has(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uris[uri]
}

// Set records that a resource is subscribed or not.
func (s *Stream) Set(uri string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uris == nil {
		s.uris = make(map[string]bool)
	}
	Update(s.uris, []string{uri}, on)
}

// Update adds URIs to a set, or removes them.
func Update(set map[string]bool, uris []string, on bool) {
	for _, uri := range uris {
		if on {
			set[uri] = true
		} else {
			delete(set, uri)
		}
	}
}

// CheckRoom returns an error if the URIs exceed MaxBytes with those that are subscribed.
func (s *Stream) CheckRoom(uris []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := 0
	for uri := range s.uris {
		size += len(uri)
	}
	for _, uri := range uris {
		if !s.uris[uri] {
			size += len(uri)
		}
	}
	if size > MaxBytes {
		return fmt.Errorf("the URIs of all subscriptions have %d bytes, more than %d", size, MaxBytes)
	}
	return nil
}
