package shared

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// ReplicaLife is how long others wait for a replica of which the store hears nothing. Then they
	// take over the sessions that it owns, and its tasks have failed.
	ReplicaLife = 15 * time.Second
	// watchInterval is how often somebody who waits for a replica looks at its lease.
	watchInterval = 2 * time.Second
)

// ErrGone is the cause of the end of what waits for a replica that does not exist any more.
var ErrGone = errors.New("the replica has ended, or has lost its lease")

// Replicas are those that share a store, this one among them. Each has a lease there, which says
// that it runs: while it has it, the sessions, tasks and streams whose records name it are its own.
// A replica that may have lost its lease, by its own clock, ends what it owns, and goes on under
// another name.
//
// Its methods are safe for concurrent use.
type Replicas struct {
	Sessions *Sessions
	URL      string // at which the others reach this replica; "": they pass nothing on to it
	Log      *slog.Logger
	Life     time.Duration // of leases; 0: ReplicaLife
	// Lost ends what this replica owned under a name that it has lost. It is called before the
	// replica has another one, on the goroutine of Run.
	Lost func()
	// Go runs a function on a goroutine, which ends soon when nobody watches a replica any more. It
	// may take locks under which others ask for the own replica.
	Go func(func())

	mu      sync.Mutex
	ended   bool
	failing error         // why there is no lease; nil: it is being acquired
	changed chan struct{} // closed when that changes; nil: nobody waits
	own     Replica       // without a name: it has no lease
	until   time.Time     // when the lease of own may have ended, with the time to stop before
	// when the last lease was asked for, and the time of the store then, in microseconds
	acquired time.Time
	clock    int64
	watched  map[string]*watchedReplica
}

// A Replica is a replica with a lease.
type Replica struct {
	Name  string // random, of one process and never used again
	Fence int64  // the number of its lease
	URL   string
}

func (r *Replicas) life() time.Duration { return cmp.Or(r.Life, ReplicaLife) }

// stopTime is how much earlier than others expect it the replica itself ends what it owns, so that
// nothing of it is left when they begin.
func (r *Replicas) stopTime() time.Duration { return r.life() * 4 / 15 }

func (r *Replicas) key(name string) string { return r.Sessions.Part + "replica/" + name }

// Own returns this replica, without a name if it may have lost its lease.
func (r *Replicas) Own() Replica {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.holdsLocked() {
		return Replica{}
	}
	return r.own
}

// holdsLocked reports whether the lease is certain. The wall clock is looked at too, because the
// monotonic one may stand still while a machine is suspended.
func (r *Replicas) holdsLocked() bool {
	now := time.Now()
	return r.own.Name != "" && now.Before(r.until) && now.Round(0).Before(r.until.Round(0))
}

// Now returns the time of the store, in microseconds, as far as this replica knows it: it has had a
// lease, whose number was the time.
func (r *Replicas) Now() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clock == 0 {
		return 0
	}
	return r.clock + time.Since(r.acquired).Microseconds()
}

