package rpc

import "time"

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
		select {
		case <-p.roomFreed:
		case <-p.ctx.Done():
			return false
		case <-time.After(floodTimeout):
			if p.update(func(s *state) { now = s.notifications }); now == before {
				p.fail(ErrFlooded)
				return false
			}
		}
	}
}

// release subtracts a finished message from its load and wakes the reader if it waits for room.
func (p *Peer) release(s *state, in *inboundMessage) {
	s.load(in).bytes -= len(in.frame.b)
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

// startLane starts a goroutine for the lane if it has none and the head of the queue can start.
func (p *Peer) startLane(s *state) {
	if !s.laneRuns && s.queue.len() > 0 && p.canStart(s, s.queue.items[s.queue.head]) {
		s.laneRuns = true
		p.spawn(nil)
	}
}

// runLane takes messages from the queue in order, after in if that is not nil. An ordered message
// runs here to its end; any other gets a goroutine of its own. runLane ends when no message can
// start.
func (p *Peer) runLane(in *inboundMessage) {
	ended := false
	defer func() {
		if !ended {
			p.spawn(nil) // a handler called runtime.Goexit
		}
	}()
	for {
		if in != nil && in.ordered {
			p.handle(in)
		} else if in != nil {
			p.spawn(in)
		}
		in = nil
		p.update(func(s *state) {
			if s.queue.len() == 0 || !p.canStart(s, s.queue.items[s.queue.head]) {
				s.laneRuns = false
				return
			}
			in = s.queue.pop()
			s.load(in).waiting--
			if !in.ordered {
				p.reserve(s, in)
			}
		})
		if in == nil {
			ended = true
			return
		}
	}
}

// maxIdleWorkers is how many idle goroutines are kept for later messages.
const maxIdleWorkers = 64

// spawn runs a message, or the lane if in is nil, on a goroutine. It does not block. It prefers an
// idle goroutine, whose stack has already grown: growing it is a third of the work for a small
// message.
func (p *Peer) spawn(in *inboundMessage) {
	select {
	case p.work <- in:
	default:
		p.wg.Add(1)
		go p.runWorker(in)
	}
}

func (p *Peer) runWorker(in *inboundMessage) {
	defer p.wg.Done()
	for {
		if in == nil || in.ordered {
			p.runLane(in)
		} else {
			p.handle(in)
		}
		if p.idleWorkers.Add(1) > maxIdleWorkers {
			p.idleWorkers.Add(-1)
			return
		}
		select {
		case in = <-p.work:
			p.idleWorkers.Add(-1)
		case <-p.ctx.Done():
			return
		}
	}
}
