package streamable

import "time"

// scheduleHeartbeat makes a response send comments while it is silent. One timer serves all
// responses, because most finish before their first comment is due. h.mu must be held.
func (h *Handler) scheduleHeartbeat(r *modernResponse) {
	r.lastWrite.Store(time.Now().UnixNano())
	if h.heartbeatActive {
		return // it fires no later than this response needs
	}
	h.heartbeatActive = true
	if h.heartbeatTimer == nil {
		h.heartbeatTimer = time.AfterFunc(h.o.Heartbeat, h.sendHeartbeats)
	} else {
		h.heartbeatTimer.Reset(h.o.Heartbeat)
	}
}

// sendHeartbeats sends a comment on each response that is silent for long enough, and resets the
// timer.
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
			h.running.Go(r.sendHeartbeat) // a client that does not read must not delay others
		}
		if next < 0 || left < next {
			next = left
		}
	}
	if h.heartbeatActive = next >= 0 && !h.closed; h.heartbeatActive {
		h.heartbeatTimer.Reset(next)
	}
}
