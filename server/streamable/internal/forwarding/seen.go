package forwarding

import (
	"sync"
	"time"
)

const (
	windowSize = 1 << 14 // frames of one sender that may overtake one another
	maxSenders = 1024
	quiet      = time.Minute // a sender whose newest frame is older may be forgotten
)

// Seen knows which frames have come, so that none is accepted twice. It is safe for concurrent use.
// The zero Seen has seen none.
type Seen struct {
	mu      sync.Mutex
	senders map[string]*window
	// forgotten is when the newest frame was made of all senders that are not known any more; 0:
	// all are known.
	forgotten int64
}

// A window has the numbers of the last frames of a sender, as in RFC 4303, section 3.4.3.
type window struct {
	last uint64 // the largest number
	seen [windowSize / 64]uint64
	made int64     // when the newest was, by the clock of the store
	at   time.Time // when one has come last
}

// Knows reports whether frames of a sender have come.
func (s *Seen) Knows(sender string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.senders[sender] != nil
}

// Add notes a frame, made at a time of the store in microseconds, and reports whether it is new:
// not if it has come before, or is so old that nobody knows. The caller has made sure that a sender
// of which nothing is known exists, because that of an old frame may not. now is the time of the
// store as the receiver knows it.
func (s *Seen) Add(sender string, number uint64, made, now int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.senders[sender]
	if w == nil {
		if !s.makeRoom(now) || s.forgotten != 0 && made <= s.forgotten {
			return false
		}
		w = new(window)
		s.senders[sender] = w
	}
	w.at, w.made = time.Now(), max(w.made, made)
	return w.add(number)
}

// makeRoom makes room for a sender. One whose clock is ahead is known until its time has come, so
// that those whose clocks are right are not taken for old.
func (s *Seen) makeRoom(now int64) bool {
	if s.senders == nil {
		s.senders = map[string]*window{}
	}
	if len(s.senders) < maxSenders {
		return true
	}
	for name, w := range s.senders {
		if time.Since(w.at) > quiet && w.made <= now-quiet.Microseconds() {
			s.forgotten = max(s.forgotten, w.made)
			delete(s.senders, name)
		}
	}
	return len(s.senders) < maxSenders
}

func (w *window) add(number uint64) bool {
	switch {
	case number <= w.last && w.last-number >= windowSize:
		return false
	case number > w.last && number-w.last >= windowSize:
		w.seen, w.last = [windowSize / 64]uint64{}, number
	}
	for w.last < number {
		w.last++
		w.seen[w.last%windowSize/64] &^= 1 << (w.last % 64)
	}
	word, bit := &w.seen[number%windowSize/64], uint64(1)<<(number%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}
