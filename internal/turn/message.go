package turn

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// stall is how long a body may take to double before another one is read meanwhile. It is short,
// so that clients of slow connections send at the same time, and long enough for a client on the
// same machine that waits for a processor.
const stall = 10 * time.Millisecond

// A Message is one that comes by itself, in a line. Work that goes on with it precedes work on what
// is new, so that what has begun ends before more begins; principals have their turns one after the
// other all the same. [Line.Message] makes it. A copy of one whose body has been read may replace
// it.
type Message struct {
	line      *Line
	principal string
	left      int   // turns before its work counts as new again
	body      *body // nil: not read in a turn
}

// A body is that of a large message, which is read in a turn of its own.
type body struct {
	line  *Line
	timer *time.Timer // leaves the turn when the body stalls
	reads atomic.Bool // it has the turn
}

// Message returns a message of a principal.
func (l *Line) Message(principal string) Message { return Message{line: l, principal: principal} }

// In reports whether the message is in a line.
func (m *Message) In(l *Line) bool { return m.line == l }

// Do is [Do] for the message. The first turn ends that of its body.
func (m *Message) Do(size int, work func()) {
	if size <= large {
		m.EndBody()
		work()
		return
	}
	if b := m.body; b != nil && b.timer.Stop() {
		b.timer.Reset(patience) // the body is whole
	}
	m.line.work.enter(context.Background(), processors(), m.principal, &m.left)
	defer func() { m.line.work.leave(processors()) }()
	m.EndBody()
	work()
}

func processors() int { return runtime.GOMAXPROCS(0) }

// bodies returns about how many bodies are read at a time: those for the next turns, and as many
// again, whose clients send meanwhile. It is more where readers themselves wait for processors
// until their bodies seem to have stalled.
func bodies() int { return 2 * processors() }

// Read is for the reader of the message's body. Call it each time before memory is used for more
// than has come, such as twice as much; size is how many bytes the body has or, if that is unknown,
// will have then. If that is large, Read waits until it is the body's turn, for a second at most,
// or until ctx ends. The turn lasts until the message's first work, or [Message.EndBody], or for
// 10 ms after Read was called last, if the client sends slowly; then the body comes without a turn,
// until Read is called again. It is for one goroutine at a time.
func (m *Message) Read(ctx context.Context, size int64) {
	if size <= large {
		return
	}
	if m.body == nil {
		m.body = &body{line: m.line}
	}
	b := m.body
	if b.timer != nil && b.timer.Stop() && b.reads.Load() {
		b.timer.Reset(stall)
		return
	}
	b.leave() // or else the timer does in a moment
	m.line.bodies.enter(ctx, bodies(), m.principal, new(int))
	b.reads.Store(true)
	b.timer = time.AfterFunc(stall, b.leave)
}

// EndBody ends the turn of the message's body, if it has one. Calling it again has no effect.
func (m *Message) EndBody() {
	if m.body != nil {
		m.body.timer.Stop()
		m.body.leave()
	}
}

func (b *body) leave() {
	if b.reads.CompareAndSwap(true, false) {
		b.line.bodies.leave(bodies())
	}
}