// Run keeps the lease of this replica until ctx ends. Then the lease still lasts for a time, see
// Release.
func (r *Replicas) Run(ctx context.Context) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ended = true
	}()
	fails := false
	for ctx.Err() == nil {
		err := r.hold(ctx)
		if err != nil && !fails && ctx.Err() == nil {
			r.Log.Warn("the lease of this server in the store is not renewed", "error", err)
		}
		pause := r.life() / 5
		if fails = err != nil; fails {
			pause = r.life() / 30
			r.fail(err)
		} else if r.Own().Name == "" {
			continue
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// hold acquires or renews the lease. A lease that may have ended is given up.
func (r *Replicas) hold(ctx context.Context) error {
	r.mu.Lock()
	own, holds, until := r.own, r.holdsLocked(), r.until
	r.mu.Unlock()
	if own.Name != "" && !holds {
		r.giveUp()
		own = Replica{}
	}
	begun := time.Now()
	if own.Name == "" {
		own = Replica{Name: cryptorand.Text(), URL: r.URL}
		return r.acquire(ctx, own, begun)
	}
	limited, cancel := context.WithDeadline(ctx, until)
	held, err := r.renew(limited, own)
	cancel()
	switch {
	case err != nil:
		if !time.Now().Before(until) && ctx.Err() == nil {
			r.giveUp()
		}
		return err
	case held:
		r.set(own, begun)
		return nil
	}
	// Nobody has a lease with this name, so it has ended, or the store has lost it. After the
	// latter, nobody takes anything over for a while.
	switch isNewborn, err := r.storeIs(ctx, newborn); {
	case err != nil:
		return err
	case isNewborn:
		return r.acquire(ctx, own, begun)
	}
	r.giveUp()
	return nil
}

func (r *Replicas) renew(ctx context.Context, own Replica) (held bool, err error) {
	ctx, end := r.Sessions.use(ctx)
	defer func() { end(err) }()
	return r.Sessions.Store.Renew(ctx, r.key(own.Name), own.Fence, r.life())
}

func (r *Replicas) acquire(ctx context.Context, own Replica, begun time.Time) (err error) {
	ctx, end := r.Sessions.use(ctx)
	defer func() { end(err) }()
	// the store must have an epoch, so that an empty one is noticed
	if _, err := r.Sessions.lookAtEpoch(ctx); err != nil {
		return err
	}
	data, err := json.Marshal(own.URL)
	if err != nil {
		return err
	}
	l, _, err := r.Sessions.Store.Acquire(ctx, r.key(own.Name), data, r.life())
	if err != nil {
		return err
	}
	own.Fence = l.Fence // also if it is there already: nobody else has this name
	r.mu.Lock()
	r.acquired, r.clock = begun, l.Fence
	r.mu.Unlock()
	r.set(own, begun)
	return nil
}

// set notes that the lease was asked for at that time, and granted.
func (r *Replicas) set(own Replica, begun time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own, r.until, r.failing = own, begun.Add(r.life()-r.stopTime()), nil
	r.wakeLocked()
}

func (r *Replicas) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = err
	r.wakeLocked()
}

func (r *Replicas) wakeLocked() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Await returns this replica when it has a lease, which takes a moment at first.
func (r *Replicas) Await(ctx context.Context) (Replica, error) {
	for {
		r.mu.Lock()
		own, err := r.own, r.failing
		if r.holdsLocked() {
			r.mu.Unlock()
			return own, nil
		}
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		if err != nil {
			return Replica{}, err
		}
		select {
		case <-changed:
		case <-time.After(patience):
			return Replica{}, ErrGone
		case <-ctx.Done():
			return Replica{}, context.Cause(ctx)
		}
	}
}

// giveUp ends what this replica owns.
func (r *Replicas) giveUp() {
	r.mu.Lock()
	r.own = Replica{}
	r.mu.Unlock()
	r.Log.Warn("this server has lost its lease in the store, and ends what it owned by that")
	r.Lost()
}

// HasEnded reports whether Run has returned and the lease has ended.
func (r *Replicas) HasEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended && !r.holdsLocked()
}

// Release ends the lease, so that others need not wait. Call it when Run has returned and nothing
// is left of what this replica owned.
func (r *Replicas) Release(ctx context.Context) (err error) {
	r.mu.Lock()
	own := r.own
	r.own = Replica{}
	r.mu.Unlock()
	if own.Name == "" {
		return nil
	}
	ctx, end := r.Sessions.use(ctx)
	defer func() { end(err) }()
	_, err = r.Sessions.Store.Release(ctx, r.key(own.Name), own.Fence, 0)
	return err
}

// storeIs reports whether the store was empty a short time ago, in which others may not yet have
// put back what they had there: young says so of anything, and newborn of leases, because a replica
// renews its own every few seconds, or ends what it owns.
func (r *Replicas) storeIs(ctx context.Context, age string) (is bool, err error) {
	ctx, end := r.Sessions.use(ctx)
	defer func() { end(err) }()
	if _, err := r.Sessions.lookAtEpoch(ctx); err != nil {
		return false, err
	}
	value, err := r.Sessions.Store.Get(ctx, age)
	return value != nil, err
}

