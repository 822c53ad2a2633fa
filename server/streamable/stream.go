package streamable

import (
	"bytes"
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable/internal/eventstore"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// handlerStreams is what the streams of all sessions of a handler need of it.
type handlerStreams struct {
	lifetime
	memoryPool
	*observer
	o          Options
	eventStore *eventstore.Store[*event]

	// with Options.Store; else nil
	shared *shared.Sessions
	events *shared.Events
}

// evictEvents removes stored events until all are within the limit. Call it after adding an event,
// without holding a session's mutex: the events may belong to another session.
func (a *handlerStreams) evictEvents() {
	for e, over := a.eventStore.Excess(); over; e, over = a.eventStore.Excess() {
		s := e.stream.s
		s.mu.Lock()
		if e.stored.IsStored() { // else it was removed meanwhile
			s.evictOldest() // it is this event: both stores have the same order
		}
		s.mu.Unlock()
	}
}

// sessionStreams are the streams of a session, with their stored events, and what they need of it.
type sessionStreams struct {
	all     *handlerStreams
	id      string // 130 random bits as letters and digits
	owner   string // quota owner of its slot and memory
	httpSSE bool   // of the transport of 2024-11-05: ends with its only stream
	conn    *server.Conn
	ctx     context.Context
	values  context.Context // for the store outside of requests; a backgroundContext
	memory  *quota.Account  // holds events that no account of a request holds

	announcing sync.Mutex // held while a reader of a stream is announced

	mu               sync.Mutex // of the session, too
	closed           bool
	streams          map[int64]*stream
	lastStream       int64
	standaloneOpened chan struct{} // closed when a standalone stream is opened
	store            []*event      // stored events of all streams, oldest first
	storeBytes       int
	eventBytes       int   // size of events stored or unread that memory holds
	reservedBytes    int64 // what memory has reserved for them
}

// isShared reports whether the session is one of the store.
func (s *sessionStreams) isShared() bool { return s.all.shared != nil && !s.httpSSE }

// A stream is the messages of the server for one request, or for no request. It outlives its
// connection: its events are stored for a while, so that the client can resume it. Its fields are
// guarded by the session's mutex.
type stream struct {
	s             *sessionStreams
	number        int64
	isStandalone  bool // opened with GET, for messages that belong to no request
	acceptsEvents bool // the client accepts event streams
	// starts with an empty event, whose id the client can resume from (2025-11-25)
	hasPrimingEvent bool

	changed      chan struct{} // closed on the next change; made by whoever waits
	reader       *reader       // the connection that reads the stream; nil: none
	started      bool          // the client has been sent the start of the stream
	next         int64         // number of the next event; the first is 1
	queue        []*event      // events that the reader has not taken
	unread       int           // bytes that the reader has not written
	unreadEvents int           // events that the reader has not written
	storedEvents int           // the last events, which are in the session's store
	complete     bool          // no message follows
	jsonResponse response      // a response without preceding messages
	shared       *sharedStream // of a session in a store; else nil

	firstReader reader // allocated with the stream
}

// A sharedStream is what other replicas may know of a stream. It is guarded by the session's mutex.
type sharedStream struct {
	log *shared.EventLog // the events of a stream that is served here; nil: they are not stored
	// wake says that events may have come from another replica, which serves the stream; nil: it is
	// served here.
	wake      chan struct{}
	reader    string // the name of the reader, if it has resumed the stream
	announced bool   // the others know the reader: one that they announce afterwards replaces it
}

// log returns the log of the events. s.mu must be held.
func (st *stream) log() *shared.EventLog {
	if st.shared == nil {
		return nil
	}
	return st.shared.log
}

// isElsewhere reports whether another replica serves the stream.
func (st *stream) isElsewhere() bool { return st.shared != nil && st.shared.wake != nil }

// nameReader gives the reader, which has resumed the stream, a name. s.mu must be held.
func (st *stream) nameReader() {
	if st.shared != nil {
		st.shared.reader, st.shared.announced = rand.Text(), false
	}
}

// A reader is a connection that reads a stream.
type reader struct {
	isResumed      bool // the stream started on another connection
	closeRequested bool // close the connection, but not the stream
	retry          time.Duration
}

// An event is one message of a stream. All queues and stores share it.
type event struct {
	stream  *stream
	number  int64
	text    []byte         // the message
	account *quota.Account // holds its memory; nil: the session's does
	uses    int            // references: the queue, the reader, the store
	stored  eventstore.Entry
}

// size returns the approximate memory of an event.
func (e *event) size() int { return len(e.text) + 128 }

func (e *event) id() string {
	if e.stream.s.httpSSE || e.number == 0 {
		return ""
	}
	return e.stream.eventID(e.number)
}

const (
	memoryGranularity = 4 << 10 // bytes; a session reserves memory in multiples of it
	maxUnread         = 1 << 20 // bytes unread by the client before senders wait
	maxUnreadEvents   = 1024
)

// newStream returns a stream and its reader. s.mu must be held.
func (s *sessionStreams) newStream(standalone, acceptsEvents, primingEvent bool) (*stream,
	*reader) {
	s.lastStream++
	st := &stream{
		s: s, number: s.lastStream, isStandalone: standalone, acceptsEvents: acceptsEvents,
		hasPrimingEvent: primingEvent,
		started:         standalone, next: 1,
	}
	st.reader = &st.firstReader
	s.streams[st.number] = st
	if s.isShared() {
		st.shared = new(sharedStream)
	}
	if standalone {
		close(s.standaloneOpened)
		s.standaloneOpened = make(chan struct{})
	}
	return st, st.reader
}

// standaloneStream returns the stream for messages that belong to no request: the last one opened
// with a reader, because a message goes to one stream only. It returns nil if there is none. s.mu
// must be held.
func (s *sessionStreams) standaloneStream() (found *stream) {
	for _, st := range s.streams {
		if st.isStandalone && st.reader != nil && !st.complete &&
			(found == nil || st.number > found.number) {
			found = st
		}
	}
	return found
}

// notifyChange wakes the waiters for a change. s.mu must be held.
func (st *stream) notifyChange() {
	if st.changed != nil {
		close(st.changed)
		st.changed = nil
	}
}

// nextChange returns a channel that is closed on the next change. s.mu must be held.
func (st *stream) nextChange() <-chan struct{} {
	if st.changed == nil {
		st.changed = make(chan struct{})
	}
	return st.changed
}

// hasRoom reports whether a message may be added. Without a reader it always may, because the store
// evicts old events. s.mu must be held.
func (st *stream) hasRoom(size int) bool {
	return st.reader == nil || st.unreadEvents == 0 || st.unread+size <= maxUnread &&
		st.unreadEvents < maxUnreadEvents && st.s.reserve(size)
}

// add adds a message, which it keeps. s.mu must be held; call [handlerStreams.evictEvents] after
// unlocking.
func (st *stream) add(message []byte, account *quota.Account) {
	s := st.s
	s.all.observeFrame(s.ctx, s.conn, rpc.Outbound, message)
	e := &event{stream: st, number: st.next, text: message, account: account, uses: 1}
	st.next++
	st.log().Add(message, st.complete)
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

// addResponse adds a response as a message. s.mu must be held.
func (st *stream) addResponse(r response) {
	if r.account != nil {
		st.add(r.text.B, r.account)
		return
	}
	// the session's memory counts the length of the text, not the capacity of its buffer
	st.add(bytes.Clone(r.text.B), nil)
	r.text.Free()
}

// enqueue queues an event for the reader. s.mu must be held.
func (st *stream) enqueue(e *event) {
	e.uses++
	st.queue = append(st.queue, e)
	st.unread += len(e.text)
	st.unreadEvents++
}

// releaseEvent removes a reference to an event. s.mu must be held.
func (s *sessionStreams) releaseEvent(e *event) {
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

// reserve adjusts the session's memory to its events and more bytes. It reports false if there is
// no memory. s.mu must be held.
func (s *sessionStreams) reserve(more int) bool {
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
	defer st.s.all.evictEvents()
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	if !st.s.closed && !st.complete && (st.reader != nil || st.started) &&
		st.hasRoom(len(message)) {
		st.add(message, nil)
	}
}

// finish completes a stream with the response to its request.
func (st *stream) finish(r response) {
	defer st.s.all.evictEvents()
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	switch {
	case st.s.closed, r.text == nil:
		r.free()
	case st.started || st.next > 1:
		st.complete = true
		st.addResponse(r)
	case st.reader != nil:
		st.jsonResponse = r
	default:
		r.free()
	}
	if st.complete = true; !st.s.closed {
		st.log().End()
	}
	st.notifyChange()
	st.forgetIfUnreachable()
}

// detach removes a reader. Events that it has not written stay stored.
func (st *stream) detach(r *reader) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	if st.reader != r {
		return // another connection has resumed the stream
	}
	st.reader = nil
	st.clearQueue()
	st.jsonResponse.free()
	st.jsonResponse = response{}
	st.notifyChange()
	st.forgetIfUnreachable()
}

// clearQueue empties the queue of the reader. s.mu must be held.
func (st *stream) clearQueue() {
	for _, e := range st.queue {
		st.s.releaseEvent(e)
	}
	st.queue, st.unread, st.unreadEvents = nil, 0, 0
}

// forgetIfUnreachable removes a stream that no client can resume. s.mu must be held.
func (st *stream) forgetIfUnreachable() {
	if st.reader == nil && st.storedEvents == 0 &&
		(st.complete || st.isStandalone || st.isElsewhere()) && st.s.streams[st.number] == st {
		delete(st.s.streams, st.number)
	}
}

// storeEvent stores an event, and evicts the oldest ones over the limits or without memory. s.mu
// must be held.
func (s *sessionStreams) storeEvent(e *event) {
	e.uses++
	s.store = append(s.store, e)
	s.storeBytes += e.size()
	s.all.eventStore.Add(&e.stored, s.owner, e, e.size())
	e.stream.storedEvents++
	o := &s.all.o
	for len(s.store) > o.MaxEvents || s.storeBytes > o.MaxEventBytes || len(s.store) > 0 &&
		!s.reserve(0) {
		s.evictOldest()
	}
}

// evictOldest removes the oldest stored event. s.mu must be held.
func (s *sessionStreams) evictOldest() {
	e := s.store[0]
	s.store[0] = nil
	s.store = s.store[1:]
	s.storeBytes -= e.size()
	s.all.eventStore.Remove(&e.stored, e.size())
	e.stream.storedEvents--
	e.stream.forgetIfUnreachable()
	s.releaseEvent(e)
}

func (st *stream) eventID(number int64) string {
	return eventID{st.number, number, st.isStandalone && st.s.isShared()}.String()
}

// An eventID is what the id of an event says.
type eventID struct {
	stream, number int64
	// standalone is the stream of a shared session for messages that belong to no request, of which
	// other replicas know nothing.
	standalone bool
}

const standaloneMark = "-s" // ends the id

func (id eventID) String() string {
	text := strconv.FormatInt(id.stream, 10) + "-" + strconv.FormatInt(id.number, 10)
	if id.standalone {
		text += standaloneMark
	}
	return text
}

// parseEventID reads an id. It reports false for what is none.
func parseEventID(text string) (id eventID, ok bool) {
	text, id.standalone = strings.CutSuffix(text, standaloneMark)
	stream, number, _ := strings.Cut(text, "-")
	var err1, err2 error
	id.stream, err1 = strconv.ParseInt(stream, 10, 64)
	id.number, err2 = strconv.ParseInt(number, 10, 64)
	return id, err1 == nil && err2 == nil && id.number >= 0
}

// resume returns the stream of an event, and a new reader that starts after that event. It replaces
// the current reader. ok reports whether the events are stored here, and isHere whether the stream
// is served here at all.
func (s *sessionStreams) resume(id eventID) (st *stream, r *reader, isHere, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st = s.streams[id.stream]
	if st == nil || st.isElsewhere() || s.closed {
		return nil, nil, false, false
	}
	if !st.started || id.number >= st.next || id.number < st.next-1-int64(st.storedEvents) {
		return nil, nil, true, false
	}
	st.reader = &reader{isResumed: true}
	st.nameReader()
	st.clearQueue()
	for _, e := range s.store {
		if e.stream == st && e.number > id.number {
			st.enqueue(e)
		}
	}
	st.notifyChange()
	if st.isStandalone {
		close(s.standaloneOpened)
		s.standaloneOpened = make(chan struct{})
	}
	return st, st.reader, true, true
}

// CloseStream closes the connection on which the client waits for the response to a request, and
// tells the client to reconnect after retry. The request continues. It is for handlers that take
// long, so that they do not hold a connection (2025-11-25, basic/transports, Sending Messages to
// the Server). Messages are stored until the client is back. ctx is the handler's context. It
// reports false and does nothing if the client cannot resume: its revision is older or modern, it
// accepts no event streams, it has disconnected, the [Options].Store, without which it could not
// come back, has failed a moment ago, or the request did not come through a [Handler]. It does not
// block.
func CloseStream(ctx context.Context, retry time.Duration) bool {
	st, ok := ctx.Value(streamKey{}).(*stream)
	if !ok || st == nil {
		return false
	}
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	if st.s.closed || st.complete || st.reader == nil || !st.acceptsEvents || st.s.httpSSE ||
		st.s.conn.Revision() < mcp.Rev20251125 ||
		st.s.isShared() && st.s.all.shared.Health.Failure() != nil {
		return false
	}
	st.reader.closeRequested, st.reader.retry = true, retry
	st.notifyChange()
	return true
}

// A streamKey is the key of the stream of a request in a session.
type streamKey struct{}
