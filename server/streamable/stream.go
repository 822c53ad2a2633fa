package streamable

import (
	"container/list"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/rpc"
)

// A stream is what a session says to its client on one of its ways: that of a request, or one of its own. It outlives the connection that it began on: what is
// said is kept for a while, for a client that comes back. All its fields are of the session's mutex.
type stream struct {
	s               *session
	number          int64
	isStandalone    bool // opened with GET, for what belongs to no request
	acceptsEvents   bool // the client takes streams
	hasPrimingEvent bool // it begins with an event that says nothing, for the client to know an id to come back with (2025-11-25)

	changed      chan struct{} // closed when something has changed
	reader       *reader       // who writes it to the client; nil: nobody just now
	started      bool          // the client knows that it is a stream
	next         int64         // the number of the next event; the first is 1
	queue        []*event      // for the reader
	unread       int           // bytes that the reader has not written yet
	unreadEvents int           // that it has not written yet
	storedEvents int           // events in the store; the last ones
	complete     bool          // nothing follows
	jsonResponse response      // where nothing was said before
}

// A reader is one connection of a client that a stream is written to.
type reader struct {
	isResumed      bool // the client has read the beginning on another
	closeRequested bool // it is to end, and the stream to go on without it
	retry          time.Duration
}

// A response is what a stream ends with. The zero response is none.
type response struct {
	text    []byte
	refused *refusal       // set if it says no more than that there is no room for the answer
	account *quota.Account // that holds the text; nil: it is not counted
}

// An event is one of a stream. It is there once, in whatever queues and stores it may be.
type event struct {
	stream  *stream
	number  int64
	text    []byte         // the message
	account *quota.Account // that holds it; nil: the session's
	uses    int            // the queue, the reader that writes it, the store
	owner   *ownerEvents   // these two are set while it is in the store
	element *list.Element
}

// size is about how many bytes an event takes.
func (e *event) size() int { return len(e.text) + 128 }

func (e *event) id() string {
	if e.stream.s.httpSSE {
		return ""
	}
	return e.stream.eventID(e.number)
}

const (
	memoryGranularity = 4 << 10 // bytes: the memory of a session is taken in multiples of it
	maxUnread         = 1 << 20 // bytes that wait for a client to read them, before what is to be said has to wait
	maxUnreadEvents   = 1024
)

// newStream makes a stream that the returned reader reads. With mu.
func (s *session) newStream(own, capable, primes bool) (*stream, *reader) {
	s.lastStream++
	st := &stream{
		s: s, number: s.lastStream, isStandalone: own, acceptsEvents: capable, hasPrimingEvent: primes, started: own, changed: make(chan struct{}), reader: &reader{}, next: 1,
	}
	s.streams[st.number] = st
	if own {
		close(s.standaloneOpened)
		s.standaloneOpened = make(chan struct{})
	}
	return st, st.reader
}

// standaloneStream returns the stream for what belongs to no request, nil if nobody reads one: the last one opened, as each message must be on one only. With mu.
func (s *session) standaloneStream() (found *stream) {
	for _, st := range s.streams {
		if st.isStandalone && st.reader != nil && !st.complete && (found == nil || st.number > found.number) {
			found = st
		}
	}
	return found
}

// notifyChange wakes who waits for a change. With mu.
func (st *stream) notifyChange() {
	close(st.changed)
	st.changed = make(chan struct{})
}

// hasRoom reports whether a message may be added: one that nobody reads makes room in the store. With mu.
func (st *stream) hasRoom(size int) bool {
	return st.reader == nil || st.unreadEvents == 0 || st.unread+size <= maxUnread && st.unreadEvents < maxUnreadEvents && st.s.reserve(size)
}

// add adds a message, which it keeps. With mu; then [Handler.trim] is to be called without.
func (st *stream) add(message []byte, account *quota.Account) {
	s := st.s
	s.h.observeFrame(rpc.Outbound, message)
	e := &event{stream: st, number: st.next, text: message, account: account, uses: 1}
	st.next++
	if account == nil {
		s.eventBytes += e.size()
	}
	if st.reader != nil {
		st.enqueue(e)
	}
	if !s.httpSSE {
		s.storeEvent(e)
	}
	s.reserve(0)
	s.releaseEvent(e)
	st.notifyChange()
}

// enqueue has an event wait for the reader. With mu.
func (st *stream) enqueue(e *event) {
	e.uses++
	st.queue = append(st.queue, e)
	st.unread += len(e.text)
	st.unreadEvents++
}

