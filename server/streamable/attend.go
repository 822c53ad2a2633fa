package streamable

import (
	"net/http"
	"time"
)

// attend writes a stream to the client of an exchange, until it ends, another connection takes it over, the client goes or does not read, or it is to
// come back later. begin, if there is one, is what a stream of its own begins with. A response before which nothing was said is written as JSON.
func (x *exchange) attend(st *stream, r *reader, accepts accepted, begin []byte) {
	defer st.leave(r)
	a := attendance{x: x, st: st, r: r}
	defer a.close()
	if st.own || r.resumes { // a GET, whose client waits for the stream, and not for what is on it
		if a.open() != nil || begin != nil && a.out.write(begin) != nil {
			return
		}
	}
	quiet := time.NewTimer(x.o.Heartbeat)
	defer quiet.Stop()
	if !accepts.stream {
		quiet.Stop()
	}
	for {
		now, changed := a.look(accepts)
		switch now {
		case write:
			if a.write() != nil {
				return
			}
			quiet.Reset(x.o.Heartbeat)
			continue
		case respond:
			if a.plain.refused != nil {
				x.refuse(a.plain.refused)
			} else {
				x.send(http.StatusOK, a.plain.text)
			}
			a.plain.account.Close()
			return
		case end:
			a.end(accepts)
			return
		case pause:
			if a.open() == nil {
				_ = a.out.retry(a.wait)
			}
			return
		case nothing:
			return
		}
		select {
		case <-changed:
		case <-x.r.Context().Done():
			return
		case <-quiet.C:
			if a.open() != nil || a.out.comment() != nil {
				return
			}
			quiet.Reset(x.o.Heartbeat)
		}
	}
}

// An attendance is the writing of a stream to one connection.
type attendance struct {
	x     *exchange
	st    *stream
	r     *reader
	out   *events // nil: nothing was written yet
	queue []*event
	plain response
	wait  time.Duration
}

// What there is to be done.
type task int

const (
	await   task = iota // for a change
	write               // the queue
	respond             // with the plain response
	end                 // the stream is over
	pause               // the client is to come back
	nothing             // somebody else does it
)

// look returns what is to be done next, and what tells of a change if nothing is.
func (a *attendance) look(accepts accepted) (task, chan struct{}) {
	s, st := a.st.s, a.st
	defer s.h.trim()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case st.reader != a.r:
		return nothing, nil
	case st.plain.text != nil && (accepts.json || st.plain.refused != nil) && a.out == nil:
		a.plain, st.plain = st.plain, response{}
		return respond, nil
	case st.plain.text != nil && !s.ended:
		plain := st.plain
		st.plain, st.begun = response{}, true
		st.add(plain.text, plain.account)
	}
	switch {
	case len(st.queue) > 0:
		a.queue, st.queue, st.begun = st.queue, nil, true
		return write, nil
	case st.over || s.ended:
		return end, nil
	case a.r.close:
		a.wait, st.begun = a.r.retry, true
		return pause, nil
	}
	return await, st.changed
}

// open begins the stream on this connection, if that has not been done.
func (a *attendance) open() error {
	if a.out != nil {
		return nil
	}
	a.st.s.mu.Lock()
	a.st.begun = true
	a.st.s.mu.Unlock()
	a.out = a.x.stream(a.st.s.ctx)
	var begin []byte
	if a.st.primes && !a.r.resumes {
		begin = append(append(append(begin, "id: "...), a.st.eventID(0)...), "\ndata: \n\n"...)
	}
	return a.out.write(begin)
}

// write writes the queue, small events together.
func (a *attendance) write() error {
	queue := a.queue
	a.queue = nil
	err := a.open()
	b := bodies.Get().(*body)
	defer b.free()
	for i, e := range queue {
		switch {
		case err != nil: // what is left is only let go of
		case len(e.text) > keptBody:
			err = a.out.message(e.id(), e.text)
		default:
			b.text = appendMessage(b.text, e.id(), e.text)
			if i+1 == len(queue) || len(b.text)+len(queue[i+1].text) > keptBody {
				err = a.out.write(b.text)
				b.text = b.text[:0]
			}
		}
	}
	a.wrote(queue, err == nil)
	return err
}

// wrote lets go of events, which have been written if done is true.
func (a *attendance) wrote(queue []*event, done bool) {
	s := a.st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	reads := done && a.st.reader == a.r
	for _, e := range queue {
		if reads {
			a.st.unread -= len(e.text)
			a.st.events--
		}
		s.drop(e)
	}
	if reads {
		a.st.changes()
	}
}

func (a *attendance) close() {
	if a.out != nil {
		a.out.close()
	}
}

// end answers a request that gets no response: it was cancelled, or its session has ended.
func (a *attendance) end(accepts accepted) {
	if a.out != nil {
		return
	}
	a.st.s.mu.Lock()
	ended := a.st.s.ended
	a.st.s.mu.Unlock()
	switch {
	case ended:
		a.x.refuse(sessionGone())
	case accepts.stream:
		a.out = a.x.stream(a.st.s.ctx) // without an id: there is nothing to come back for
		_ = a.out.write(nil)
	default:
		_ = a.x.accepted()
	}
}
