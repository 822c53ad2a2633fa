package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Request is a request or notification of the other side. It, and its Params, must not be used any more when the handler has returned.
type Request struct {
	ID     ID // zero for a notification
	Method string
	Params json.RawMessage // a valid JSON object or array; nil if there was none
	in     *inboundMessage
}

// IsNotification reports that no answer is expected.
func (r *Request) IsNotification() bool { return r.ID.IsZero() }

// Peer returns the peer that received the request, to call back; nil if there is none, as for one made of a [Message].
func (r *Request) Peer() *Peer {
	if r.in == nil {
		return nil
	}
	return r.in.peer
}

// Detach gives the request's place among Limits.MaxRunning back, and the handler goes on: for requests that last, such as a subscription, whose number
// the handler's owner has to bound. Such a request does not hold the peer up when the other side has closed: its context ends at once.
func (r *Request) Detach() {
	p := r.Peer()
	if p == nil {
		return
	}
	p.update(func(s *state) {
		r.in.detached = true
		if s.remoteClosed && r.in.cancel != nil {
			r.in.cancel(&closedError{io.EOF})
		}
		if r.in.holdsSlot {
			r.in.holdsSlot = false
			s.running--
		}
		p.startLane(s)
	})
}

// inboundMessage is a request or notification of the other side, from when it was accepted until it is finished.
type inboundMessage struct {
	Request
	peer   *Peer
	frame  *buffer // owns Params
	ctx    context.Context
	cancel context.CancelCauseFunc // nil for a notification
	batch  *batch                  // that it came in, or nil
	start  time.Time

	// Of the peer's state.
	ordered   bool // runs to its end in the lane
	holdsSlot bool // holds one of the MaxRunning places
	detached  bool // gave it back, and lasts
	cancelled bool // by the other side
}

// read reads until the stream ends, and returns why.
func (p *Peer) read() error {
	methods := make(map[string]string)
	var next []byte
	for {
		var err error
		next, err = p.codec.ReadFrame(next)
		if p.readerLeft.Load() {
			return ErrClosed
		}
		if err != nil {
			if broken, ok := errors.AsType[*framing.FrameError](err); ok {
				p.refuse(nil, ID{}, nil, Errorf(CodeInvalidRequest, "%v", broken))
				continue
			}
			return err
		}
		// A copy, because the memory grows with what arrives, by doubling: that is paid once, and the message is kept in no more than it takes.
		frame := newBuffer()
		frame.b = append(frame.b, next...)
		if cap(next) > maxKeptBuffer {
			next = nil
		}
		if hook := p.o.Hooks.Frame; hook != nil {
			hook(Inbound, frame.b)
		}
		if i := jsonscan.Space(frame.b, 0); i < len(frame.b) && frame.b[i] == '[' {
			p.receiveBatch(frame, methods)
			continue
		}
		p.receive(frame, methods, nil)
	}
}

// receive sorts one message. It owns frame. Methods is the reader's own table of the method names seen, so that each is allocated once.
func (p *Peer) receive(frame *buffer, methods map[string]string, b *batch) {
	e, f := scanEnvelope(frame.b)
	if !e.hasMethod && (f == nil || f.code != CodeParseError) && isObject(frame.b) {
		p.complete(frame, e, f)
		return
	}
	if f == nil && e.id.IsNull() {
		if p.o.NullIDNotifies {
			e.id = ID{}
		} else {
			f = &fault{CodeInvalidRequest, "the id of a request must not be null"}
		}
	}
	if b != nil && (f != nil || !e.id.IsZero()) {
		b.expectResponse()
	}
	if f != nil {
		p.refuse(frame, e.id, b, Errorf(f.code, "%s", f.reason))
		return
	}
	method, known := methods[string(e.method)]
	if !known {
		method = string(e.method)
		if len(methods) < 64 && len(method) < 64 {
			methods[method] = method
		}
	}
	in := &inboundMessage{peer: p, frame: frame, batch: b}
	in.Request = Request{ID: e.id, Method: method, Params: e.params, in: in}
	if e.id.IsZero() && p.preempt(in) {
		frame.free()
		return
	}
	p.accept(in)
}

func isObject(frame []byte) bool {
	i := jsonscan.Space(frame, 0)
	return i < len(frame) && frame[i] == '{'
}

// preempt handles a notification on the reader, if it is one for that.
func (p *Peer) preempt(in *inboundMessage) (consumed bool) {
	failure := contain.Call(func() {
		if d := p.o.Cancellation; d != nil && in.Method == d.Method {
			consumed = true
			if id, reason, ok := d.Target(in.Params); ok {
				p.cancelRequest(id, reason)
			}
			return
		}
		consumed = p.o.Preempt != nil && p.o.Preempt(&in.Request)
	})
	if failure != nil {
		p.reportPanic(in.Method, failure)
		return true
	}
	return consumed
}

