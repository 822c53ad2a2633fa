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
	s       *session
	number  int64
	own     bool // opened with GET, for what belongs to no request
	capable bool // the client takes streams
	primes  bool // it begins with an event that says nothing, for the client to know an id to come back with (2025-11-25)

	changed chan struct{} // closed when something has changed
	reader  *reader       // who writes it to the client; nil: nobody just now
	begun   bool          // the client knows that it is a stream
	next    int64         // the number of the next event; the first is 1
	queue   []*event      // for the reader
	unread  int           // bytes that the reader has not written yet
	events  int           // that it has not written yet
	kept    int           // events in the store; the last ones
	over    bool          // nothing follows
	plain   response      // where nothing was said before
}

// A reader is one connection of a client that a stream is written to.
type reader struct {
	resumes bool // the client has read the beginning on another
	close   bool // it is to end, and the stream to go on without it
	retry   time.Duration
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
	stored  *stored        // these two are set while it is in the store
	element *list.Element
}

// size is about how many bytes an event takes.
func (e *event) size() int { return len(e.text) + 128 }

func (e *event) id() string {
	if e.stream.s.old {
		return ""
	}
	return e.stream.eventID(e.number)
}

const (
	granule         = 4 << 10 // bytes: the memory of a session is taken in multiples of it
	maxUnread       = 1 << 20 // bytes that wait for a client to read them, before what is to be said has to wait
	maxUnreadEvents = 1024
)

// newStream makes a stream that the returned reader reads. With mu.
func (s *session) newStream(own, capable, primes bool) (*stream, *reader) {
	s.lastStream++
	st := &stream{
		s: s, number: s.lastStream, own: own, capable: capable, primes: primes, begun: own, changed: make(chan struct{}), reader: &reader{}, next: 1,
	}
	s.streams[st.number] = st
	if own {
		close(s.arrived)
		s.arrived = make(chan struct{})
	}
	return st, st.reader
}

// own returns the stream for what belongs to no request, nil if nobody reads one: the last one opened, as each message must be on one only. With mu.
func (s *session) own() (found *stream) {
	for _, st := range s.streams {
		if st.own && st.reader != nil && !st.over && (found == nil || st.number > found.number) {
			found = st
		}
	}
	return found
}

// changes wakes who waits for a change. With mu.
func (st *stream) changes() {
	close(st.changed)
	st.changed = make(chan struct{})
}

// hasRoom reports whether a message may be added: one that nobody reads makes room in the store. With mu.
func (st *stream) hasRoom(size int) bool {
	return st.reader == nil || st.events == 0 || st.unread+size <= maxUnread && st.events < maxUnreadEvents && st.s.count(size)
}

// add adds a message, which it keeps. With mu; then [Handler.trim] is to be called without.
func (st *stream) add(message []byte, account *quota.Account) {
	s := st.s
	s.h.saw(rpc.Outbound, message)
	e := &event{stream: st, number: st.next, text: message, account: account, uses: 1}
	st.next++
	if account == nil {
		s.held += e.size()
	}
	if st.reader != nil {
		st.wait(e)
	}
	if !s.old {
		s.keep(e)
	}
	s.count(0)
	s.drop(e)
	st.changes()
}

// wait has an event wait for the reader. With mu.
func (st *stream) wait(e *event) {
	e.uses++
	st.queue = append(st.queue, e)
	st.unread += len(e.text)
	st.events++
}

// drop ends one use of an event. With mu.
func (s *session) drop(e *event) {
	if e.uses--; e.uses > 0 {
		return
	}
	if e.account != nil {
		e.account.Close()
		return
	}
	s.held -= e.size()
	s.count(0)
}

// count has the session's memory hold its events, and so many bytes more; false if there is no
// room. With mu.
func (s *session) count(more int) bool {
	want := int64(s.held+more) / granule * granule
	if want != s.counted {
		if s.memory.Resize(want) != nil {
			return false
		}
		s.counted = want
	}
	return true
}

// tell adds a message if there is room.
func (st *stream) tell(message []byte) {
	defer st.s.h.trim()
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	if !st.s.ended && !st.over && (st.reader != nil || st.begun) && st.hasRoom(len(message)) {
		st.add(message, nil)
	}
}

// respond ends a stream with the response to its request.
func (st *stream) respond(r response) {
	defer st.s.h.trim()
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	switch {
	case st.s.ended, r.text == nil:
		r.account.Close()
	case st.begun || st.next > 1:
		st.add(r.text, r.account)
	case st.reader != nil:
		st.plain = r
	default:
		r.account.Close()
	}
	st.over = true
	st.changes()
	st.sweep()
}

// leave takes a reader away. What it has not written is kept for the next.
func (st *stream) leave(r *reader) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	if st.reader != r {
		return // another has taken over
	}
	st.reader = nil
	st.unqueue()
	st.plain.account.Close()
	st.plain = response{}
	st.changes()
	st.sweep()
}

// unqueue takes away what waits for the reader. With mu.
func (st *stream) unqueue() {
	for _, e := range st.queue {
		st.s.drop(e)
	}
	st.queue, st.unread, st.events = nil, 0, 0
}

// sweep forgets a stream to which nobody can come back. With mu.
func (st *stream) sweep() {
	if st.reader == nil && st.kept == 0 && (st.over || st.own) {
		delete(st.s.streams, st.number)
	}
}

// keep puts an event into the store, which is bounded: the oldest go, and all if there is no memory
// for them. With mu.
func (s *session) keep(e *event) {
	e.uses++
	s.store = append(s.store, e)
	s.stored += e.size()
	s.h.stored.add(s.owner, e)
	e.stream.kept++
	o := &s.h.o
	for len(s.store) > o.MaxEvents || s.stored > o.MaxEventBytes || len(s.store) > 0 && !s.count(0) {
		s.forgetOldest()
	}
}

// forgetOldest takes the oldest event out of the store. With mu.
func (s *session) forgetOldest() {
	e := s.store[0]
	s.store[0] = nil
	s.store = s.store[1:]
	s.stored -= e.size()
	s.h.stored.remove(e)
	e.stream.kept--
	e.stream.sweep()
	s.drop(e)
}

func (st *stream) eventID(number int64) string {
	return strconv.FormatInt(st.number, 10) + "-" + strconv.FormatInt(number, 10)
}

// A missError says why a stream cannot be resumed.
type missError struct{ id string }

func (e *missError) Error() string {
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
	if err1 != nil || err2 != nil || st == nil || !st.begun || s.ended || last < 0 || last >= st.next || last < st.next-1-int64(st.kept) {
		return nil, nil, &missError{id[:min(len(id), 64)]}
	}
	st.reader = &reader{resumes: true}
	st.unqueue()
	for _, e := range s.store {
		if e.stream == st && e.number > last {
			st.wait(e)
		}
	}
	st.changes()
	if st.own {
		close(s.arrived)
		s.arrived = make(chan struct{})
	}
	return st, st.reader, nil
}
