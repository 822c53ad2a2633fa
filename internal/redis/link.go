package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/wake"
)

// A call is a command on its way.
type call struct {
	frame      []byte
	idempotent bool
	tries      int
	lost       bool // a reply was: it may have run

	pushed bool          // its reply, unless it is an error, is a push
	then   func()        // if not nil, called when it ends, under the mutex of the link
	done   chan struct{} // closed when it ends
	left   bool          // nobody waits for it
	reply  Reply
	err    error
}

func newCall(args ...string) *call {
	return &call{frame: appendCommand(nil, args...), done: make(chan struct{})}
}

// A link is a connection to the server that is made again when it breaks. One goroutine connects
// and reads, and for each connection one writes.
type link struct {
	o      *Options
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}

	changed   func(error)    // see Options.Changed
	connected func() []*call // the calls that come first on a new connection; under mu
	push      func(Reply)    // under mu

	mu    sync.Mutex
	queue []*call // not sent yet, in order
	conn  *conn   // nil while there is none
	down  error   // why the last attempt to connect failed, until one succeeds
}

func newLink(o *Options, connected func() []*call, push func(Reply)) *link {
	l := &link{o: o, changed: func(error) {}, connected: connected, push: push,
		ended: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func (l *link) close() {
	l.cancel()
	<-l.ended
}

const maxTries = 3 // how often a command is sent that the server does not run, or may run twice

const (
	// MaxPause is the longest pause between attempts to connect to a server that is away. It is
	// short, so that what others have done is known soon after the server is back.
	MaxPause = 500 * time.Millisecond
	// maxRefusedPause is that for one that is there, and refuses the client.
	maxRefusedPause = 5 * time.Second
)

// pauseAfter returns how long to wait after so many failures in a row, the last of them with that
// error. It is random, so that not all clients come at once when a server is back.
func pauseAfter(failures int, err error) time.Duration {
	most := maxRefusedPause
	if isAway(err) {
		most = MaxPause
	}
	return rand.N(min(50*time.Millisecond<<min(failures, 10), most))
}

// run connects until the link is closed.
func (l *link) run() {
	defer close(l.ended)
	for failures := 0; ; failures++ {
		c, err := l.o.connect(l.ctx)
		if err == nil {
			if err = l.serve(c); c.answered {
				failures, err = 0, nil
			}
		}
		if l.ctx.Err() != nil {
			l.fail(ErrClosed)
			return
		}
		if err != nil {
			l.fail(err)
			l.changed(err)
		}
		select {
		case <-l.ctx.Done():
		case <-time.After(pauseAfter(failures, err)):
		}
	}
}

// fail ends what waits, and lets what comes fail, until there is a connection.
func (l *link) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = err
	for _, c := range l.queue {
		l.end(c, Reply{}, c.notDone(err))
	}
	l.queue = nil
}

// notDone returns the error of a call in the queue that nobody sends.
func (c *call) notDone(cause error) error {
	if c.lost {
		return unknown(cause)
	}
	return unavailable(cause)
}

// end ends a call. The caller holds mu.
func (l *link) end(c *call, reply Reply, err error) {
	c.reply, c.err = reply, err
	if c.then != nil {
		c.then()
	}
	close(c.done)
}

// add puts a call into the queue. If it returns an error, then is not called. The caller holds mu.
func (l *link) add(c *call) error {
	if l.down != nil {
		return unavailable(l.down)
	}
	l.queue = append(l.queue, c)
	l.wake()
	return nil
}

// wake lets the writer look again. The caller holds mu.
func (l *link) wake() {
	if l.conn != nil {
		wake.Up(l.conn.wake)
	}
}

// wait returns the reply of a call that was added. A caller whose context ends leaves; the
// connection goes on, and drops the reply.
func (l *link) wait(ctx context.Context, c *call) (Reply, error) {
	select {
	case <-c.done:
		return c.reply, c.err
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-c.done: // in the meantime
		return c.reply, c.err
	default:
	}
	err := unknown(context.Cause(ctx))
	if i := slices.Index(l.queue, c); i >= 0 {
		err = c.notDone(context.Cause(ctx))
		l.queue = slices.Delete(l.queue, i, i+1)
		l.end(c, Reply{}, err)
	}
	c.left = true
	return Reply{}, err
}

// serve uses a connection until it breaks. The error says why.
func (l *link) serve(c *conn) error {
	l.mu.Lock()
	l.conn, l.down = c, nil
	l.queue = append(l.connected(), l.queue...)
	l.mu.Unlock()
	l.changed(nil) // commands are accepted now
	stop := context.AfterFunc(l.ctx, func() { _ = c.Close() })
	defer stop()
	written := make(chan struct{})
	go func() {
		defer close(written)
		l.write(c)
	}()
	err := l.read(c)
	_ = c.Close()
	l.mu.Lock()
	c.broken = true
	l.wake()
	l.conn = nil
	l.mu.Unlock()
	<-written // so that nothing more is sent

	l.mu.Lock()
	defer l.mu.Unlock()
	again := c.again
	for _, call := range c.sent {
		if call.idempotent && call.tries < maxTries && !call.left {
			call.lost = true
			again = append(again, call)
		} else {
			l.end(call, Reply{}, unknown(err))
		}
	}
	l.queue = append(again, l.queue...)
	return err
}

const maxBatch = 64 << 10 // bytes that are written at once, unless one command has more

// write sends what is in the queue, until the connection breaks.
func (l *link) write(c *conn) {
	idle := time.NewTicker(max(c.silence/3, time.Millisecond))
	defer idle.Stop()
	var buffer []byte
	for {
		buffer = buffer[:0]
		l.mu.Lock()
		if c.broken {
			l.mu.Unlock()
			return
		}
		n := 0
		for ; n < len(l.queue) && c.retired == nil; n++ {
			call := l.queue[n]
			if n > 0 && len(buffer)+len(call.frame) > maxBatch {
				break
			}
			call.tries++
			buffer = append(buffer, call.frame...)
			c.sent = append(c.sent, call)
		}
		l.queue = slices.Delete(l.queue, 0, n)
		l.mu.Unlock()
		if n > 0 {
			if _, err := c.Write(buffer); err != nil {
				_ = c.Close() // the reader ends
				return
			}
			if cap(buffer) > 2*maxBatch {
				buffer = nil
			}
			continue
		}
		select {
		case <-c.wake:
		case <-idle.C: // whether the server lives
			l.mu.Lock()
			if len(c.sent) == 0 && len(l.queue) == 0 {
				l.queue = append(l.queue, newCall("PING"))
			}
			l.mu.Unlock()
		}
	}
}

// read passes on what the server sends, until the connection breaks.
func (l *link) read(c *conn) error {
	for {
		reply, err := c.replies.read()
		if err != nil {
			return err
		}
		l.mu.Lock()
		err = l.receive(c, reply)
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// receive takes a reply or push. The caller holds mu.
func (l *link) receive(c *conn, reply Reply) error {
	if reply.kind == '>' {
		if len(reply.items) == 0 {
			return fmt.Errorf("%w: an empty push", errProtocol)
		}
		what := string(reply.items[0].text)
		if what != "subscribe" && what != "unsubscribe" {
			l.push(reply)
			return nil
		}
	}
	if len(c.sent) == 0 || reply.kind == '>' && !c.sent[0].pushed ||
		reply.kind != '>' && reply.Err() == nil && c.sent[0].pushed {
		return fmt.Errorf("%w: a reply to no command", errProtocol)
	}
	call := c.sent[0]
	c.sent[0] = nil
	c.sent = c.sent[1:]
	err := reply.Err()
	code := ""
	if e, ok := err.(Error); ok {
		code = e.Code()
	}
	switch {
	case notRun[code] != "": // another connection finds the server that does run it
		c.retired = err
		if call.tries < maxTries && !call.left {
			c.again = append(c.again, call)
		} else {
			l.end(call, Reply{}, unavailable(err))
		}
	case code == "MOVED" || code == "ASK" || code == "CROSSSLOT" || code == "CLUSTERDOWN":
		l.end(call, Reply{}, fmt.Errorf("%w: %w", ErrCluster, err))
	default:
		c.answered = true
		l.end(call, reply, err)
	}
	if len(c.sent) == 0 {
		return c.retired
	}
	return nil
}
