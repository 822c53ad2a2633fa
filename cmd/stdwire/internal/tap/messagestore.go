package tap

import (
	"io"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A messageStore keeps the responses and requests of a server until a replay takes them, so that
// the server's writes do not block.
type messageStore struct {
	mu        sync.Mutex
	pending   map[string]bool            // ids of requests without a response
	responses map[string]storedMessage   // by id
	requests  map[string][]storedMessage // the server's, by method
	size      int                        // memory of all messages
	ended     bool                       // the stream has ended
	changed   chan struct{}              // closed at the next change
}

// A storedMessage is a response, or the id of a request.
type storedMessage struct {
	text   []byte // at most MaxFrame bytes
	size   int64
	sha256 string // set if text is truncated
}

// memory estimates the memory that the message takes, in bytes.
func (m storedMessage) memory() int {
	const overhead = 200
	return len(m.text) + overhead
}

// messageKey selects the response to the request with an id, or, if request is set, the next
// request for that method.
type messageKey struct{ id, request string }

// maxStored is the memory that a store holds. Further messages are dropped, and count as missing.
const maxStored = 8 * MaxFrame

func newMessageStore() *messageStore {
	return &messageStore{pending: map[string]bool{}, responses: map[string]storedMessage{},
		requests: map[string][]storedMessage{}, changed: make(chan struct{})}
}

// readAll reads messages until the stream ends.
func (s *messageStore) readAll(out io.Reader) {
	frames := frameSplitter{limit: MaxFrame, emit: s.frame}
	buf := make([]byte, 64<<10)
	for {
		n, err := out.Read(buf)
		frames.write(buf[:n])
		if err != nil {
			break
		}
	}
	frames.end()
	s.update(func() { s.ended = true })
}

func (s *messageStore) frame(f rawFrame) {
	if f.sha256 == "" && isBatch(f.payload) {
		for element := range jsonscan.Elements(f.payload) {
			s.add(storedMessage{text: slices.Clone(element), size: int64(len(element))})
		}
		return
	}
	s.add(storedMessage{slices.Clone(f.payload), f.size, f.sha256})
}

func (s *messageStore) add(stored storedMessage) {
	m := parseMessage(stored.text, stored.sha256 == "")
	s.update(func() {
		id := requestID(m.ID, func(id string) bool { return s.pending[id] })
		switch {
		case s.size+stored.memory() > maxStored:
		case m.Type == Response && s.pending[id]:
			delete(s.pending, id)
			s.responses[id] = stored
			s.size += stored.memory()
		case m.Type == Request:
			stored.text = m.ID
			s.requests[m.Method] = append(s.requests[m.Method], stored)
			s.size += stored.memory()
		}
	})
}

func (s *messageStore) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// expect makes the store keep the response to a request.
func (s *messageStore) expect(id string) { s.update(func() { s.pending[id] = true }) }

// isExpected reports whether the response to a request has arrived or may still arrive.
func (s *messageStore) isExpected(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.responses[id]
	return ok || s.pending[id]
}

// take removes a message from the store. If the store has none and the stream has not ended,
// changed is closed at the next change.
func (s *messageStore) take(key messageKey) (message storedMessage, ended bool,
	changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ok := false
	if ids := s.requests[key.request]; key.request != "" && len(ids) > 0 {
		message, ok, s.requests[key.request] = ids[0], true, ids[1:]
	} else if key.request == "" {
		message, ok = s.responses[key.id]
		delete(s.responses, key.id)
	}
	if ok {
		s.size -= message.memory()
	}
	return message, s.ended, s.changed
}