// releaseEvent ends one use of an event. With mu.
func (s *session) releaseEvent(e *event) {
	if e.uses--; e.uses > 0 {
		return
	}
	if e.account != nil {
		e.account.Close()
		return
	}
	s.eventBytes -= e.size()
	s.reserve(0)
}

// reserve has the session's memory hold its events, and so many bytes more; false if there is no
// room. With mu.
func (s *session) reserve(more int) bool {
	want := int64(s.eventBytes+more) / memoryGranularity * memoryGranularity
	if want != s.reservedBytes {
		if s.memory.Resize(want) != nil {
			return false
		}
		s.reservedBytes = want
	}
	return true
}

// tryAdd adds a message if there is room.
func (st *stream) tryAdd(message []byte) {
	defer st.s.h.evictEvents()
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	if !st.s.closed && !st.complete && (st.reader != nil || st.started) && st.hasRoom(len(message)) {
		st.add(message, nil)
	}
}

// finish ends a stream with the response to its request.
func (st *stream) finish(r response) {
	defer st.s.h.evictEvents()
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	switch {
	case st.s.closed, r.text == nil:
		r.account.Close()
	case st.started || st.next > 1:
		st.add(r.text, r.account)
	case st.reader != nil:
		st.jsonResponse = r
	default:
		r.account.Close()
	}
	st.complete = true
	st.notifyChange()
	st.forgetIfUnreachable()
}

// detach takes a reader away. What it has not written is kept for the next.
func (st *stream) detach(r *reader) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	if st.reader != r {
		return // another has taken over
	}
	st.reader = nil
	st.clearQueue()
	st.jsonResponse.account.Close()
	st.jsonResponse = response{}
	st.notifyChange()
	st.forgetIfUnreachable()
}

// clearQueue takes away what waits for the reader. With mu.
func (st *stream) clearQueue() {
	for _, e := range st.queue {
		st.s.releaseEvent(e)
	}
	st.queue, st.unread, st.unreadEvents = nil, 0, 0
}

// forgetIfUnreachable forgets a stream to which nobody can come back. With mu.
func (st *stream) forgetIfUnreachable() {
	if st.reader == nil && st.storedEvents == 0 && (st.complete || st.isStandalone) {
		delete(st.s.streams, st.number)
	}
}

// storeEvent puts an event into the store, which is bounded: the oldest go, and all if there is no memory
// for them. With mu.
func (s *session) storeEvent(e *event) {
	e.uses++
	s.store = append(s.store, e)
	s.storeBytes += e.size()
	s.h.eventStore.add(s.owner, e)
	e.stream.storedEvents++
	o := &s.h.o
	for len(s.store) > o.MaxEvents || s.storeBytes > o.MaxEventBytes || len(s.store) > 0 && !s.reserve(0) {
		s.evictOldest()
	}
}

// evictOldest takes the oldest event out of the store. With mu.
func (s *session) evictOldest() {
	e := s.store[0]
	s.store[0] = nil
	s.store = s.store[1:]
	s.storeBytes -= e.size()
	s.h.eventStore.remove(e)
	e.stream.storedEvents--
	e.stream.forgetIfUnreachable()
	s.releaseEvent(e)
}

func (st *stream) eventID(number int64) string {
	return strconv.FormatInt(st.number, 10) + "-" + strconv.FormatInt(number, 10)
}

// A missError says why a stream cannot be resumed.
type notResumableError struct{ id string }

func (e *notResumableError) Error() string {
	return "what came after the event " + strconv.Quote(e.id) + " is not kept, or never was; go on without Last-Event-ID"
}

// resume returns the stream that an event id belongs to, and a reader of what came after that event. Who reads it at the moment does so no longer. The error is
// a *missError.
func (s *session) resume(id string) (*stream, *reader, error) {
	stream, number, _ := strings.Cut(id, "-")
	streamNumber, err1 := strconv.ParseInt(stream, 10, 64)
	last, err2 := strconv.ParseInt(number, 10, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.streams[streamNumber]
	if err1 != nil || err2 != nil || st == nil || !st.started || s.closed || last < 0 || last >= st.next || last < st.next-1-int64(st.storedEvents) {
		return nil, nil, &notResumableError{id[:min(len(id), 64)]}
	}
	st.reader = &reader{isResumed: true}
	st.clearQueue()
	for _, e := range s.store {
		if e.stream == st && e.number > last {
			st.enqueue(e)
		}
	}
	st.notifyChange()
	if st.isStandalone {
		close(s.standaloneOpened)
		s.standaloneOpened = make(chan struct{})
	}
	return st, st.reader, nil
}
