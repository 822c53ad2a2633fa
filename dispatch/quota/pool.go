package quota

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// The reasons why an amount is refused. Test for them with [errors.Is].
var (
	// until the owner gives something back
	ErrShare = errors.New("quota: the owner holds its share")
	ErrTotal = errors.New("quota: nothing is left") // until anybody gives something back
	ErrNever = errors.New("quota: more than an owner may ever hold")
)

// IsRefusal reports whether err matches ErrShare, ErrTotal or ErrNever.
func IsRefusal(err error) bool {
	return errors.Is(err, ErrShare) || errors.Is(err, ErrTotal) || errors.Is(err, ErrNever)
}

// Anonymous is the owner for unauthenticated callers of a surface that authenticates others. No
// principal has this name.
const Anonymous = "\x00anonymous"

// A Pool divides a total among owners. All methods are safe for concurrent use.
type Pool struct {
	total int64

	mu      sync.Mutex
	held    int64
	owners  map[string]*owner // owners that hold an amount or wait
	waiting []*owner          // owners that wait, the next in turn first
	spare   *owner            // the owner that was removed last, for reuse
}

type owner struct {
	name  string
	held  int64
	queue []*waiter // in the order of arrival
}

type waiter struct {
	n    int64
	room chan struct{} // closed when n was taken
}

// NewPool returns a pool with that total, which must be positive.
func NewPool(total int64) *Pool {
	if total <= 0 {
		panic(fmt.Sprintf("quota: a total of %d", total))
	}
	return &Pool{total: total, owners: map[string]*owner{}}
}

// Total returns the amount that the pool divides.
func (p *Pool) Total() int64 { return p.total }

// Take takes n for an owner, which must give it back with [Pool.Give]. It does not block. The error
// matches [ErrShare], [ErrTotal] or [ErrNever]; then nothing is taken. n must not be negative.
func (p *Pool) Take(name string, n int64) error { return p.grow(name, 0, n) }

// grow is Take for an owner that already holds the amount held for the same purpose. The error is
// about the sum of both.
func (p *Pool) grow(name string, held, n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.owner(name)
	err := p.take(o, held, n)
	p.forget(o)
	return err
}

// Wait is like [Pool.Take], except that it blocks while the rule does not allow that much. Waiting
// owners are served in turn; a smaller amount may overtake a larger one. The error is the context's
// cause, or matches [ErrNever].
func (p *Pool) Wait(ctx context.Context, name string, n int64) error {
	p.mu.Lock()
	o := p.owner(name)
	err := ErrTotal
	if len(o.queue) == 0 { // else others of this owner came first
		err = p.take(o, 0, n)
	}
	if err == nil || errors.Is(err, ErrNever) {
		p.forget(o)
		p.mu.Unlock()
		return err
	}
	w := &waiter{n, make(chan struct{})}
	if o.queue = append(o.queue, w); len(o.queue) == 1 {
		p.waiting = append(p.waiting, o)
	}
	p.mu.Unlock()
	select {
	case <-w.room:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-w.room: // in the meantime
		return nil
	default:
	}
	o.queue = slices.DeleteFunc(o.queue, func(other *waiter) bool { return other == w })
	if len(o.queue) == 0 {
		p.waiting = slices.DeleteFunc(p.waiting, func(other *owner) bool { return other == o })
	}
	p.forget(o)
	p.serve() // a smaller amount may have waited behind this one
	return context.Cause(ctx)
}

// Give gives n back for an owner. It panics if the owner holds less than n.
func (p *Pool) Give(name string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.owner(name)
	if n < 0 || n > o.held {
		panic(fmt.Sprintf("quota: %d given back of %d", n, o.held))
	}
	o.held -= n
	p.held -= n
	p.forget(o)
	p.serve()
}

// Most returns how much an owner may hold while no other owner holds anything.
func (p *Pool) Most(name string) int64 {
	if name == "" {
		return p.total
	}
	return half(p.total)
}

// Room returns how much an owner could take now.
func (p *Pool) Room(name string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.owner(name)
	defer p.forget(o)
	return max(0, min(p.share(o)-o.held, p.total-p.held))
}

// Held returns how much an owner holds.
func (p *Pool) Held(name string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.owners[name]; o != nil {
		return o.held
	}
	return 0
}

// Used returns how much all owners hold together.
func (p *Pool) Used() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// Heaviest returns the owner that holds the most, and how much it holds; 0 if the pool is empty.
// Its time is proportional to the number of owners.
func (p *Pool) Heaviest() (name string, held int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.owners {
		if o.held > held || o.held == held && o.name < name {
			name, held = o.name, o.held
		}
	}
	return name, held
}

// take takes n if the rule allows it. held is the amount that is already held for the same purpose.
// mu must be held.
func (p *Pool) take(o *owner, held, n int64) error {
	share := p.share(o)
	switch {
	case n < 0:
		panic(fmt.Sprintf("quota: %d taken", n))
	case held+n > p.Most(o.name):
		return ErrNever
	case n > p.total-p.held || held+n > share: // also if the owner held nothing else
		return ErrTotal
	case n > share-o.held:
		return ErrShare
	}
	o.held += n
	p.held += n
	return nil
}

// share returns how much an owner may hold, given what the others hold. mu must be held.
func (p *Pool) share(o *owner) int64 {
	left := p.total - (p.held - o.held)
	if o.name == "" {
		return left
	}
	return half(left)
}

func half(n int64) int64 { return n/2 + n%2 }

// serve takes amounts for waiting callers, one of each owner in turn, as far as the rule allows. mu
// must be held.
func (p *Pool) serve() {
	for i := 0; i < len(p.waiting); {
		o := p.waiting[i]
		w := o.queue[0]
		if p.take(o, 0, w.n) != nil {
			i++
			continue
		}
		close(w.room)
		o.queue[0] = nil
		o.queue = o.queue[1:]
		p.waiting = slices.Delete(p.waiting, i, i+1)
		if len(o.queue) > 0 {
			p.waiting = append(p.waiting, o)
		}
		i = 0
	}
}

// owner returns the entry of an owner, and creates it if there is none. mu must be held.
func (p *Pool) owner(name string) *owner {
	o := p.owners[name]
	if o == nil {
		if o = p.spare; o == nil {
			o = new(owner)
		}
		o.name, p.spare = name, nil
		p.owners[name] = o
	}
	return o
}

// forget removes an owner that neither holds anything nor waits. mu must be held.
func (p *Pool) forget(o *owner) {
	if o.held == 0 && len(o.queue) == 0 {
		delete(p.owners, o.name)
		o.name, o.queue, p.spare = "", nil, o
	}
}
