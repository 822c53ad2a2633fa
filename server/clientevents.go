package server

import (
	"slices"
	"sync"
)

// A ClientEvent is a change of a legacy client's state.
type ClientEvent int

const (
	ClientReady ClientEvent = iota // the client has sent initialized; the first event, once
	ClientRoots                    // the client has sent notifications/roots/list_changed
	ClientLevel                    // the client has sent logging/setLevel; see [Conn.LogLevel]
	ClientGone                     // the client's connection has ended; the last event
)

// clientEvents delivers the events of legacy clients to observers. While there are events, one
// goroutine delivers them, in order.
type clientEvents struct {
	mu         sync.Mutex
	ready      map[*Conn]struct{} // clients that have sent initialized and have not disconnected
	observers  []*func(*Conn, ClientEvent)
	queue      []clientEvent // without duplicates, so a few for each client at most
	delivering bool
}

// A clientEvent is to be delivered to one observer, or to all if only is nil.
type clientEvent struct {
	conn  *Conn
	event ClientEvent
	only  *func(*Conn, ClientEvent)
}

// observe implements [Integration.OnClientEvent].
func (a *clientEvents) observe(fn func(*Conn, ClientEvent)) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := &fn
	a.observers = append(slices.Clip(a.observers), own)
	for c := range a.ready {
		a.enqueue(clientEvent{c, ClientReady, own})
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.observers = slices.DeleteFunc(slices.Clone(a.observers),
			func(other *func(*Conn, ClientEvent)) bool { return other == own })
	}
}

// emit queues an event. It drops events of a client that is not ready yet, and a second
// ClientReady.
func (a *clientEvents) emit(c *Conn, e ClientEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ready := a.ready[c]
	switch {
	case ready == (e == ClientReady), c.ctx.Err() != nil && e != ClientGone:
		return
	case e == ClientReady:
		if a.ready == nil {
			a.ready = make(map[*Conn]struct{})
		}
		a.ready[c] = struct{}{}
	case e == ClientGone:
		delete(a.ready, c)
	}
	if len(a.observers) > 0 {
		a.enqueue(clientEvent{c, e, nil})
	}
}

// enqueue appends an event to the queue, unless the queue contains it. If a client disconnects
// while its ClientReady is queued, its queued events are removed. The caller holds mu.
func (a *clientEvents) enqueue(e clientEvent) {
	switch of := func(other clientEvent) bool { return other.conn == e.conn }; {
	case e.event == ClientGone && slices.Contains(a.queue, clientEvent{e.conn, ClientReady, nil}):
		a.queue = slices.DeleteFunc(a.queue, of) // no observer has seen it
		return
	case slices.Contains(a.queue, e):
		return
	}
	a.queue = append(a.queue, e)
	if !a.delivering {
		a.delivering = true
		go a.deliver(e.conn.server)
	}
}

// deliver delivers events until the queue is empty.
func (a *clientEvents) deliver(s *Server) {
	for {
		a.mu.Lock()
		if len(a.queue) == 0 {
			a.queue, a.delivering = nil, false
			a.mu.Unlock()
			return
		}
		e := a.queue[0]
		a.queue = a.queue[1:]
		fns := a.observers
		a.mu.Unlock()
		for _, fn := range fns {
			if (e.only == nil || e.only == fn) && a.isRegistered(fn) {
				s.runCallback("OnClientEvent", func() { (*fn)(e.conn, e.event) })
			}
		}
	}
}

// isRegistered reports whether an observer is still registered.
func (a *clientEvents) isRegistered(fn *func(*Conn, ClientEvent)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.observers, fn)
}
