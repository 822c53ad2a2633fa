// Package clientevents delivers the changes of the states of clients to observers.
package clientevents

import (
	"slices"
	"sync"
)

// Events delivers the events of clients to observers. While there are events, one goroutine
// delivers them, in order. It is safe for concurrent use.
type Events[Client, Event comparable] struct {
	First, Last Event // of each client
	// Run calls an observer of the application.
	Run func(func())
	// Ended reports whether the connection of a client has ended.
	Ended func(Client) bool

	mu         sync.Mutex
	ready      map[Client]struct{} // clients between First and Last
	observers  []*func(Client, Event)
	queue      []event[Client, Event] // without duplicates, so a few for each client at most
	delivering bool
}

// An event is to be delivered to one observer, or to all if only is nil.
type event[Client, Event comparable] struct {
	client Client
	event  Event
	only   *func(Client, Event)
}

// Observe calls fn with each event until stop is called, and first with First for each client that
// has had it.
func (a *Events[Client, Event]) Observe(fn func(Client, Event)) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := &fn
	a.observers = append(slices.Clip(a.observers), own)
	for c := range a.ready {
		a.enqueue(event[Client, Event]{c, a.First, own})
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.observers = slices.DeleteFunc(slices.Clone(a.observers),
			func(other *func(Client, Event)) bool { return other == own })
	}
}

// Emit queues an event. It drops those before First, a second First, and all but Last of a client
// whose connection has ended.
func (a *Events[Client, Event]) Emit(c Client, e Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ready := a.ready[c]
	switch {
	case ready == (e == a.First), e != a.Last && a.Ended(c):
		return
	case e == a.First:
		if a.ready == nil {
			a.ready = make(map[Client]struct{})
		}
		a.ready[c] = struct{}{}
	case e == a.Last:
		delete(a.ready, c)
	}
	if len(a.observers) > 0 {
		a.enqueue(event[Client, Event]{c, e, nil})
	}
}

// enqueue appends an event to the queue, unless the queue contains it. If a client has Last while
// its First is queued, its queued events are removed. The caller holds mu.
func (a *Events[Client, Event]) enqueue(e event[Client, Event]) {
	switch of := func(other event[Client, Event]) bool { return other.client == e.client }; {
	case e.event == a.Last &&
		slices.Contains(a.queue, event[Client, Event]{e.client, a.First, nil}):
		a.queue = slices.DeleteFunc(a.queue, of) // no observer has seen it
		return
	case slices.Contains(a.queue, e):
		return
	}
	a.queue = append(a.queue, e)
	if !a.delivering {
		a.delivering = true
		go a.deliver()
	}
}

// deliver delivers events until the queue is empty.
func (a *Events[Client, Event]) deliver() {
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
				a.Run(func() { (*fn)(e.client, e.event) })
			}
		}
	}
}

// isRegistered reports whether an observer is still registered.
func (a *Events[Client, Event]) isRegistered(fn *func(Client, Event)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.observers, fn)
}
