package streamable

import (
	"net/http"
	"time"

	"github.com/stdwire/stdwire/internal/buffer"
)

// serveStream writes a stream to this connection until the stream completes, another connection
// resumes it, the client disconnects or does not read, or CloseStream ends the connection. If begin
// is not nil, it is written first. A response without preceding messages is written as JSON if the
// client accepts it.
func (x *httpRequest) serveStream(st *stream, r *reader, accepts acceptedTypes, begin []byte) {
	defer st.detach(r)
	a := streamWriter{x: x, st: st, r: r}
	defer a.close()
	if st.isStandalone || r.isResumed { // a GET: the client waits for the header
		if a.start() != nil || begin != nil && a.out.write(begin) != nil {
			return
		}
	}
	quiet, ok := x.timers.Get().(*time.Timer)
	if ok {
		quiet.Reset(x.o.Heartbeat)
	} else {
		quiet = time.NewTimer(x.o.Heartbeat)
	}
	defer x.timers.Put(quiet)
	defer quiet.Stop()
	if !accepts.stream {
		quiet.Stop()
	}
	for {
		now, changed := a.nextAction(accepts)
		switch now {
		case actionWrite:
			if a.write() != nil {
				return
			}
			quiet.Reset(x.o.Heartbeat)
			continue
		case actionRespond:
			if a.response.refused != nil {
				x.writeRefusal(a.response.refused)
			} else {
				x.writeJSON(http.StatusOK, a.response.text.B)
			}
			a.response.free()
			return
		case actionEnd:
			a.end(accepts)
			return
		case actionClose:
			if a.start() == nil {
				_ = a.out.retry(a.retry)
			}
			return
		case actionLeave:
			return
		}
		select {
		case <-changed:
		case <-x.r.Context().Done():
			if x.isRevoked() && a.out == nil {
				x.writeRefusal(revokedRefusal())
			}
			return
		case <-quiet.C:
			if a.start() != nil || a.out.comment() != nil {
				return
			}
			quiet.Reset(x.o.Heartbeat)
		}
	}
}

// A streamWriter writes a stream to one connection.
type streamWriter struct {
	x        *httpRequest
	st       *stream
	r        *reader
	out      *eventWriter // nil: the response has not been started
	queue    []*event
	response response
	retry    time.Duration
}

// An action is the next step of serveStream.
type action int

const (
	actionWait    action = iota // for a change
	actionWrite                 // the queued events
	actionRespond               // with a JSON response
	actionEnd                   // because the stream is complete
	actionClose                 // the connection; the client is to reconnect
	actionLeave                 // because another connection has resumed the stream
)

// nextAction returns the next action and, for actionWait, a channel that is closed on a change.
func (a *streamWriter) nextAction(accepts acceptedTypes) (action, <-chan struct{}) {
	s, st := a.st.s, a.st
	defer s.all.evictEvents()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case st.reader != a.r:
		return actionLeave, nil
	case st.jsonResponse.text != nil && (accepts.json || st.jsonResponse.refused != nil) &&
		a.out == nil:
		a.response, st.jsonResponse = st.jsonResponse, response{}
		return actionRespond, nil
	case st.jsonResponse.text != nil && !s.closed:
		plain := st.jsonResponse
		st.jsonResponse, st.started = response{}, true
		st.addResponse(plain)
	}
	switch {
	case len(st.queue) > 0:
		a.queue, st.queue, st.started = st.queue, nil, true
		return actionWrite, nil
	case st.complete || s.closed:
		return actionEnd, nil
	case a.r.closeRequested:
		a.retry, st.started = a.r.retry, true
		return actionClose, nil
	}
	return actionWait, st.nextChange()
}

// start writes the header and the priming event, once.
func (a *streamWriter) start() error {
	if a.out != nil {
		return nil
	}
	a.st.s.mu.Lock()
	a.st.started = true
	if a.st.hasPrimingEvent && a.st.next == 1 && !a.st.complete {
		a.st.log().Begin() // the client can resume before there is an event
	}
	a.st.s.mu.Unlock()
	a.out = a.x.startEvents(a.st.s.ctx)
	var begin []byte
	if a.st.hasPrimingEvent && !a.r.isResumed {
		begin = append(append(append(begin, "id: "...), a.st.eventID(0)...), "\ndata: \n\n"...)
	}
	return a.out.write(begin)
}

// write writes the queued events, small ones together.
func (a *streamWriter) write() error {
	queue := a.queue
	a.queue = nil
	err := a.start()
	b := buffer.Get(0)
	defer b.Free()
	for i, e := range queue {
		switch {
		case err != nil: // the rest is only released
		case len(e.text) > buffer.Small:
			err = a.out.message(e.id(), e.text)
		default:
			b.B = appendMessage(b.B, e.id(), e.text)
			if i+1 == len(queue) || len(b.B)+len(queue[i+1].text) > buffer.Small {
				err = a.out.write(b.B)
				b.B = b.B[:0]
			}
		}
	}
	a.releaseEvents(queue, err == nil)
	return err
}

// releaseEvents releases events that were written, or could not be.
func (a *streamWriter) releaseEvents(queue []*event, done bool) {
	s := a.st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	reads := done && a.st.reader == a.r
	for _, e := range queue {
		if reads {
			a.st.unread -= len(e.text)
			a.st.unreadEvents--
		}
		s.releaseEvent(e)
	}
	if reads {
		a.st.notifyChange()
	}
}

func (a *streamWriter) close() {
	if a.out != nil {
		a.out.close()
	}
}

// end answers a request without a response: it was cancelled, or its session is closed.
func (a *streamWriter) end(accepts acceptedTypes) {
	if a.out != nil {
		return
	}
	a.st.s.mu.Lock()
	ended := a.st.s.closed
	a.st.s.mu.Unlock()
	switch {
	case ended && a.x.isRevoked():
		a.x.writeRefusal(revokedRefusal())
	case ended:
		a.x.writeRefusal(a.x.closedRefusal(a.st.s))
	case accepts.stream:
		a.out = a.x.startEvents(a.st.s.ctx) // no event id: there is nothing to resume
		_ = a.out.write(nil)
	default:
		_ = a.x.writeAccepted()
	}
}
