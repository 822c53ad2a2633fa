package shared

import (
	"context"
	"errors"
	"time"

	"github.com/stdwire/stdwire/internal/store"
)

var (
	// ErrNotStored is the error for events that the store does not have.
	ErrNotStored = errors.New("shared: the events are not in the store")
	// ErrLost is the error for a stream whose replica has ended, or has lost the session, before
	// the stream has ended.
	ErrLost = errors.New("shared: the replica that served the stream is gone")
)

const (
	// eventPatience is how long events may be on their way to the store: a client that has got them
	// directly may come to another replica sooner.
	eventPatience = time.Second
	eventPause    = 20 * time.Millisecond // and twice as long each time
	// lookInterval is how often a reader looks at the log, in case a notice was lost.
	lookInterval = 2 * time.Second
)

// An EventReader reads the events of a stream that another replica serves. It is for one goroutine
// at a time.
type EventReader struct {
	e       *Events
	name    string
	session string
	stream  int64
	next    int64 // the number of the event that comes next
	at      int64 // of the log: what is before has been read
	replica string
	request string
	ended   bool
	lost    bool // it has ended without an answer
	absence absence
	looked  time.Time // when it was looked at whether the replica is gone
	unsure  time.Time // since when records of the stream may be missing; zero: they are not
}

// Read returns a reader of the events after one, by the name that notices say. It waits a moment
// for those that are on their way. The error matches ErrNotStored if the store does not have the
// stream, or not all events.
func (e *Events) Read(ctx context.Context, name, session string, stream, after int64) (
	*EventReader, error) {
	r := &EventReader{e: e, name: name, session: session, stream: stream, next: after + 1}
	ahead, newest, needed := *r, int64(-1), false // what is in the log, and where r has to begin
	for end, pause := time.Now().Add(eventPatience), eventPause; ; pause *= 2 {
		for more := true; more; {
			var records []eventRecord
			var err error
			if records, more, err = ahead.page(ctx); err != nil {
				return nil, err
			}
			for i := range records {
				record := &records[i]
				if !needed && (record.end() > r.next || record.Ended) {
					r.at, needed = record.number-1, true
				}
				newest = max(newest, record.end()-1)
				if _, err := ahead.accept(record); err != nil {
					return nil, err
				}
			}
		}
		switch {
		case newest >= after:
			if r.replica, r.request = ahead.replica, ahead.request; !needed {
				r.at = ahead.at
			}
			return r, nil
		case ahead.ended || !time.Now().Before(end):
			return nil, ErrNotStored
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// page returns the next records of the stream. more reports that there may be
// others.
func (r *EventReader) page(ctx context.Context) (records []eventRecord, more bool, err error) {
	ctx, end := r.e.s.use(ctx)
	entries, gap, err := r.e.s.Store.After(ctx, r.e.log(r.session), r.at)
	end(err)
	if errors.Is(err, store.ErrForged) {
		return nil, false, errors.Join(ErrNotStored, err)
	}
	if err != nil {
		return nil, false, err
	}
	if gap && r.unsure.IsZero() {
		r.unsure = time.Now()
	}
	for _, entry := range entries {
		r.at = entry.Number
		record, err := decodeEvents(entry.Data)
		if err != nil {
			return nil, false, errors.Join(ErrNotStored, err)
		}
		if record.number = entry.Number; record.Stream == r.stream {
			records = append(records, record)
		}
	}
	return records, len(entries) > 0, nil
}

// accept returns the events of a record that come next. The error matches ErrNotStored if others
// are missing. Records may occur twice.
func (r *EventReader) accept(record *eventRecord) (events []Event, err error) {
	if record.Next > r.next {
		return nil, ErrNotStored
	}
	r.unsure = time.Time{}
	r.replica, r.request = record.Replica, record.Request
	r.ended, r.lost = r.ended || record.Ended, r.lost || record.Lost
	number, texts := record.Next, record.texts
	for _, size := range record.Sizes {
		if number == r.next {
			events = append(events, Event{number, texts[:size:size]})
			r.next++
		}
		number, texts = number+1, texts[size:]
	}
	return events, nil
}

// Next returns the events that come next and are there; there may be none. The error matches
// ErrNotStored or ErrLost if the stream cannot be read to its end.
func (r *EventReader) Next(ctx context.Context) (events []Event, err error) {
	events, more, err := r.there(ctx)
	if err == nil && r.lost {
		return events, ErrLost
	}
	if err != nil || more || r.ended || time.Since(r.looked) < lookInterval {
		return events, err
	}
	r.looked = time.Now()
	if !r.unsure.IsZero() {
		// The end may be among what is missing. The replica that has the stream says how it is.
		if err := r.Announce(ctx); err == nil && time.Since(r.unsure) > r.e.replicas.life() {
			return nil, ErrNotStored
		}
	}
	gone, err := r.absence.isGone(ctx, r.e.replicas, r.replica)
	if err == nil && !gone && !r.absence.since.IsZero() {
		err = r.Announce(ctx) // it may have another name by now, which it says
	}
	if err != nil || !gone {
		return nil, err
	}
	events, more, err = r.there(ctx) // what it has added until it ended
	if err == nil && (r.lost || !more && !r.ended) {
		err = ErrLost
	}
	return events, err
}

// there returns events that are there. more reports that there may be others.
func (r *EventReader) there(ctx context.Context) (events []Event, more bool, err error) {
	for more = true; more && len(events) == 0; {
		var records []eventRecord
		if records, more, err = r.page(ctx); err != nil {
			return nil, false, err
		}
		for i := range records {
			next, err := r.accept(&records[i])
			if events = append(events, next...); err != nil {
				return events, false, err
			}
		}
		if r.ended {
			break
		}
	}
	return events, more, nil
}

// Announce says that this is the reader of the stream, so that other readers end, and the replica
// that has the stream says when there are events.
func (r *EventReader) Announce(ctx context.Context) error {
	return r.e.s.Tell(ctx, Notice{Session: r.session, Stream: r.stream, Reader: r.name})
}

// Ended reports whether the stream has no events but those that were read.
func (r *EventReader) Ended() bool { return r.ended }

// Request returns the id of the request that the stream is for, as JSON text, or "" if it is not
// known.
func (r *EventReader) Request() string { return r.request }

// Wait waits until events may be there, which wake says, or the log is to be looked at anyway.
func (r *EventReader) Wait(ctx context.Context, wake <-chan struct{}) {
	look := time.NewTimer(lookInterval)
	defer look.Stop()
	select {
	case <-wake:
	case <-look.C:
	case <-ctx.Done():
	}
}
