package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/jsonexact"
)

// A Call is a call of this side that [Peer.Start] has sent.
type Call struct {
	p      *Peer
	id     int64
	method string
	start  time.Time
	done   chan struct{} // closed when the fields below are set; gets a value if reused
	reused bool          // belongs to Peer.Call, and is used for another call after Wait
	batch  *sentBatch    // the batch it was sent in, or nil

	frame  *buffer.Buffer // owns result
	result []byte
	err    error
}

// Call calls a method of the other side and decodes its result into result, which may be nil. A key
// must be exactly the name of its field or of its json tag: "name" does not fill an untagged field
// Name. A [json.Unmarshaler], such as a *[json.RawMessage], gets the bytes of the result. Params
// must encode as an object or an array; nil sends none.
//
// Call blocks until the response arrives or ctx ends, even if the other side does not read. It
// returns an [*Error] if the response is an error, an error that matches [ErrClosed] if the
// connection ended, one that matches [framing.ErrTooLarge] if the request or the response is over a
// limit of this side, and one that matches that of ctx if ctx ended first. In the last case the
// other side is notified if there is a [Cancellation], and a late response is dropped. A peer that
// cannot tell to which call a message over its limit belongs, as its beginning has no id, answers
// without an id, or not at all: then only ctx ends the call.
func (p *Peer) Call(ctx context.Context, method string, params, result any) error {
	if p == nil {
		return errNoPeer
	}
	c, ok := p.calls.Get().(*Call)
	if !ok {
		c = &Call{done: make(chan struct{}, 1), reused: true}
	}
	if err := p.start(ctx, c, method, params); err != nil {
		return err
	}
	err := c.Wait(ctx, result)
	*c = Call{done: c.done, reused: true}
	p.calls.Put(c)
	return err
}

// Start sends a call and returns without waiting for the response. While more than Limits.MaxUnsent
// bytes are queued, it blocks until ctx ends. Every Call must be waited for or cancelled.
func (p *Peer) Start(ctx context.Context, method string, params any) (*Call, error) {
	if p == nil {
		return nil, errNoPeer
	}
	c := &Call{done: make(chan struct{})}
	if err := p.start(ctx, c, method, params); err != nil {
		return nil, err
	}
	return c, nil
}

// start does the work of Start. Of c, only done is set.
func (p *Peer) start(ctx context.Context, c *Call, method string, params any) error {
	c.id = p.lastID.Add(1)
	pending := false
	defer func() { // deferred, because a method of params may panic
		if !pending { // the next call may have the id
			p.lastID.CompareAndSwap(c.id, c.id-1)
		}
	}()
	message, err := encodeRequest(c.ID(), method, params)
	if err != nil {
		return err
	}
	defer message.Free()
	c.p, c.method, c.start = p, method, p.o.Hooks.now()
	if err := p.addPending(c); err != nil {
		return err
	}
	pending = true
	if err := p.post(ctx, message); err != nil {
		return c.failSend(err)
	}
	return nil
}

// addPending registers a call for the response.
func (p *Peer) addPending(c *Call) (err error) {
	p.update(func(s *state) {
		switch {
		case s.closed:
			err = &closedError{s.err}
		case s.remoteEnd != nil:
			err = &closedError{s.remoteEnd}
		case len(s.pending) >= p.o.Limits.MaxPending:
			err = fmt.Errorf("%d calls wait for an answer already: %w", len(s.pending), ErrBusy)
		default:
			s.pending[c.id] = c
		}
	})
	if err != nil {
		return fmt.Errorf("rpc: %s: %w", c.method, err)
	}
	if hook := p.o.Hooks.Call; hook != nil {
		hook(CallEvent{Direction: Outbound, ID: c.ID(), Method: c.method})
	}
	return nil
}

// removePending removes a call from the pending ones. It returns false if the call is no longer
// pending: it is done, or about to be.
func (p *Peer) removePending(c *Call) (waited bool) {
	p.update(func(s *state) {
		waited = s.pending[c.id] == c
		delete(s.pending, c.id)
	})
	return waited
}

// finish ends a call that is no longer pending. The caller must not use it afterwards, because it
// may be reused.
func (c *Call) finish() {
	hook := c.p.o.Hooks.Call
	var event CallEvent
	if hook != nil {
		event = CallEvent{Direction: Outbound, ID: c.ID(), Method: c.method, End: true,
			Duration: time.Since(c.start), Err: c.err}
	}
	if c.reused {
		c.done <- struct{}{}
	} else {
		close(c.done)
	}
	if hook != nil {
		hook(event)
	}
}

// failSend ends a call whose request could not be sent.
func (c *Call) failSend(err error) error {
	err = fmt.Errorf("rpc: %s: %w", c.method, err)
	if c.p.removePending(c) {
		c.err = err
		c.finish()
	}
	return err
}

