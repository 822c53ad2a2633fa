package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A batch collects the responses to the requests of one JSON-RPC batch (section 6). Notifications
// and responses are not part of it.
type batch struct {
	mu        sync.Mutex
	remaining int // responses to come, and one more while the reader processes the batch
	responses []byte
	bytesLeft int // bytes left for responses; room for an error per request is reserved
}

// roomForError is about the size of the error that replaces a response that is too large.
const roomForError = 200

// expectResponse adds one to the responses to come.
func (b *batch) expectResponse() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remaining++
}

// receiveBatch processes the messages of a batch. It owns frame.
func (p *Peer) receiveBatch(frame *buffer.Buffer, methods map[string]string) {
	var problem *Error
	elements := 0
	if err := jsonscan.Valid(frame.B); err != nil {
		problem = Errorf(CodeParseError, "%v", err)
	} else {
		for range jsonscan.Elements(frame.B) {
			elements++
		}
	}
	switch {
	case problem != nil:
	case elements == 0:
		problem = Errorf(CodeInvalidRequest, "a batch must not be empty")
	case elements > p.o.Limits.MaxBatch:
		problem = errBatchTooLarge(elements, p.o.Limits.MaxBatch)
	case !p.batch.Load() && !onlyResponses(frame.B):
		problem = Errorf(CodeInvalidRequest,
			"batches are not supported; send the messages one by one")
	}
	if problem != nil {
		p.refuse(frame, ID{}, nil, problem)
		return
	}
	defer frame.Free()
	b := &batch{remaining: 1, bytesLeft: p.o.Limits.MaxAppend - len("[]") - elements*roomForError}
	for element := range jsonscan.Elements(frame.B) {
		own := buffer.Get(len(element)) // each message lives as long as its handler runs
		own.B = append(own.B, element...)
		p.receive(own, methods, b)
	}
	p.batchReply(nil, b, ID{}, nil)
}

func errBatchTooLarge(messages, limit int) *Error {
	return Errorf(CodeInvalidRequest, "a batch of %d messages; the limit is %d", messages, limit)
}

// onlyResponses reports whether a batch consists of responses. The other side may send them in a
// batch whether this side accepts batches or not.
func onlyResponses(batch []byte) bool {
	for element := range jsonscan.Elements(batch) {
		if e, _ := scanEnvelope(element); e.hasMethod || !isObject(element) {
			return false
		}
	}
	return true
}

// batchReply adds the response to a request, nil for none, to a batch. It sends the batch's
// responses after the last one. With a context it waits for room in the outbox. Without one, which
// is for the reader, it does not wait: small ones are sent like refusals, and others wait on a
// goroutine of their own.
func (p *Peer) batchReply(ctx context.Context, b *batch, id ID, response []byte) {
	b.mu.Lock()
	if len(response) > 0 {
		if len(response)+len(",") > b.bytesLeft {
			response = appendError(nil, id, Errorf(CodeInternalError,
				"the answers of the batch are too large together; send the requests one by one"))
		} else {
			b.bytesLeft -= len(response) + len(",")
		}
		b.responses = append(append(b.responses, ','), response...)
	}
	b.remaining--
	last := b.remaining == 0
	b.mu.Unlock()
	if !last || len(b.responses) == 0 {
		return // the batch had notifications only
	}
	b.responses[0] = '['
	message := &buffer.Buffer{B: append(b.responses, ']')}
	switch {
	case ctx != nil:
		due, err := p.sendResponse(message)
		p.sentBatchReply(ctx, due, err)
	case len(message.B) <= p.o.Limits.MaxUnsent:
		p.sentBatchReply(nil, false, p.post(nil, message))
	default: // of handlers that have ended already; the reader must not wait
		p.update(func(s *state) {
			if s.closed {
				return
			}
			s.active++ // so that Shutdown waits for it
			p.wg.Go(func() {
				due, err := p.sendResponse(message)
				p.sentBatchReply(nil, due, err)
				p.update(func(s *state) { s.active-- })
			})
		})
	}
}

