package server

import (
	"slices"
	"sync"
)

// A ClientEvent is what can become of a legacy client.
type ClientEvent int

const (
	ClientReady ClientEvent = iota // it has said that it is initialized; once, before anything else
	ClientRoots                    // it says that its roots have changed
	ClientLevel                    // it wants to hear of other log messages, see [Conn.LogLevel]
	ClientGone                     // its connection has ended
)

// An audience is who wants to hear of legacy clients. One goroutine tells everybody everything in
// the same order, as long as there is something to be told.
type clientEvents struct {
	mu         sync.Mutex
	ready      map[*Conn]struct{} // clients that have not gone
	observers  []*func(*Conn, ClientEvent)
	queue      []clientEvent // to be told, each once: a few of each client that is there, or whose coming was told
	delivering bool
}

// An event is one to be told, to one function or, with nil, to all.
type clientEvent struct {
	conn  *Conn
	event ClientEvent
	only  *func(*Conn, ClientEvent)
}

// observe is [Integration.OnClientEvent].
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
		a.observers = slices.DeleteFunc(slices.Clone(a.observers), func(other *func(*Conn, ClientEvent)) bool { return other == own })
	}
}

// emit tells of an event. What a client does before it is ready is no news, nor what it does twice.
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

// enqueue has an event told. With mu.
func (a *clientEvents) enqueue(e clientEvent) {
	switch of := func(other clientEvent) bool { return other.conn == e.conn }; {
	case e.event == ClientGone && slices.Contains(a.queue, clientEvent{e.conn, ClientReady, nil}):
		a.queue = slices.DeleteFunc(a.queue, of) // nobody has heard of it yet
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

// deliver tells what there is to be told.
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

// isRegistered reports whether a function is still to be told.
func (a *clientEvents) isRegistered(fn *func(*Conn, ClientEvent)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.observers, fn)
}
