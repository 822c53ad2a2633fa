package rpc

import (
	"time"

	"github.com/stdwire/stdwire/internal/timeout"
)

// A load counts the requests, or the notifications, of the other side. Each has its own load: a
// full queue of requests refuses the next request, but must not block a notification, which cannot
// be refused.
type load struct {
	waiting int // messages in the queue
	bytes   int // size of the messages that are queued or running
}

func (l *load) full(size int, limits *Limits) bool {
	return l.waiting >= limits.MaxQueued || l.bytes > 0 && l.bytes+size > limits.MaxQueuedBytes
}

func (s *state) load(in *inboundMessage) *load {
	if in.IsNotification() {
		return &s.notifications
	}
	return &s.requests
}

// A queue is a FIFO queue of inbound messages.
type queue struct {
	items []*inboundMessage
	head  int
}

func (q *queue) len() int { return len(q.items) - q.head }

func (q *queue) push(in *inboundMessage) {
	if q.head > 32 && q.head*2 > len(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, in)
}

func (q *queue) pop() *inboundMessage {
	in := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	return in
}

// floodTimeout is how long the reader waits for a notification to finish.
const floodTimeout = 10 * time.Second

// awaitRoom blocks the reader until a notification of size bytes can be queued, so that a peer that
// sends faster than its messages are handled is slowed down by its stream. Only here does the
// reader wait for a handler, which may itself wait for the reader. So if no notification finishes
// in floodTimeout, awaitRoom fails the connection and returns false.
func (p *Peer) awaitRoom(size int) bool {
	for {
		var before, now load
		p.update(func(s *state) {
			before = s.notifications
			s.readerWaits = before.full(size, &p.o.Limits)
		})
		if !before.full(size, &p.o.Limits) {
			return true
		}
		woken := timeout.InParts(floodTimeout, func(part time.Duration) bool {
			select {
			case <-p.roomFreed:
			case <-p.ctx.Done():
			case <-time.After(part):
				return false
			}
			return true
		})
		if p.ctx.Err() != nil {
			return false
		}
		if p.update(func(s *state) { now = s.notifications }); !woken && now == before {
			p.fail(ErrFlooded)
			return false
		}
	}
}

// release subtracts a finished message from its load.
func (p *Peer) release(s *state, in *inboundMessage) {
	s.load(in).bytes -= len(in.frame.B)
	p.freed(s)
}

// freed wakes the reader if it waits for room, because there may be some.
func (p *Peer) freed(s *state) {
	if s.readerWaits {
		s.readerWaits = false
		select {
		case p.roomFreed <- struct{}{}:
		default:
		}
	}
}

// canStart reports whether the message at the head of the queue may start now.
func (p *Peer) canStart(s *state, in *inboundMessage) bool {
	return in.ordered || s.running < p.o.Limits.MaxRunning
}

// reserve takes the lane, or a slot of MaxRunning, for a message, which the caller must then spawn.
func (p *Peer) reserve(s *state, in *inboundMessage) {
	if in.ordered {
		s.laneRuns = true
	} else {
		in.holdsSlot = true
		s.running++
	}
}

// startLane makes the lane ready if it does not run and the head of the queue can start.
func (p *Peer) startLane(s *state) {
	if !s.laneRuns && s.queue.len() > 0 && p.canStart(s, s.queue.items[s.queue.head]) {
		s.laneRuns = true
		p.spawn(s, nil)
	}
}

// runLane takes messages from the queue in order, after in if that is not nil. An ordered message
// runs here to its end; any other is made ready for a worker. runLane ends when no message can
// start.
func (p *Peer) runLane(in *inboundMessage) {
	ended := false
	defer func() {
		if !ended {
			p.update(func(s *state) { p.spawn(s, nil) }) // a handler called runtime.Goexit
		}
	}()
	for !ended {
		if in != nil {
			p.handle(in)
		}
		p.update(func(s *state) {
			in = nil
			if s.queue.len() == 0 || !p.canStart(s, s.queue.items[s.queue.head]) {
				s.laneRuns, ended = false, true
				return
			}
			next := s.queue.pop()
			s.load(next).waiting--
			p.freed(s)
			if next.ordered {
				in = next
				return
			}
			p.reserve(s, next)
			p.spawn(s, next)
		})
	}
}

// A worker is a goroutine that handles messages, one at a time, and runs the lane. In the queue
// state.ready, nil stands for the lane. While the worker is idle, it waits for its channel.
type worker chan struct{}

// maxIdleWorkers is how many idle workers are kept for later messages.
const maxIdleWorkers = 64

// spawn makes a message ready, or the lane if in is nil. It does not block.
func (p *Peer) spawn(s *state, in *inboundMessage) {
	s.ready.push(in)
	p.wake(s)
}

// wake wakes one worker if a message is ready or a write is due, unless a woken worker has not run
// yet. A woken worker wakes the next before it calls a handler, so a ready message never waits for
// a handler, and yet a worker whose handlers return at once takes all of them. wake prefers the
// worker that became idle last, whose stack has already grown.
func (p *Peer) wake(s *state) {
	if s.waking || s.ready.len() == 0 && !s.writeDue {
		return
	}
	s.waking = true
	if last := len(s.idleWorkers) - 1; last >= 0 {
		w := s.idleWorkers[last]
		s.idleWorkers = s.idleWorkers[:last]
		w <- struct{}{}
		return
	}
	p.wg.Add(1)
	go p.runWorker()
}

// endIdleWorkers ends the workers that wait for a message.
func (s *state) endIdleWorkers() {
	for _, w := range s.idleWorkers {
		close(w)
	}
	s.idleWorkers = nil
}

func (p *Peer) runWorker() {
	defer p.wg.Done()
	defer p.update(func(s *state) { p.wake(s) }) // if a handler calls runtime.Goexit
	w := make(worker, 1)
	woken := true
	for {
		var in *inboundMessage
		write, idle, ended := false, false, false
		p.update(func(s *state) {
			if woken {
				s.waking = false
			}
			switch {
			case s.writeDue && (woken || s.ready.len() == 0):
				write, s.writeDue = true, false
			case s.ready.len() > 0:
				in = s.ready.pop()
			case s.closed || len(s.idleWorkers) >= maxIdleWorkers:
				ended = true
			default:
				idle = true
				s.idleWorkers = append(s.idleWorkers, w)
			}
			woken = false
			p.wake(s)
		})
		switch {
		case ended:
			return
		case idle:
			if _, woken = <-w; !woken {
				return
			}
		case write:
			p.out.write()
		case in == nil || in.ordered:
			p.runLane(in)
		default:
			p.handle(in)
		}
	}
}
