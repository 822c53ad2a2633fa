package rpc

import (
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// read processes messages until the stream ends, and returns why.
func (p *Peer) read() error {
	methods := make(map[string]string)
	next := buffer.Get(0)
	for {
		var err error
		next.B, err = p.codec.ReadFrame(next.B)
		if p.readerLeft.Load() {
			return ErrClosed
		}
		if err != nil {
			if broken, ok := errors.AsType[*framing.FrameError](err); ok {
				p.skipFrame(broken)
				continue
			}
			return err
		}
		var frame *buffer.Buffer
		frame, next = takeFrame(next)
		if p.o.Hooks.CallsFrame() {
			p.o.Hooks.Frame(p.ctx, Inbound, frame.B)
		}
		size := len(frame.B)
		if i := jsonscan.Space(frame.B, 0); i < size && frame.B[i] == '[' {
			p.receiveBatch(frame, methods)
		} else {
			p.receive(frame, methods, nil)
		}
		p.line.Settle(p.ctx, size)
		p.out.awaitReading(p.ctx)
	}
}

// skipFrame answers a message that was too large to be read, or ends the call that it answers, as
// far as its beginning says which.
func (p *Peer) skipFrame(broken *framing.FrameError) {
	var id ID
	var response, busy bool
	skipper, ok := p.codec.(interface{ SkippedHead() []byte })
	if ok && broken.Err == framing.ErrTooLarge {
		id, response = scanHead(skipper.SkippedHead())
	}
	if response {
		err := fmt.Errorf("rpc: the response cannot be read: %w", broken)
		if own, ok := id.Integer(); ok && p.Fail(own, err) {
			p.reportStray(nil, err.Error())
			return
		}
		id = ID{}
	}
	if p.update(func(s *state) { busy = s.inflight[id] != nil }); busy || id.IsNull() {
		id = ID{} // see accept
	}
	p.refuse(nil, id, nil, Errorf(CodeInvalidRequest, "%v", broken))
}

// takeFrame returns the frame in next, and a buffer to read the next frame into. The frame takes at
// most a quarter more memory than it needs: the codec doubles its buffer as a message arrives, so
// that the first large one is copied. Others of its size are read into a buffer that fits.
func takeFrame(next *buffer.Buffer) (frame, after *buffer.Buffer) {
	size, capacity := len(next.B), cap(next.B)
	const slack = 64 // for the end of the line, and for a longer id
	if frame = next; size <= buffer.Small || size+size/4+2*slack < capacity {
		frame = buffer.Get(size)
		frame.B = append(frame.B, next.B...)
		if capacity <= buffer.Small || size <= capacity/4 && capacity <= maxKeptBuffer {
			return frame, next
		}
		next.Free()
	}
	if size > maxKeptBuffer {
		return frame, buffer.Get(0)
	}
	return frame, buffer.Get(size + slack)
}

// receive processes one message. It owns frame. methods is the reader's table of the method names
// seen so far, so that each is allocated once.
func (p *Peer) receive(frame *buffer.Buffer, methods map[string]string, b *batch) {
	e, f := scanEnvelope(frame.B)
	if !e.hasMethod && (f == nil || f.code != CodeParseError) && isObject(frame.B) {
		p.complete(frame, e, f, b != nil)
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
		frame.Free()
		return
	}
	p.accept(in)
}

func isObject(frame []byte) bool {
	i := jsonscan.Space(frame, 0)
	return i < len(frame) && frame[i] == '{'
}

// preempt handles a cancellation, or a notification for Options.Preempt, on the reader.
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