// isOrdered reports whether a request runs to its end before what is sent behind it starts.
func (p *Peer) isOrdered(method string) (ordered bool) {
	if p.o.Ordered == nil {
		return false
	}
	if failure := contain.Call(func() { ordered = p.o.Ordered(method) }); failure != nil {
		p.reportPanic(method, failure)
	}
	return ordered
}

func (p *Peer) cancelRequest(id ID, reason string) {
	var in *inboundMessage
	p.update(func(s *state) {
		if in = s.inflight[id]; in != nil {
			in.cancelled = true
		}
	})
	switch {
	case in == nil: // it was answered meanwhile, or never was
	case reason == "":
		in.cancel(ErrCancelled)
	default:
		in.cancel(fmt.Errorf("%w: %s", ErrCancelled, reason))
	}
}

// CancelInbound cancels the requests of the other side that are not answered yet, as if it had cancelled each by [Options].Cancellation; without that, nothing happens. It is
// for a transport that learns that the other side has forgotten them.
func (p *Peer) CancelInbound(reason string) {
	if p.o.Cancellation == nil {
		return
	}
	var ids []ID
	p.update(func(s *state) { ids = slices.Collect(maps.Keys(s.inflight)) })
	for _, id := range ids {
		p.cancelRequest(id, reason)
	}
}

// accept starts or queues a message, or refuses it.
func (p *Peer) accept(in *inboundMessage) {
	request, size := !in.IsNotification(), len(in.frame.b)
	in.ordered = !request || p.isOrdered(in.Method)
	if request {
		in.ctx, in.cancel = context.WithCancelCause(p.ctx)
	} else {
		in.ctx = p.ctx
	}
	in.start = p.o.Hooks.now()
	var refusal *Error
	var crowded, start bool
	id := in.ID
	p.update(func(s *state) {
		load := s.load(in)
		full := load.full(size, &p.o.Limits)
		switch {
		case request && s.refusing:
			refusal = Errorf(CodeBusy, "shutting down; send %.100s elsewhere", in.Method)
			return
		case request && s.inflight[in.ID] != nil:
			// Under its own id, the answer would be taken for the first one's.
			refusal, id = Errorf(CodeInvalidRequest, "a request with the id %.100s is in flight already", in.ID), ID{}
			return
		case request && full:
			refusal = Errorf(CodeBusy, "too many requests wait already; send %.100s again later", in.Method)
			return
		case full:
			crowded = true
			return
		}
		s.active++
		load.bytes += size
		if request {
			s.inflight[in.ID] = in
		}
		if start = !s.laneRuns && s.queue.len() == 0 && p.canStart(s, in); start {
			p.reserve(s, in)
			return
		}
		s.queue.push(in)
		load.waiting++
		p.startLane(s)
	})
	switch {
	case refusal != nil:
		in.cancel(nil)
		p.refuse(in.frame, id, in.batch, refusal)
	case crowded && p.awaitRoom(size):
		p.accept(in)
	case crowded:
		in.frame.free()
	case start:
		p.spawn(in)
	}
}

// errExited stands in for what a callback returns that called runtime.Goexit, as one that fails a
// test does.
var errExited = errors.New("rpc: a callback ended its goroutine")

// handle runs the handler and sends its answer.
func (p *Peer) handle(in *inboundMessage) {
	if hook := p.o.Hooks.Call; hook != nil {
		hook(CallEvent{ID: in.ID, Method: in.Method})
	}
	var result *buffer
	err := errExited
	defer func() { p.finish(in, result, err) }()
	result, err = p.invoke(in)
}

// finish sends the answer and takes a message out of the books.
func (p *Peer) finish(in *inboundMessage, result *buffer, err error) {
	if hook := p.o.Hooks.Call; hook != nil {
		hook(CallEvent{ID: in.ID, Method: in.Method, End: true, Duration: time.Since(in.start), Err: err})
	}
	due := false
	if !in.IsNotification() {
		due = p.reply(in, result, err)
		in.cancel(nil)
	}
	result.free()
	p.update(func(s *state) {
		s.active--
		p.release(s, in)
		if in.holdsSlot {
			in.holdsSlot = false
			s.running--
		}
		p.startLane(s)
	})
	in.frame.free()
	if due {
		if in.ordered {
			go p.out.write() // the lane must not wait for the other side
		} else {
			p.out.write()
		}
	}
}

// invoke calls the handler and encodes its result; neither may take the process down.
func (p *Peer) invoke(in *inboundMessage) (encoded *buffer, err error) {
	if failure := contain.Call(func() { encoded, err = p.callHandler(in) }); failure != nil {
		p.reportPanic(in.Method, failure)
		return nil, fmt.Errorf("rpc: the handler of %s: %v", in.Method, failure) // the value is no answer
	}
	return encoded, err
}