func (p *Peer) failPending(err error) {
	var all map[int64]*Call
	p.update(func(s *state) { all, s.pending = s.pending, make(map[int64]*Call) })
	for _, c := range all {
		c.err = fmt.Errorf("rpc: %s: %w", c.method, err)
		c.finish()
	}
}

// ID returns the id of the request.
func (c *Call) ID() ID { return IntID(c.id) }

// Done returns a channel that is closed when the call has a response, has failed or was cancelled.
func (c *Call) Done() <-chan struct{} { return c.done }

// Wait blocks until the call is done or ctx ends, and returns what [Peer.Call] would. It may be
// called once.
func (c *Call) Wait(ctx context.Context, result any) error {
	select {
	case <-c.done:
	case <-ctx.Done():
		// a response that arrived at the same moment counts
		if c.Cancel(context.Cause(ctx)) {
			if c.reused {
				<-c.done
			}
			return fmt.Errorf("rpc: %s: %w", c.method, ctxError(ctx))
		}
		<-c.done
	}
	if c.err != nil {
		return c.err
	}
	defer c.frame.Free()
	if err := decodeResult(c.result, result); err != nil {
		return fmt.Errorf("rpc: %s: decoding the result: %w", c.method, err)
	}
	return nil
}

func decodeResult(raw []byte, result any) error {
	switch result := result.(type) {
	case nil:
		return nil
	case json.Unmarshaler: // called directly, because the bytes have been validated
		return result.UnmarshalJSON(raw)
	}
	return jsonexact.Unmarshal(raw, result)
}

// Cancel gives up a call, which then fails with cause, or [context.Canceled] if cause is nil. It
// notifies the other side, as far as [Cancellation] provides and without waiting. It returns false
// if the call was done already.
func (c *Call) Cancel(cause error) bool {
	p := c.p
	cause = cmp.Or(cause, context.Canceled)
	if !p.removePending(c) {
		return false
	}
	if d := p.o.Cancellation; d != nil {
		failure := contain.Run(func() {
			if params := d.Params(c.method, c.ID(), cause); params != nil {
				_ = p.notify(nil, d.Method, params) // on failure the connection is about to end
			}
		})
		if failure != nil {
			p.reportPanic(c.method, failure)
		}
	}
	c.err = fmt.Errorf("rpc: %s: %w", c.method, cause)
	c.finish()
	return true
}

// Fail ends the call with the given id. The call returns err, unwrapped, and the other side is not
// notified. Fail is for a transport that knows that no response will come. It reports whether the
// call was pending.
func (p *Peer) Fail(id ID, err error) (waited bool) {
	if id.kind != intID {
		return false
	}
	var c *Call
	p.update(func(s *state) {
		c = s.pending[id.num]
		delete(s.pending, id.num)
	})
	if c == nil {
		return false
	}
	c.err = err
	c.finish()
	return true
}

// Notify sends a notification. It returns when the notification is queued; see [Peer.Flush]. While
// more than Limits.MaxUnsent bytes are queued, it blocks until ctx ends.
func (p *Peer) Notify(ctx context.Context, method string, params any) error {
	if p == nil {
		return errNoPeer
	}
	return p.notify(ctx, method, params)
}

// notify does the work of Notify. It does not wait if ctx is nil.
func (p *Peer) notify(ctx context.Context, method string, params any) error {
	message, err := encodeRequest(ID{}, method, params)
	if err != nil {
		return err
	}
	defer message.Free()
	if err := p.post(ctx, message); err != nil {
		return fmt.Errorf("rpc: %s: %w", method, err)
	}
	return nil
}

// complete ends the call that a response is for. It owns frame. The response may be one of a batch.
func (p *Peer) complete(frame *buffer.Buffer, e envelope, f *fault, inBatch bool) {
	var c *Call
	if id, ok := e.id.Integer(); ok { // the ids of this side are integers: no call has a text
		p.update(func(s *state) {
			c = s.pending[id.num]
			delete(s.pending, id.num)
		})
		if hook := p.o.Hooks.OtherID; hook != nil && c != nil && id != e.id {
			hook(frame.B)
		}
	}
	if c == nil {
		reason := "a response to no call that waits"
		switch {
		case f != nil:
			reason = f.reason
		case e.hasError && (e.id.IsNull() || e.id.IsZero()):
			reason = "an error about a message that the peer could not read"
			if !inBatch {
				p.failBatch(parseError(e.err))
			}
		}
		p.reportStray(frame.B, reason)
		frame.Free()
		return
	}
	switch {
	case f != nil:
		c.err = fmt.Errorf("%w: %s", ErrProtocol, f.reason)
	case e.hasError && e.hasResult:
		c.err = fmt.Errorf("%w: a response with both a result and an error", ErrProtocol)
	case e.hasError:
		c.err = parseError(e.err)
	case e.hasResult:
		c.frame, c.result = frame, e.result
	default:
		c.err = fmt.Errorf("%w: a response with neither a result nor an error", ErrProtocol)
	}
	if c.err != nil {
		frame.Free()
	}
	c.finish()
}
