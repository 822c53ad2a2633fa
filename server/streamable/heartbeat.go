package streamable

import "time"

// Comments keep modern streams alive where nothing else is said. One timer does for all of them: most requests are answered long before it is their turn.

// scheduleHeartbeat sees to it that a reply gets its comments. With mu.
func (h *Handler) scheduleHeartbeat(r *modernResponse) {
	r.lastWrite.Store(time.Now().UnixNano())
	if h.heartbeatActive {
		return // no later than this reply needs it
	}
	h.heartbeatActive = true
	if h.heartbeatTimer == nil {
		h.heartbeatTimer = time.AfterFunc(h.o.Heartbeat, h.sendHeartbeats)
	} else {
		h.heartbeatTimer.Reset(h.o.Heartbeat)
	}
}

// sendHeartbeats has those replies say something that have been silent for long enough, and sets the timer for the next.
func (h *Handler) sendHeartbeats() {
	now := time.Now().UnixNano()
	next := time.Duration(-1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.inflight {
		if !r.accepts.stream {
			continue
		}
		left := h.o.Heartbeat - time.Duration(now-r.lastWrite.Load())
		if left <= 0 {
			left = h.o.Heartbeat
			r.lastWrite.Store(now)
			h.running.Go(r.sendHeartbeat) // a client that does not read holds up nobody else
		}
		if next < 0 || left < next {
			next = left
		}
	}
	if h.heartbeatActive = next >= 0 && !h.closed; h.heartbeatActive {
		h.heartbeatTimer.Reset(next)
	}
}
