package rpc

import "time"

// A load is what the requests, or the notifications, of the other side take up. Each kind has its own, so that a peer that fills the queue with requests,
// which can be refused, does not lose the connection over a notification, which can not.
type load struct {
	waiting int // how many are in the queue
	bytes   int // the size of all that are not finished
}

func (l *load) full(size int, limits *Limits) bool {
	return l.waiting >= limits.MaxQueued || l.bytes > 0 && l.bytes+size > limits.MaxQueuedBytes
}

func (s *state) load(in *inbound) *load {
	if in.IsNotification() {
		return &s.notified
	}
	return &s.requests
}

// A queue is a first-in first-out queue of inbound messages.
type queue struct {
	items []*inbound
	head  int
}

func (q *queue) len() int { return len(q.items) - q.head }

func (q *queue) push(in *inbound) {
	if q.head > 32 && q.head*2 > len(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, in)
}

func (q *queue) pop() *inbound {
	in := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	return in
}

// patience is how long the reader waits for the lane.
const patience = 10 * time.Second

// awaitRoom blocks the reader until a notification of size bytes can be queued, so that a peer that sends more than can be handled is slowed down by its own
// stream. This is the one case in which the reader waits for a handler, which may in turn wait for the reader; so it does not go on for ever: if the lane
// stands still, it fails the connection and returns false.
func (p *Peer) awaitRoom(size int) bool {
	for {
		var before, now load
		p.update(func(s *state) {
			before = s.notified
			s.crowded = before.full(size, &p.o.Limits)
		})
		if !before.full(size, &p.o.Limits) {
			return true
		}
		select {
		case <-p.room:
		case <-p.ctx.Done():
			return false
		case <-time.After(patience):
			if p.update(func(s *state) { now = s.notified }); now == before {
				p.fail(ErrFlooded)
				return false
			}
		}
	}
}

// relieve takes a finished message off its load, and wakes the reader if it waits for that.
func (p *Peer) relieve(s *state, in *inbound) {
	s.load(in).bytes -= len(in.frame.b)
	if s.crowded {
		s.crowded = false
		select {
		case p.room <- struct{}{}:
		default:
		}
	}
}

// runnable tells whether a message, being the next, may start now.
func (p *Peer) runnable(s *state, in *inbound) bool {
	return in.ordered || s.running < p.o.Limits.MaxRunning
}

// place starts a message in the books: it takes the lane or one of the places, and must be spawned.
func (p *Peer) place(s *state, in *inbound) {
	if in.ordered {
		s.lane = true
	} else {
		in.placed = true
		s.running++
	}
}

// kick starts a goroutine for the lane if the head of the queue can be started and there is none.
func (p *Peer) kick(s *state) {
	if !s.lane && s.queue.len() > 0 && p.runnable(s, s.queue.items[s.queue.head]) {
		s.lane = true
		p.spawn(nil)
	}
}

// runLane takes messages from the queue in order, in first if there is one: what is ordered runs here to its end, all else gets its own
// goroutine. It ends when nothing can be started.
func (p *Peer) runLane(in *inbound) {
	ended := false
	defer func() {
		if !ended {
			p.spawn(nil) // a handler has called runtime.Goexit
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
			if s.queue.len() == 0 || !p.runnable(s, s.queue.items[s.queue.head]) {
				s.lane = false
				return
			}
			in = s.queue.pop()
			s.load(in).waiting--
			if !in.ordered {
				p.place(s, in)
			}
		})
		if in == nil {
			ended = true
			return
		}
	}
}

// keepWorkers is how many goroutines that have nothing to do are kept for the next message.
const keepWorkers = 64

// spawn runs a message on its own goroutine, or with nil the lane. It does not block. A goroutine that is kept has a stack that has grown already,
// which for small messages is a third of all the work.
func (p *Peer) spawn(in *inbound) {
	select {
	case p.work <- in:
	default:
		p.wg.Add(1)
		go p.runWorker(in)
	}
}

func (p *Peer) runWorker(in *inbound) {
	defer p.wg.Done()
	for {
		if in == nil || in.ordered {
			p.runLane(in)
		} else {
			p.handle(in)
		}
		if p.resting.Add(1) > keepWorkers {
			p.resting.Add(-1)
			return
		}
		select {
		case in = <-p.work:
			p.resting.Add(-1)
		case <-p.ctx.Done():
			return
		}
	}
}
