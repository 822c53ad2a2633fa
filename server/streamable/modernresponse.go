package streamable

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server"
)

// modernResponses are the responses of a handler to modern requests that are being answered.
type modernResponses struct {
	heartbeat time.Duration   // how long one may be silent
	running   *sync.WaitGroup // of the handler

	mu        sync.Mutex
	inflight  map[*modernResponse]struct{}
	finished  bool // subscriptions end at once
	closed    bool // all requests do
	timer     *time.Timer
	timerRuns bool
}

// add adds a response for finish, cancel and close to end. It reports false if the handler is
// closed.
func (s *modernResponses) add(r *modernResponse) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inflight[r] = struct{}{}
	if r.accepts.stream {
		s.scheduleHeartbeat(r)
	}
	if s.finished {
		r.conn.Finish()
	}
	return !s.closed
}

// end ends the request of a response that has been written.
func (s *modernResponses) end(r *modernResponse) {
	s.mu.Lock()
	delete(s.inflight, r)
	s.mu.Unlock()
	r.ctx.release()
}

// finish ends subscriptions with their result.
func (s *modernResponses) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished = true
	for r := range s.inflight {
		r.conn.Finish()
	}
}

// cancel cancels all requests.
func (s *modernResponses) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.inflight {
		r.ctx.cancel(ErrClosed)
	}
}

// close ends all requests, and those to come.
func (s *modernResponses) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished, s.closed = true, true
	if s.timer != nil {
		s.timer.Stop()
	}
	for r := range s.inflight {
		r.conn.Finish() // sends the result of subscriptions
		r.ctx.cancel(ErrClosed)
	}
}

// scheduleHeartbeat makes a response send comments while it is silent. One timer serves all
// responses, because most finish before their first comment is due. s.mu must be held.
func (s *modernResponses) scheduleHeartbeat(r *modernResponse) {
	r.lastWrite.Store(time.Now().UnixNano())
	if s.timerRuns {
		return // it fires no later than this response needs
	}
	s.timerRuns = true
	if s.timer == nil {
		s.timer = time.AfterFunc(s.heartbeat, s.sendHeartbeats)
	} else {
		s.timer.Reset(s.heartbeat)
	}
}

// sendHeartbeats sends a comment on each response that is silent for long enough, and resets the
// timer.
func (s *modernResponses) sendHeartbeats() {
	now := time.Now().UnixNano()
	next := time.Duration(-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.inflight {
		if !r.accepts.stream {
			continue
		}
		left := s.heartbeat - time.Duration(now-r.lastWrite.Load())
		if left <= 0 {
			left = s.heartbeat
			r.lastWrite.Store(now)
			s.running.Go(r.sendHeartbeat) // a client that does not read must not delay others
		}
		if next < 0 || left < next {
			next = left
		}
	}
	if s.timerRuns = next >= 0 && !s.closed; s.timerRuns {
		s.timer.Reset(next)
	}
}

// A modernResponse is the response to one modern request and the [server.Link] for messages before
// it. Whoever sends writes directly: a JSON response if nothing precedes it, and otherwise an event
// stream. A client that does not read delays its own request until a write times out, which cancels
// the request like a disconnect.
type modernResponse struct {
	x         *exchange
	conn      *server.Conn
	ctx       requestContext
	accepts   acceptedTypes
	lastWrite atomic.Int64 // Unix time in nanoseconds of the last write, or of the start

	mu       sync.Mutex
	events   *eventWriter // nil: no stream has been started
	finished bool
}

var errModernCall = errors.New(
	"streamable: the server cannot send requests to a client of the modern era, or without a session")

// Call implements [server.Link].
func (r *modernResponse) Call(context.Context, string, any, any) error { return errModernCall }

// A noLink is the link of a notification, whose client reads no response.
type noLink struct{}

func (noLink) Notify(context.Context, string, any) error    { return errNoStream }
func (noLink) Call(context.Context, string, any, any) error { return errNoStream }

// Notify implements [server.Link]. It drops messages to a client that does not accept event
// streams.
func (r *modernResponse) Notify(_ context.Context, method string, params any) error {
	b := buffer.Get(0)
	defer b.Free()
	var err error
	if b.B, err = rpc.AppendRequest(b.B, rpc.ID{}, method, params); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		return errAnswered
	}
	if !r.accepts.stream {
		return nil
	}
	return r.writeEvent(b.B)
}

// send reserves the memory of the response, which it moves to out, and writes the response.
// refused, if not nil, replaces a response before which nothing was sent.
func (r *modernResponse) send(out *buffer.Buffer, id rpc.ID, response []byte, status int,
	refused *refusal) {
	if r.x.isRevoked() {
		refused = revokedRefusal().forID(id)
		response = rpc.AppendError(nil, id, refused.err)
	}
	response, noMemory := r.ctx.memory.holdResponse(id, response, 0)
	refused = cmp.Or(refused, noMemory)
	r.finish(setText(out, response).B, status, refused)
}

// writeEvent writes a message, or a comment if message is nil. r.mu must be held.
func (r *modernResponse) writeEvent(message []byte) (err error) {
	if r.events == nil {
		r.events = r.x.startEvents(&r.ctx)
	}
	if message == nil {
		err = r.events.comment()
	} else {
		err = r.writeMessage(message)
	}
	if err == nil {
		r.lastWrite.Store(time.Now().UnixNano())
		return nil
	}
	r.ctx.cancel(errDisconnected)
	return errDisconnected
}

// sendHeartbeat writes a comment, and starts the event stream if necessary.
func (r *modernResponse) sendHeartbeat() {
	if !r.mu.TryLock() {
		return // a write is in progress, which counts as a heartbeat
	}
	defer r.mu.Unlock()
	if !r.finished && r.ctx.Err() == nil {
		_ = r.writeEvent(nil)
	}
}

// finish writes the response, or its refusal, unless the client has disconnected.
func (r *modernResponse) finish(response []byte, status int, refused *refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished = true
	gone := r.x.r.Context().Err() != nil && !r.x.isRevoked()
	if !gone && r.events == nil {
		if refused != nil {
			r.x.writeRefusal(refused)
			return
		}
		if r.accepts.json || status != http.StatusOK {
			r.x.writeJSON(status, response)
			return
		}
		r.events = r.x.startEvents(&r.ctx)
	}
	if r.events == nil {
		return
	}
	if !gone {
		_ = r.writeMessage(response)
	}
	r.events.close()
}

// writeMessage writes a message as an event. r.mu must be held.
func (r *modernResponse) writeMessage(text []byte) error {
	r.x.observeResponse(text)
	return r.events.message("", text)
}