// sentBatchReply starts the writer if it is due. If the responses of a batch could not be sent, it
// sends an error for all of them, with a context as batchReply does.
func (p *Peer) sentBatchReply(ctx context.Context, due bool, err error) {
	if due {
		go p.write()
	}
	var failure *Error
	if err == errTooManyResponses {
		failure = Errorf(CodeBusy,
			"the batch was served, but too many bytes of responses are unread, so its responses are dropped; read them, then repeat it")
	} else if broken, ok := errors.AsType[*framing.FrameError](err); ok {
		failure = Errorf(CodeInternalError, "the answers of the batch cannot be sent: %v", broken)
	} else {
		return
	}
	_ = p.post(ctx, &buffer.Buffer{B: appendError(nil, ID{}, failure)})
}

// A BatchCall is a call or a notification in a batch.
type BatchCall struct {
	Method string
	Params any
	Notify bool
	Result any   // the result is decoded into it; may be nil
	Err    error // set by [Peer.Batch], as Call would return it
}

// A sentBatch is a batch of this side.
type sentBatch struct {
	calls int   // how many have a response
	err   error // why the batch as a whole failed; set before its calls are done
}

// failBatch ends the calls of a batch with the error of a response without an id, if that can only
// be about the batch: no response to it has come, and no other call waits for one.
func (p *Peer) failBatch(err error) {
	var failed []*Call
	p.update(func(s *state) {
		var b *sentBatch
		for _, c := range s.pending {
			if b == nil {
				b = c.batch
			}
			if b == nil || c.batch != b || len(s.pending) != b.calls {
				return
			}
		}
		for _, c := range s.pending {
			b.err, c.err = err, err
			failed = append(failed, c)
		}
		clear(s.pending)
	})
	for _, c := range failed {
		c.finish()
	}
}

// Batch sends calls and notifications as one message and waits for all responses. It returns an
// error if the batch as a whole fails; the error of a single call is in its Err. A response without
// an id fails the batch if no other call waits, as the refusal of a peer that accepts no batches
// does. At most Limits.MaxBatch calls are accepted, because the responses form a batch too. Few
// servers support batches and some never respond to them: give ctx a deadline.
func (p *Peer) Batch(ctx context.Context, calls []*BatchCall) (err error) {
	if p == nil {
		return errNoPeer
	}
	if len(calls) == 0 {
		return errors.New("rpc: a batch must not be empty")
	}
	if limit := p.o.Limits.MaxBatch; len(calls) > limit {
		return fmt.Errorf("rpc: %w", errBatchTooLarge(len(calls), limit))
	}
	pending := make([]*Call, len(calls))
	sent := new(sentBatch)
	for _, call := range calls {
		if !call.Notify {
			sent.calls++
		}
	}
	err = errExited // unless Batch returns: a method of params or of a result may panic
	defer func() {
		if err == nil {
			return
		}
		for _, c := range pending {
			if c != nil {
				_ = c.failSend(err)
			}
		}
	}()
	var message []byte
	for i, call := range calls {
		var id ID
		c := &Call{p: p, method: call.Method, done: make(chan struct{}), start: p.o.Hooks.now(),
			batch: sent}
		if !call.Notify {
			c.id = p.lastID.Add(1)
			id = c.ID()
		}
		var err error
		message, err = appendRequest(append(message, ','), id, call.Method, call.Params)
		if err == nil && !call.Notify {
			if err = p.addPending(c); err == nil {
				pending[i] = c
			}
		}
		if err != nil {
			return err
		}
	}
	message[0] = '['
	if err := p.post(ctx, &buffer.Buffer{B: append(message, ']')}); err != nil {
		return fmt.Errorf("rpc: batch: %w", err)
	}
	for i, c := range pending {
		if c != nil {
			calls[i].Err = c.Wait(ctx, calls[i].Result)
		}
	}
	if sent.err != nil {
		return fmt.Errorf("rpc: batch: %w", sent.err)
	}
	return nil
}
