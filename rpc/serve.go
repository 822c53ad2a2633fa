package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/turn"
)

// A Request is a request or notification of the other side. It and its Params must not be used
// after the handler has returned.
type Request struct {
	ID     ID // zero for a notification
	Method string
	Params json.RawMessage // a valid JSON object or array; nil if absent
	in     *inboundMessage
}

// IsNotification reports whether no response is expected.
func (r *Request) IsNotification() bool { return r.ID.IsZero() }

// Peer returns the peer that received the request, so that the handler can call back. It returns
// nil for a request made from a [Message].
func (r *Request) Peer() *Peer {
	if r.in == nil {
		return nil
	}
	return r.in.peer
}

// Detach releases the request's slot of Limits.MaxRunning while its handler continues. It is for
// long-lived requests, such as subscriptions, whose number the application must bound. When the
// other side closes the stream, the context of a detached request ends at once, so that it does not
// delay the peer for [Options].Drain.
func (r *Request) Detach() {
	p := r.Peer()
	if p == nil {
		return
	}
	p.update(func(s *state) {
		r.in.detached = true
		if s.remoteEnd != nil {
			r.in.request.cancel(&closedError{s.remoteEnd})
		}
		if r.in.holdsSlot {
			r.in.holdsSlot = false
			s.running--
		}
		p.startLane(s)
	})
}

// inboundMessage is a request or notification of the other side, from when it is accepted until it
// is finished.
type inboundMessage struct {
	Request
	peer    *Peer
	frame   *buffer.Buffer // owns Params
	ctx     context.Context
	request requestContext // the ctx of a request; a notification has that of the peer
	batch   *batch         // the batch it belongs to, or nil
	start   time.Time

	// Guarded like the state of the peer.
	ordered   bool // runs to its end in the lane
	holdsSlot bool // holds one of the MaxRunning slots
	detached  bool // Detach was called
	cancelled bool // the other side has cancelled it
}

// isOrdered reports whether a request runs to its end before a later message starts.
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
	case in == nil: // its response was sent meanwhile, or there was no such request
	case reason == "":
		in.request.cancel(ErrCancelled)
	default:
		in.request.cancel(fmt.Errorf("%w: %s", ErrCancelled, reason))
	}
}

// CancelInbound cancels the requests of the other side that have no response yet, as if it had
// cancelled each by [Options].Cancellation. Without that, it has no effect. It is for a transport
// that learns that the other side has forgotten its requests.
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

// accept starts, queues or refuses a message.
func (p *Peer) accept(in *inboundMessage) {
	request, size := !in.IsNotification(), len(in.frame.B)
	in.ordered = !request || p.isOrdered(in.Method)
	if request {
		in.request.parent = p.ctx
		in.ctx = &in.request
	} else {
		in.ctx = p.ctx
	}
	in.start = p.o.Hooks.now()
	var refusal *Error
	noRoom := false
	id := in.ID
	p.update(func(s *state) {
		load := s.load(in)
		full := load.full(size, &p.o.Limits)
		switch {
		case request && s.refusing:
			refusal = Errorf(CodeBusy, "shutting down; send %.100s elsewhere", in.Method)
			return
		case request && s.inflight[in.ID] != nil:
			// With its own id, the refusal would be taken for the first request's response.
			refusal, id = Errorf(CodeInvalidRequest,
				"a request with the id %.100s is in flight already", in.ID), ID{}
			return
		case request && full:
			refusal = Errorf(CodeBusy, "too many requests wait already; send %.100s again later",
				in.Method)
			return
		case full:
			noRoom = true
			return
		}
		s.active++
		load.bytes += size
		if request {
			s.inflight[in.ID] = in
		}
		if !s.laneRuns && s.queue.len() == 0 && p.canStart(s, in) {
			p.reserve(s, in)
			p.spawn(s, in)
			return
		}
		s.queue.push(in)
		load.waiting++
		p.startLane(s)
	})
	switch {
	case refusal != nil:
		in.request.cancel(nil)
		p.refuse(in.frame, id, in.batch, refusal)
	case noRoom && p.awaitRoom(size):
		p.accept(in)
	case noRoom:
		in.frame.Free()
	}
}

// errExited replaces the error of a callback that calls runtime.Goexit, as t.FailNow does.
var errExited = errors.New("rpc: a callback ended its goroutine")

// handle calls the handler of a message and sends the response.
func (p *Peer) handle(in *inboundMessage) {
	if hook := p.o.Hooks.Call; hook != nil {
		hook(CallEvent{Direction: Inbound, ID: in.ID, Method: in.Method})
	}
	var response *buffer.Buffer
	err := errExited
	defer func() { p.finish(in, response, err) }()
	response, err = p.invoke(in)
}

// finish sends the response and releases the memory and the slot of the message.
func (p *Peer) finish(in *inboundMessage, response *buffer.Buffer, err error) {
	if hook := p.o.Hooks.Call; hook != nil {
		hook(CallEvent{Direction: Inbound, ID: in.ID, Method: in.Method, End: true,
			Duration: time.Since(in.start), Err: err})
	}
	due := false
	if !in.IsNotification() {
		due = p.reply(in, response, err)
		in.request.cancel(nil)
	}
	response.Free()
	p.update(func(s *state) {
		s.active--
		p.release(s, in)
		if in.holdsSlot {
			in.holdsSlot = false
			s.running--
		}
		p.startLane(s)
		if due && (in.ordered || s.ready.len() > 0) {
			due, s.writeDue = false, true
			if in.ordered {
				p.wake(s) // the lane must not wait for the other side
			}
		}
	})
	in.frame.Free()
	if due {
		p.out.write()
	}
}