// Find returns the replica with that name. The error is ErrGone if it has no lease.
func (r *Replicas) Find(ctx context.Context, name string) (found Replica, err error) {
	found, err = r.find(ctx, name)
	if err == nil && found.Name == "" {
		var isNewborn bool
		if isNewborn, err = r.storeIs(ctx, newborn); err == nil {
			err = ErrGone
			if isNewborn {
				err = ErrEmptied
			}
		}
	}
	return found, err
}

// find is Find, but for a lease that the store does not have, perhaps because it was emptied or has
// been away: then the replica has no name.
func (r *Replicas) find(ctx context.Context, name string) (found Replica, err error) {
	ctx, end := r.Sessions.use(ctx)
	defer func() { end(err) }()
	l, err := r.Sessions.Store.Holder(ctx, r.key(name))
	switch {
	case err != nil:
		return Replica{}, err
	case l.Data == nil && l.Fence != 0: // released
		return Replica{}, ErrGone
	case l.Data == nil:
		return Replica{}, nil
	}
	found = Replica{Name: name, Fence: l.Fence}
	err = json.Unmarshal(l.Data, &found.URL)
	return found, err
}

// Take makes this replica the owner of a session with that record, and reports whether it did: not
// if the record is another one by now. It fails if this replica has no lease.
func (r *Replicas) Take(ctx context.Context, id string, record *Record) (taken bool, err error) {
	own, err := r.Await(ctx)
	if err != nil {
		return false, err
	}
	changed := *record
	changed.Owner = own.Name
	taken, err = r.Sessions.Save(ctx, id, &changed, record.State)
	if taken {
		*record = changed
	}
	return taken, err
}

// A watchedReplica is one on which something here waits.
type watchedReplica struct {
	ctx    context.Context // ends with the lease
	cancel context.CancelCauseFunc
	users  int
}

// Watch returns a context that ends with the lease of a replica, with the cause ErrGone. The caller
// must call stop.
func (r *Replicas) Watch(ctx context.Context, name string) (watched context.Context, stop func()) {
	r.mu.Lock()
	w := r.watched[name]
	isNew := w == nil
	if isNew {
		w = new(watchedReplica)
		w.ctx, w.cancel = context.WithCancelCause(context.Background())
		if r.watched == nil {
			r.watched = map[string]*watchedReplica{}
		}
		r.watched[name] = w
	}
	w.users++
	r.mu.Unlock()
	if isNew {
		r.Go(func() { r.watch(name, w) })
	}
	watched, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(w.ctx, func() { cancel(context.Cause(w.ctx)) })
	return watched, func() {
		unlink()
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		if w.users--; w.users == 0 {
			w.cancel(nil)
			if r.watched[name] == w {
				delete(r.watched, name)
			}
		}
	}
}

// watch looks at the lease of a replica until nothing waits for it.
func (r *Replicas) watch(name string, w *watchedReplica) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			return
		}
		if _, err := r.Find(w.ctx, name); errors.Is(err, ErrGone) {
			w.cancel(ErrGone)
			return
		}
	}
}

// An absence decides whether a replica is gone that owns nothing exclusively: a store that was
// emptied, or was away for long, does not have its lease either, until it says again that it runs.
// So it is gone when its lease has been missing for as long as one lasts, or was released.
type absence struct {
	since time.Time // zero: it was there
}

// isGone looks at a replica.
func (a *absence) isGone(ctx context.Context, r *Replicas, name string) (bool, error) {
	found, err := r.find(ctx, name)
	switch {
	case errors.Is(err, ErrGone):
		return true, nil
	case err != nil || found.Name != "":
		a.since = time.Time{}
		return false, err
	case a.since.IsZero():
		a.since = time.Now()
	}
	return time.Since(a.since) >= r.life(), nil
}
