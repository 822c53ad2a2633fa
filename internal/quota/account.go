package quota

import (
	"context"
	"sync"
)

// An Account is the amount of a pool that one task, such as answering a request, holds for an
// owner. Its methods are safe for concurrent use. A nil account is for tasks without a limit: it
// holds nothing and refuses nothing.
type Account struct {
	pool  *Pool
	owner string

	mu     sync.Mutex
	held   int64
	closed bool
}

// Open returns an account of an owner. The caller must close it.
func (p *Pool) Open(owner string) *Account { return &Account{pool: p, owner: owner} }

// Owner returns the owner of the account; "" for a nil account.
func (a *Account) Owner() string {
	if a == nil {
		return ""
	}
	return a.owner
}

// Take adds n to the amount that the account holds; see [Pool.Take].
func (a *Account) Take(n int64) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.take(n)
}

// Resize changes the amount that the account holds to n. The error is that of [Pool.Take]; the
// amount is then unchanged.
func (a *Account) Resize(n int64) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed: // it holds nothing, whatever n is
		return nil
	case n > a.held:
		return a.take(n - a.held)
	}
	a.give(a.held - n)
	return nil
}

// Wait adds n to the amount that the account holds; see [Pool.Wait].
func (a *Account) Wait(ctx context.Context, n int64) error {
	if a == nil {
		return nil
	}
	if err := a.pool.Wait(ctx, a.owner, n); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held += n; a.closed {
		a.give(a.held)
	}
	return nil
}

// Held returns the amount that the account holds.
func (a *Account) Held() int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held
}

// Close gives the whole amount back. After Close, Take and Resize do nothing, and Wait gives its
// amount back at once; none of them returns an error for a closed account.
func (a *Account) Close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.give(a.held)
}

// take is Take. mu must be held.
func (a *Account) take(n int64) error {
	if a.closed || n == 0 {
		return nil
	}
	if err := a.pool.grow(a.owner, a.held, n); err != nil {
		return err
	}
	a.held += n
	return nil
}

// give gives n back. mu must be held.
func (a *Account) give(n int64) {
	if n == 0 {
		return
	}
	a.held -= n
	a.pool.Give(a.owner, n)
}

// Key is the context key of an [Account], for a context that is not made by [NewContext].
type Key struct{}

// NewContext returns a context that carries an account.
func NewContext(ctx context.Context, a *Account) context.Context {
	return context.WithValue(ctx, Key{}, a)
}

// FromContext returns the account that the context carries, or nil if there is none.
func FromContext(ctx context.Context) *Account {
	a, _ := ctx.Value(Key{}).(*Account)
	return a
}
