package streamable

import "time"

// Comments keep modern streams alive where nothing else is said. One timer does for all of them: most requests are answered long before it is their turn.

// awaitBeat sees to it that a reply gets its comments. With mu.
func (h *Handler) awaitBeat(r *modernReply) {
	r.said.Store(time.Now().UnixNano())
	if h.beating {
		return // no later than this reply needs it
	}
	h.beating = true
	if h.heart == nil {
		h.heart = time.AfterFunc(h.o.Heartbeat, h.beat)
	} else {
		h.heart.Reset(h.o.Heartbeat)
	}
}

// beat has those replies say something that have been silent for long enough, and sets the timer for the next.
func (h *Handler) beat() {
	now := time.Now().UnixNano()
	next := time.Duration(-1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.open {
		if !r.accepts.stream {
			continue
		}
		left := h.o.Heartbeat - time.Duration(now-r.said.Load())
		if left <= 0 {
			left = h.o.Heartbeat
			r.said.Store(now)
			h.running.Go(r.beat) // a client that does not read holds up nobody else
		}
		if next < 0 || left < next {
			next = left
		}
	}
	if h.beating = next >= 0 && !h.closed; h.beating {
		h.heart.Reset(next)
	}
}