func (p *Peer) reportPanic(method string, failure *contain.PanicError) {
	if hook := p.o.Hooks.Panic; hook != nil {
		hook(method, failure.Value, failure.Stack)
	}
}

func (p *Peer) callHandler(in *inboundMessage) (*buffer, error) {
	if p.o.Handler == nil {
		return nil, Errorf(CodeMethodNotFound, "there is no method %.100q", in.Method)
	}
	// Cancelled or closed while it was queued; but a notification that came before the other side's end of the stream has come.
	if in.ctx.Err() != nil && !(in.IsNotification() && p.Err() == io.EOF) {
		return nil, context.Cause(in.ctx)
	}
	result, err := p.o.Handler(in.ctx, &in.Request)
	if err != nil || in.IsNotification() {
		return nil, err
	}
	b := newBuffer()
	if b.b, err = appendValue(b.b, result); err != nil {
		b.free()
		return nil, fmt.Errorf("rpc: %s: encoding the result: %w", in.Method, err)
	}
	return b, nil
}

// reply queues the answer to a request; if due is true its frame has to be written. It waits while the other side does not read.
func (p *Peer) reply(in *inboundMessage, result *buffer, err error) (due bool) {
	var cancelled bool
	p.update(func(s *state) {
		// First this, so that the other side may use the id again as soon as it has the answer.
		delete(s.inflight, in.ID)
		cancelled = in.cancelled
	})
	var failure *Error
	switch {
	case cancelled && p.o.Cancellation.Reply == nil:
		if in.batch != nil {
			p.batchReply(p.ctx, in.batch, in.ID, nil)
		}
		return false
	case err != nil && cancelled:
		failure = p.o.Cancellation.Reply
	case err != nil:
		failure = wireError(err)
	}
	head := newBuffer()
	defer head.free()
	var payload, tail []byte
	if failure == nil {
		head.b, payload, tail = appendResultHead(head.b, in.ID), result.bytes(), closeBrace
	} else {
		head.b = appendError(head.b, in.ID, failure)
	}
	if in.batch != nil {
		head.b = append(append(head.b, payload...), tail...)
		p.batchReply(p.ctx, in.batch, in.ID, head.b)
		return false
	}
	due, err = p.sendResponse(head.b, payload, tail)
	if err == errTooManyResponses {
		size := len(payload)
		if payload = nil; result != nil {
			result.b = nil // its memory is what there is too much of
		}
		head.b = appendError(head.b[:0], in.ID, Errorf(CodeBusy,
			"the request was served, but its answer of %d bytes cannot wait: too many others do already. Read them, and ask again", size))
		_ = p.post(p.ctx, head.b, nil, nil) // it fails when the connection has ended
		return false
	}
	if broken, ok := errors.AsType[*framing.FrameError](err); ok {
		head.b = appendError(head.b[:0], in.ID, Errorf(CodeInternalError, "the answer cannot be sent: %v", broken))
		due, _ = p.sendResponse(head.b, nil, nil)
	}
	return due
}

// sendResponse queues an answer, waiting for room until the connection ends.
func (p *Peer) sendResponse(head, payload, tail []byte) (due bool, err error) {
	due, err = p.out.putResponse(p.ctx, head, payload, tail)
	if hook := p.o.Hooks.Frame; hook != nil && err == nil {
		hook(Outbound, slices.Concat(head, payload, tail))
	}
	return due, err
}

// wireError is what of a handler's error the other side may know.
func wireError(err error) *Error {
	e, ok := err.(*Error)
	if !ok && contain.Run(func() { e, ok = errors.AsType[*Error](err) }) != nil { // it has methods of the application's
		ok = false
	}
	if ok && e != nil {
		if len(e.Data) > 0 {
			data, err := appendValue(nil, e.Data)
			if err != nil {
				data = nil // no JSON
			}
			return &Error{e.Code, e.Message, data}
		}
		return e
	}
	return ErrInternal.(*Error)
}

// refuse answers a message that gets no handler, without waiting. It owns frame, which is nil if the message could not even be read.
func (p *Peer) refuse(frame *buffer, id ID, b *batch, e *Error) {
	defer frame.free()
	if e.Code != CodeBusy {
		p.reportStray(frame.bytes(), e.Message)
		if p.o.IgnoreMalformed && (id.IsZero() || id.IsNull()) {
			if b != nil {
				p.batchReply(nil, b, id, nil)
			}
			return
		}
	}
	answer := newBuffer()
	defer answer.free()
	answer.b = appendError(answer.b, id, e)
	if b != nil {
		p.batchReply(nil, b, id, answer.b)
		return
	}
	_ = p.post(nil, answer.b, nil, nil)
}

func (p *Peer) reportStray(frame []byte, reason string) {
	if hook := p.o.Hooks.Stray; hook != nil {
		hook(frame, reason)
	}
}
