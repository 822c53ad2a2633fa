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
	// ErrShare is returned while the owner itself holds too much.
	ErrShare = errors.New("quota: the owner holds its share")
	// ErrTotal is returned while all owners together hold too much.
	ErrTotal = errors.New("quota: too little is left")
	// ErrNever is returned for an amount that the owner may not hold even if no other owner holds
	// anything.
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
	waiting []*owner          // owners that wait, in the order in which they are served
	spare   *owner            // the owner that was removed last, for reuse
}

type owner struct {
	name  string
	held  int64
	queue []*waiter // its calls of Wait, in the order of arrival
}

type waiter struct {
	n     int64
	taken chan struct{} // closed when n was taken
}

// NewPool returns a pool with that total, which must be positive.
func NewPool(total int64) *Pool {
	if total <= 0 {
		panic(fmt.Sprintf("quota: the total %d is not positive", total))
	}
	return &Pool{total: total, owners: map[string]*owner{}}
}

// Total returns the amount that the pool divides.
func (p *Pool) Total() int64 { return p.total }

// Take takes n for an owner; the caller must give it back with [Pool.Give]. Take does not block.
// The error matches [ErrShare], [ErrTotal] or [ErrNever]; then nothing is taken. Take panics if n
// is negative.
func (p *Pool) Take(name string, n int64) error { return p.grow(name, 0, n) }

// grow is Take for an owner that already holds the amount held for the same purpose. Its error is
// about the sum of both: n may fit while the sum never can.
func (p *Pool) grow(name string, held, n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.owner(name)
	err := p.take(o, held, n)
	p.removeIfIdle(o)
	return err
}

// Wait is like [Pool.Take], except that it blocks until the rule allows n. Waiting owners are
// served in turn; a smaller amount may overtake a larger one of another owner. The error is the
// context's cause, or matches [ErrNever].
func (p *Pool) Wait(ctx context.Context, name string, n int64) error {
	p.mu.Lock()
	o := p.owner(name)
	err := ErrTotal // if earlier calls for this owner come first
	if len(o.queue) == 0 {
		err = p.take(o, 0, n)
	}
	if err == nil || errors.Is(err, ErrNever) {
		p.removeIfIdle(o)
		p.mu.Unlock()
		return err
	}
	w := &waiter{n, make(chan struct{})}
	if o.queue = append(o.queue, w); len(o.queue) == 1 {
		p.waiting = append(p.waiting, o)
	}
	p.mu.Unlock()
	select {
	case <-w.taken:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-w.taken: // in the meantime
		return nil
	default:
	}
	o.queue = slices.DeleteFunc(o.queue, func(other *waiter) bool { return other == w })
	if len(o.queue) == 0 {
		p.waiting = slices.DeleteFunc(p.waiting, func(other *owner) bool { return other == o })
	}
	p.removeIfIdle(o)
	p.serveWaiting() // this call may have blocked a smaller amount of its owner
	return context.Cause(ctx)
}

// Give gives n back for an owner. It panics if the owner holds less than n.
func (p *Pool) Give(name string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.owner(name)
	if n < 0 || n > o.held {
		panic(fmt.Sprintf("quota: %d given back, but %d held", n, o.held))
	}
	o.held -= n
	p.held -= n
	p.removeIfIdle(o)
	p.serveWaiting()
}

// MaxHeld returns how much an owner may hold if no other owner holds anything.
func (p *Pool) MaxHeld(name string) int64 {
	if name == "" {
		return p.total
	}
	return halfRoundedUp(p.total)
}

// Room returns how much an owner could take now.
func (p *Pool) Room(name string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.owner(name)
	defer p.removeIfIdle(o)
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

// Heaviest returns the owner that holds most, and how much; held is 0 if no owner holds anything.
// It takes time proportional to the number of owners.
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

// take takes n if the rule allows it. held is the amount that the owner already holds for the same
// purpose. mu must be held.
func (p *Pool) take(o *owner, held, n int64) error {
	share := p.share(o)
	switch {
	case n < 0:
		panic(fmt.Sprintf("quota: cannot take %d: it is negative", n))
	case held+n > p.MaxHeld(o.name):
		return ErrNever
	case n > p.total-p.held || held+n > share: // too much even if the owner held nothing else
		return ErrTotal
	case n > share-o.held:
		return ErrShare
	}
	o.held += n
	p.held += n
	return nil
}

// share returns how much an owner may hold now that the others hold what they do. mu must be held.
func (p *Pool) share(o *owner) int64 {
	left := p.total - (p.held - o.held)
	if o.name == "" {
		return left
	}
	return halfRoundedUp(left)
}

func halfRoundedUp(n int64) int64 { return n/2 + n%2 }

// serveWaiting takes amounts for waiting calls, one of each owner in turn, as far as the rule
// allows. mu must be held.
func (p *Pool) serveWaiting() {
	for i := 0; i < len(p.waiting); {
		o := p.waiting[i]
		w := o.queue[0]
		if p.take(o, 0, w.n) != nil {
			i++
			continue
		}
		close(w.taken)
		o.queue[0] = nil
		o.queue = o.queue[1:]
		p.waiting = slices.Delete(p.waiting, i, i+1)
		if len(o.queue) > 0 {
			p.waiting = append(p.waiting, o)
		}
		i = 0
	}
}

// owner returns the owner of that name, and adds it if it is missing. The caller holds mu.
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

// removeIfIdle removes an owner that neither holds anything nor waits. mu must be held.
func (p *Pool) removeIfIdle(o *owner) {
	if o.held == 0 && len(o.queue) == 0 {
		delete(p.owners, o.name)
		o.name, o.queue, p.spare = "", nil, o
	}
}