// invoke calls the handler and encodes its response. It recovers from panics.
func (p *Peer) invoke(in *inboundMessage) (response *buffer.Buffer, err error) {
	if failure := contain.Call(func() { response, err = p.callHandler(in) }); failure != nil {
		p.reportPanic(in.Method, failure)
		// %v, not %w: a value that is an *Error must not become the response
		return nil, fmt.Errorf("rpc: the handler of %s: %v", in.Method, failure)
	}
	return response, err
}

func (p *Peer) reportPanic(method string, failure *contain.PanicError) {
	p.o.Hooks.Panic(method, failure.Value, failure.Stack)
}

func (p *Peer) callHandler(in *inboundMessage) (*buffer.Buffer, error) {
	if p.o.Handler == nil {
		return nil, methodNotFound(in.Method)
	}
	// The request was cancelled or the connection closed while it was queued. Notifications that
	// were sent before the end of the stream are still handled.
	if in.ctx.Err() != nil && !(in.IsNotification() && p.Err() == io.EOF) {
		return nil, context.Cause(in.ctx)
	}
	result, err := p.o.Handler(in.ctx, &in.Request)
	if err != nil || in.IsNotification() {
		return nil, err
	}
	var response *buffer.Buffer
	turn.Do(in.ctx, max(jsonSize(result), len(in.frame.B)), func() {
		response = messageBuffer(result)
		response.B, err = appendResult(response.B, in.ID, in.Method, result)
	})
	if err != nil {
		response.Free()
		return nil, err
	}
	return response, nil
}

// reply queues the response to a request, which is an error response if err is not nil. It waits
// while the other side does not read. If due is true, the caller must write the outbox. The caller
// must free the response.
func (p *Peer) reply(in *inboundMessage, response *buffer.Buffer, err error) (due bool) {
	var cancelled bool
	p.update(func(s *state) {
		// Before the response is sent: then the other side may use the id again.
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
		failure = wireError(&in.request, err)
	}
	if failure != nil {
		response = buffer.Get(0)
		defer response.Free()
		response.B = appendError(response.B, in.ID, failure)
	}
	if in.batch != nil {
		p.batchReply(p.ctx, in.batch, in.ID, response.B)
		return false
	}
	due, err = p.sendResponse(response)
	if err == errTooManyResponses {
		size := len(response.B) - len(appendResultHead(nil, in.ID)) - len("}")
		response.B = nil // free its memory
		instead := &buffer.Buffer{B: appendError(nil, in.ID, Errorf(CodeBusy,
			"the request was served, but too many bytes of responses are unread, so its response of %d bytes is dropped; read them, then repeat the request",
			size))}
		_ = p.post(p.ctx, instead) // fails only if the connection has ended
		return false
	}
	if broken, ok := errors.AsType[*framing.FrameError](err); ok {
		response.B = appendError(response.B[:0], in.ID,
			Errorf(CodeInternalError, "the answer cannot be sent: %v", broken))
		due, _ = p.sendResponse(response)
	}
	return due
}

// sendResponse queues a response. It waits for room until the connection ends.
func (p *Peer) sendResponse(response *buffer.Buffer) (due bool, err error) {
	var sent []byte
	if p.o.Hooks.CallsFrame() {
		sent = bytes.Clone(response.B)
	}
	due, err = p.out.putResponse(p.ctx, response)
	if err == nil && sent != nil {
		p.o.Hooks.Frame(p.ctx, Outbound, sent)
	}
	return due, err
}

// wireError returns the error object that the other side gets for an error of a handler with ctx.
func wireError(ctx context.Context, err error) *Error {
	e := errorFor(err)
	if e.Code == CodeInternalError && errors.Is(context.Cause(ctx), ErrShutdown) {
		return errShutdown
	}
	return e
}

var errShutdown = Errorf(CodeBusy, "shutting down: the request was not finished")

// errorFor returns the error that err is or wraps, or ErrInternal.
func errorFor(err error) *Error {
	e, ok := err.(*Error)
	if !ok {
		// Contained, because err may have methods of the application.
		if contain.Run(func() { e, ok = errors.AsType[*Error](err) }) != nil {
			ok = false
		}
	}
	switch {
	case !ok:
		return ErrInternal.(*Error)
	case e == nil:
		return Errorf(CodeInternalError, "%v", e)
	case len(e.Data) > 0:
		data, err := appendValue(nil, e.Data)
		if err != nil {
			data = nil // not JSON
		}
		return &Error{e.Code, e.Message, data}
	}
	return e
}

// refuse responds to a message that gets no handler, without waiting. It owns frame, which is nil
// if the message could not be read.
func (p *Peer) refuse(frame *buffer.Buffer, id ID, b *batch, e *Error) {
	defer frame.Free()
	if e.Code != CodeBusy {
		p.reportStray(frame.Bytes(), e.Message)
		if p.o.IgnoreMalformed && (id.IsZero() || id.IsNull()) {
			if b != nil {
				p.batchReply(nil, b, id, nil)
			}
			return
		}
	}
	response := buffer.Get(0)
	defer response.Free()
	response.B = appendError(response.B, id, e)
	if b != nil {
		p.batchReply(nil, b, id, response.B)
		return
	}
	_ = p.post(nil, response)
}

func (p *Peer) reportStray(frame []byte, reason string) {
	if hook := p.o.Hooks.Stray; hook != nil {
		hook(frame, reason)
	}
}
