package streamable

import (
	"context"
	"errors"
	"time"

	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// With [Options].Store the events of a request's stream are in the store, too, so that its client
// can resume it at any replica. One that does not serve the request reads the events there and
// passes them on. Messages that belong to no request are not there: a stream of them that is
// resumed at another replica is a new one, which has the changes that the client may have missed.

// openLog makes the events of a request's stream known to other replicas. s.mu must be held.
func (s *sessionStreams) openLog(st *stream, id rpc.ID) {
	if st.shared == nil || !st.acceptsEvents {
		return
	}
	request := ""
	if !id.IsZero() {
		request = id.String()
	}
	st.shared.log = s.all.events.Open(s.id, s.owner, st.number, request)
}

// announceReader ends the readers that the stream has at other replicas. Readers are announced in
// the order in which they have replaced one another here, and those that are replaced are not.
func (s *sessionStreams) announceReader(st *stream, r *reader) {
	if !s.isShared() {
		return
	}
	s.all.inBackground(func() {
		s.announcing.Lock()
		defer s.announcing.Unlock()
		s.mu.Lock()
		current, name := s.streams[st.number] == st && st.reader == r, st.shared.reader
		s.mu.Unlock()
		if current {
			s.tellReader(st.number, name)
		}
	})
}

// tellReader tells all replicas of the reader of a stream. If that is lost, the others read on
// until their clients are found to be gone.
func (s *sessionStreams) tellReader(stream int64, name string) {
	_ = s.all.shared.Tell(s.values, shared.Notice{Session: s.id, Stream: stream, Reader: name})
}

// yieldStream ends the reader of a stream that has another one now. If the events are made here,
// that one is at another replica, which hears of them from now on. All replicas get notices in the
// same order, so of several readers that are announced at once, the one stays that comes last.
func (s *sessionStreams) yieldStream(number int64, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.streams[number]
	if st == nil {
		return
	}
	if st.reader != nil {
		if st.shared.reader == name {
			st.shared.announced = true
			return
		}
		if st.shared.reader != "" && !st.shared.announced {
			return
		}
		st.reader = nil
		st.clearQueue()
		st.notifyChange()
		st.forgetIfUnreachable()
	}
	st.log().Follow()
}

// wakeStreams has the streams that are served from the store look there. If notices were missed,
// those of their readers may be among them.
func (s *sessionStreams) wakeStreams(missed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		st.shared.announced = st.shared.announced || missed
		wake.Up(st.shared.wake) // nil if the events are made here
	}
}

// newSharedStream returns a stream whose events come from the store, and its reader. It replaces
// the one that there was.
func (s *sessionStreams) newSharedStream(number int64, name string) (*stream, *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &stream{s: s, number: number, acceptsEvents: true, started: true,
		reader: &reader{isResumed: true},
		shared: &sharedStream{wake: make(chan struct{}, 1), reader: name}}
	if old := s.streams[number]; old != nil {
		old.reader = nil
		old.clearQueue()
		old.notifyChange()
	}
	s.streams[number] = st
	return st, st.reader
}

// maxPage is how much memory events need between the store and the queue of a stream.
const maxPage = 1 << 20

// feed passes events of the store on until the stream ends, its reader is replaced, or ctx ends.
// While the store cannot be used, the stream waits.
func (st *stream) feed(ctx context.Context, r *reader, from *shared.EventReader) {
	memory := st.s.all.budget.Open(st.s.owner)
	defer memory.Close()
	for {
		if memory.Resize(maxPage) == nil {
			events, err := from.Next(ctx)
			for _, e := range events {
				if !st.pass(ctx, r, &event{stream: st, number: e.Number, text: e.Text}) {
					return
				}
			}
			_ = memory.Resize(0)
			switch lost := errors.Is(err, shared.ErrLost) || errors.Is(err, shared.ErrNotStored); {
			case lost:
				st.passLoss(ctx, r, from.Request())
				fallthrough
			case err == nil && from.Ended():
				st.s.mu.Lock()
				st.complete = true
				st.notifyChange()
				st.s.mu.Unlock()
				return
			case err != nil:
				select {
				case <-time.After(shared.Pause()):
				case <-ctx.Done():
				}
			}
			if len(events) > 0 {
				continue // there may be more
			}
		}
		if from.Wait(ctx, st.shared.wake); ctx.Err() != nil {
			return
		}
	}
}

// passLoss answers the request of a stream whose end is not known.
func (st *stream) passLoss(ctx context.Context, r *reader, request string) {
	id, err := rpc.ParseID([]byte(request))
	if err != nil {
		return // the stream ends without an answer
	}
	text := rpc.AppendError(nil, id, rpc.Errorf(rpc.CodeInternalError,
		"the server that ran this request has ended, or its answer could not be kept: the outcome is "+
			"unknown"))
	st.pass(ctx, r, &event{stream: st, text: text})
}

// pass queues an event when there is room. It reports false if nobody reads the stream any more.
func (st *stream) pass(ctx context.Context, r *reader, e *event) bool {
	s := st.s
	for {
		s.mu.Lock()
		switch {
		case st.reader != r || s.closed:
			s.mu.Unlock()
			return false
		case st.hasRoom(len(e.text)):
			s.eventBytes += e.size()
			st.enqueue(e)
			s.reserve(0)
			st.notifyChange()
			s.mu.Unlock()
			return true
		}
		changed := st.nextChange()
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
