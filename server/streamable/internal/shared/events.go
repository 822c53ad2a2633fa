package shared

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/store"
)

// Events keeps the events of streams in the store, so that a client can resume a stream at another
// replica. The events of a session are one log, which says how many there are, and expires. Who
// adds events never waits for the store: those that come while others are being added are added
// together. Its methods are safe for concurrent use.
type Events struct {
	s        *Sessions
	replicas *Replicas
	// of the log of a session
	maxEvents, maxBytes int
	room                *quota.Pool // bytes in the logs, or on their way, that are of this replica

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	logs   map[string]*sessionEvents // by session
	swept  time.Time                 // when logs that have expired were looked for
}

// sessionEvents are what this replica may still have in the log of a session.
type sessionEvents struct {
	owner string
	sizes []int64 // of records, oldest first
	bytes int64
	last  time.Time // when the last one was added
}

// eventCost is what an event counts in addition to its text.
const eventCost = 128

// NewEvents returns what keeps at most that many events and bytes for each session, and at most all
// bytes for those that this replica adds, of which a principal has only its share. With a limit
// that is not positive, nothing is kept. The caller calls Close at the end.
func NewEvents(r *Replicas, maxEvents, maxBytes, all int) *Events {
	e := &Events{s: r.Sessions, replicas: r, maxEvents: maxEvents,
		maxBytes: min(maxBytes, store.MaxValue/2), room: quota.NewPool(int64(max(all, 1))),
		logs: map[string]*sessionEvents{}, swept: time.Now()}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

func (e *Events) log(session string) string { return e.s.Part + "events/" + session }

// sweepInterval is how often logs that have expired are looked for.
const sweepInterval = 5 * time.Second

// sweep gives back the room of logs that have expired, if it has not done so for a while. e.mu must
// be held.
func (e *Events) sweep() {
	if time.Since(e.swept) < sweepInterval {
		return
	}
	e.swept = time.Now()
	for session, log := range e.logs {
		if time.Since(log.last) > e.s.life() {
			e.room.Give(log.owner, log.bytes)
			delete(e.logs, session)
		}
	}
}

// Close ends what Events does. What has not been added is given a time, of which nothing is left if
// the store cannot be reached.
func (e *Events) Close(patience time.Duration) {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	defer time.AfterFunc(patience, e.cancel).Stop()
	e.running.Wait()
	e.cancel()
}

// An EventLog adds the events of one stream to the log of its session.
type EventLog struct {
	e              *Events
	session, owner string
	head           eventRecord

	// guarded by e.mu
	pending  []Event // to be added
	bytes    int     // of pending
	next     int64   // the number of the next event
	begun    bool
	due      bool      // a record is to be added, if only to say that the stream is there
	ended    bool      // no event follows
	lost     bool      // because the session has gone to another replica
	adding   bool      // a goroutine adds what there is
	followed bool      // another replica reads the stream
	wake     bool      // the other replica is to look
	last     time.Time // when something was added
}

// Open returns the log of a stream of a session, whose memory counts for owner. request is the id
// of the request that it is for, as JSON text, or "". It returns nil if nothing is kept.
func (e *Events) Open(session, owner string, stream int64, request string) *EventLog {
	if e.maxEvents < 1 || e.maxBytes < 1 {
		return nil
	}
	if len(request) > 256 {
		request = ""
	}
	return &EventLog{e: e, session: session, owner: owner, next: 1,
		head: eventRecord{Stream: stream, Request: request}}
}

// Begin says that the stream has begun, although it has no event yet. Like all methods of an
// EventLog it does not block, and does nothing for a nil one.
func (l *EventLog) Begin() {
	if l == nil {
		return
	}
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	l.begun, l.due = true, true
	l.add()
}

// End says that the stream has ended, if it had begun.
func (l *EventLog) End() {
	if l == nil {
		return
	}
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	if l.begun && !l.ended {
		l.due, l.ended = true, true
		l.add()
	}
}

// Lose says that nothing follows although the request was not answered, and never will be: whoever
// reads the stream learns that it is lost.
func (l *EventLog) Lose() {
	if l == nil {
		return
	}
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	if l.begun && !l.ended {
		l.due, l.ended, l.lost = true, true, true
		l.add()
	}
}

// Add adds the next event, of which it keeps the text. last says that the stream ends with it. An
// event for which there is no room is missing: who resumes from before it is told so.
func (l *EventLog) Add(text []byte, last bool) {
	if l == nil {
		return
	}
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	l.e.sweep()
	l.begun, l.due, l.ended = true, true, last
	event := Event{l.next, text}
	l.next++
	size := len(text) + eventCost
	if size <= l.e.maxBytes && l.e.room.Take(l.owner, int64(size)) == nil {
		l.pending = append(l.pending, event)
		l.bytes += size
		for len(l.pending) > l.e.maxEvents || l.bytes > l.e.maxBytes {
			l.drop(1)
		}
	}
	l.add()
}

// drop forgets the first pending events, and gives back their room. e.mu must be held.
func (l *EventLog) drop(n int) {
	size := 0
	for i := range n {
		size += len(l.pending[i].Text) + eventCost
		l.pending[i] = Event{}
	}
	l.pending = l.pending[n:]
	l.bytes -= size
	l.e.room.Give(l.owner, int64(size))
}

// Follow says that another replica reads the stream, and has it look at the log whenever something
// was added. It adds how the stream is, which the other replica may have missed.
func (l *EventLog) Follow() {
	if l == nil {
		return
	}
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	l.followed, l.wake, l.due = true, true, l.due || l.begun
	l.add()
}

// Keep says that the stream is still there, before the log has forgotten it.
func (l *EventLog) Keep() {
	if l == nil {
		return
	}
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	if !l.ended && !l.last.IsZero() && time.Since(l.last) > l.e.s.life()/2 {
		l.due = true
		l.add()
	}
}

// add starts to add what there is, unless a goroutine does. e.mu must be held.
func (l *EventLog) add() {
	if l.adding || l.e.closed {
		return
	}
	l.adding = true
	l.e.running.Go(func() {
		for l.addNext() {
		}
	})
}

// addNext adds one record, and wakes who reads the stream. It reports false if there is nothing to
// do.
func (l *EventLog) addNext() bool {
	e := l.e
	record, events, wake := l.take()
	if record == nil && !wake {
		return false
	}
	if record != nil {
		size := int64(0)
		for _, event := range events {
			size += int64(len(event.Text) + eventCost)
		}
		text, err := record.encode(events)
		if err == nil {
			err = e.append(l.session, text)
		}
		l.added(size, err)
	}
	if wake {
		// a notice that is lost costs its reader a little time
		_ = e.s.Tell(e.ctx, Notice{Session: l.session, Events: true})
	}
	return true
}

// maxRecord is how many bytes of events are added together, if there are several.
const maxRecord = 128 << 10

// take returns a record that is to be added with its events, or nil, and whether somebody is to be
// woken. If there is neither, the goroutine ends.
func (l *EventLog) take() (r *eventRecord, events []Event, wake bool) {
	own := l.e.replicas.Own() // not under e.mu: who has its lock may wait for that of a log
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	wake, l.wake = l.wake || l.due && l.followed, false
	if !l.due {
		l.adding = wake
		return nil, nil, wake
	}
	n, size := 0, 0
	for n < len(l.pending) && (n == 0 || size+len(l.pending[n].Text) <= maxRecord &&
		l.pending[n].Number == l.pending[n-1].Number+1) {
		size += len(l.pending[n].Text)
		n++
	}
	events = l.pending[:n:n]
	l.pending = l.pending[n:]
	l.bytes -= size + n*eventCost
	head := l.head
	head.Replica = own.Name // "" without a lease: a reader asks until there is one
	if head.Next = l.next; n > 0 {
		head.Next = events[0].Number
	}
	// The end is where the last event is, or, if that is missing, after those before it.
	l.due = len(l.pending) > 0 || l.ended && n > 0 && events[n-1].Number != l.next-1
	head.Ended = l.ended && !l.due
	head.Lost = l.lost && head.Ended
	return &head, events, wake
}

// added notes that a record was added, or could not be.
func (l *EventLog) added(size int64, err error) {
	e := l.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.room.Give(l.owner, size)
		return
	}
	l.last = time.Now()
	log := e.logs[l.session]
	if log == nil {
		log = &sessionEvents{owner: l.owner}
		e.logs[l.session] = log
	}
	log.sizes, log.bytes, log.last = append(log.sizes, size), log.bytes+size, l.last
	for len(log.sizes) > e.maxEvents || len(log.sizes) > 1 && log.bytes > int64(e.maxBytes) {
		e.room.Give(log.owner, log.sizes[0])
		log.bytes -= log.sizes[0]
		log.sizes = log.sizes[1:]
	}
}

// maxPause is the longest pause before a record is sent again to a store that does not take it, as
// one that is full.
const maxPause = 5 * time.Second

// append adds a record to the log of a session. It tries again as long as that can be of use: the
// end of a stream must be known where it is read.
func (e *Events) append(session string, text []byte) error {
	bounds := store.LogBounds{Events: e.maxEvents, Bytes: int64(e.maxBytes), TTL: e.s.life()}
	pause, until := Pause(), time.Now().Add(e.s.life())
	for {
		ctx, end := e.s.use(e.ctx)
		_, err := e.s.Store.Append(ctx, e.log(session), text, bounds)
		end(err)
		if err == nil || errors.Is(err, store.ErrTooLarge) || time.Now().After(until) {
			return err
		}
		most := maxPause
		if errors.Is(err, redis.ErrUnavailable) { // nothing was sent
			most = redis.MaxPause
		}
		pause = min(pause, most)
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
			pause *= 2
		case <-e.ctx.Done():
			return err
		}
	}
}
