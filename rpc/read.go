package rpc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// read processes messages until the stream ends, and returns why.
func (p *Peer) read() error {
	methods := make(map[string]string)
	var m frameMemory
	if c, ok := p.codec.(growing); ok {
		c.GrowWith(m.grow)
	}
	for {
		frame, err := m.read(p.codec)
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

// growing is what the codecs of package framing have.
type growing interface {
	GrowWith(grow func(dst []byte, n int) []byte)
}

// A frameMemory is the memory that frames are read into. While a connection waits for a message, it
// keeps idleFrame bytes at most, except with a codec that reads on by itself after a frame that is
// no message, as those of [framing.Resync] do: it keeps the memory of that frame until the next
// message.
type frameMemory struct {
	next     *buffer.Buffer // nil: the next frame gets memory when it arrives
	expected int            // the size of a large frame that was read before: others may have it
}

const (
	// idleFrame is the largest memory that waits for a frame; frames in it are copied.
	idleFrame = 4 << 10
	// maxExpected is the largest size that a frame is expected to have.
	maxExpected = 4 << 20
)

// read reads a frame. Its memory belongs to the caller.
func (m *frameMemory) read(codec framing.Codec) (*buffer.Buffer, error) {
	b, err := codec.ReadFrame(m.next.Bytes())
	if m.next == nil { // a codec has other memory
		m.next = new(buffer.Buffer)
	}
	m.next.B = b
	if err == nil {
		return m.take(), nil
	}
	if cap(b) > idleFrame {
		m.next.Free()
		m.next = nil
	}
	return nil, err
}

// grow returns a slice with the bytes of dst and room for n more, in memory from the pool. If that
// is large, it has room for a frame of the expected size if that is at most four times as much. The
// memory of dst is then freed.
func (m *frameMemory) grow(dst []byte, n int) []byte {
	size := len(dst) + n
	if size > buffer.Small {
		size = max(size, min(m.expected, 4*size))
	}
	b := buffer.Get(size)
	b.B = slices.Grow(append(b.B, dst...), n)
	m.next.Free()
	m.next = b
	return b.B
}

// take returns the frame in next, and prepares next for another frame. A large frame takes at most
// a quarter more memory than it needs: its buffer may have been doubled as a message arrived, so
// that the first large one is copied. Others of its size are read into a buffer that fits.
func (m *frameMemory) take() *buffer.Buffer {
	frame, size, capacity := m.next, len(m.next.B), cap(m.next.B)
	const slack = 64 // for the end of the line, and for a longer id
	large := capacity > buffer.Small
	if capacity <= idleFrame || large && (size <= buffer.Small || size+size/4+2*slack < capacity) {
		frame = buffer.Get(size)
		frame.B = append(frame.B, m.next.B...)
		if !large {
			return frame
		}
		m.next.Free()
	}
	m.next = nil
	if size > m.expected/4 && size > buffer.Small {
		m.expected = min(size+slack, maxExpected)
	}
	return frame
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
