package shared

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/server/internal/task"
)

// begin makes a task one of this replica.
func (t *Tasks) begin(ctx context.Context, id string) (*own, error) {
	if _, err := t.replicas.Await(ctx); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errClosed
	}
	// The lease may be lost at any time, but then Lose ends the task, which waits for mu.
	o := &own{server: t.replicas.Own().Name}
	if o.server == "" {
		return nil, errLeaseLost
	}
	t.running[id] = o
	return o, nil
}

// isOwn reports whether a task is still one of this replica.
func (t *Tasks) isOwn(id string, o *own) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running[id] == o
}

// forget makes a task none of this replica.
func (t *Tasks) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, id)
}

// remove lets Run remove a task that may be in the store although no client knows it.
func (t *Tasks) remove(id, owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.unwanted) < maxUnwanted {
		t.unwanted[id] = owner
	}
}

// Lose ends all tasks of this replica, whose lease may be over.
func (t *Tasks) Lose() {
	t.mu.Lock()
	lost := slices.Collect(maps.Keys(t.running))
	clear(t.running)
	t.mu.Unlock()
	for _, id := range lost {
		t.replica.Lose(id)
	}
}

// Tell implements [task.Shared].
func (t *Tasks) Tell(id, session string) {
	t.mu.Lock()
	if len(t.notes) < maxPending && (session != "" || t.notes[id] == "") { // who is not told looks
		t.notes[id] = session
	}
	t.mu.Unlock()
	wake.Up(t.wake)
}

// Heard acts on a notice of a task by any replica. It does not block.
func (t *Tasks) Heard(n *Notice) {
	t.lookAt(n.Task)
	if n.From != t.name {
		t.replica.Changed(n.Task, n.Session)
	}
}

// Missed makes the replica look at all tasks, because notices may be missing: the store may have
// been away, and be empty. It does not block.
func (t *Tasks) Missed() {
	t.lookAtAll()
	for _, id := range t.replica.Watched() {
		t.replica.Changed(id, "")
	}
}

// lookAt makes work look at a task, if it is one of this replica.
func (t *Tasks) lookAt(id string) {
	t.mu.Lock()
	_, here := t.running[id]
	if here {
		t.looks[id] = struct{}{}
	}
	t.mu.Unlock()
	if here {
		wake.Up(t.wake)
	}
}

// lookAtAll makes work look at all tasks of this replica.
func (t *Tasks) lookAtAll() {
	t.mu.Lock()
	for id := range t.running {
		t.looks[id] = struct{}{}
	}
	t.mu.Unlock()
	wake.Up(t.wake)
}

// stopTimeout is how long tasks have to end when Run does.
const stopTimeout = time.Second

// Run looks at the tasks of the replica until ctx ends. Then it ends those that run, as failed.
func (t *Tasks) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { t.work(ctx) })
	running.Go(func() { t.tend(ctx) })
	running.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	t.mu.Lock()
	t.closed = true // no task begins after this
	t.mu.Unlock()
	t.replica.EndAll(ctx)
	t.Lose() // what could not be stored
	t.tell(ctx)
}

// work tells of changes and looks at tasks until ctx ends: when it is woken, and every now and then
// in case notices were lost.
func (t *Tasks) work(ctx context.Context) {
	tick := time.NewTicker(t.interval())
	defer tick.Stop()
	for {
		select {
		case <-t.wake:
		case <-tick.C:
			t.lookAtAll()
			t.loseUnknown()
		case <-ctx.Done():
			return
		}
		t.tell(ctx)
		t.mu.Lock()
		looks := t.looks
		t.looks = map[string]struct{}{}
		t.mu.Unlock()
		for id := range looks {
			if err := t.look(ctx, id); IsUnreachable(err) || ctx.Err() != nil {
				break // at the next tick again
			}
		}
	}
}

// tend does every now and then what nobody waits for, until ctx ends.
func (t *Tasks) tend(ctx context.Context) {
	tick := time.NewTicker(t.interval())
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.clean(ctx)
			t.lookAtWatched(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// tell tells the other replicas of changes. A notice that is lost is not sent again: who misses one
// looks.
func (t *Tasks) tell(ctx context.Context) {
	t.mu.Lock()
	notes := t.notes
	t.notes = map[string]string{}
	t.mu.Unlock()
	for id, session := range notes {
		err := t.s.Tell(ctx, Notice{Task: id, Session: session, From: t.name})
		if IsUnreachable(err) {
			return
		}
	}
}

// look looks at a task of this replica: whether somebody has ended it or answered its questions, or
// the store has lost it.
func (t *Tasks) look(ctx context.Context, id string) (err error) {
	t.mu.Lock()
	o := t.running[id]
	if o == nil {
		t.mu.Unlock()
		return nil
	}
	was := *o
	t.mu.Unlock()
	ctx, end := t.s.use(ctx)
	defer func() { end(err) }()
	// Most often nobody has changed it, which is seen without reading it.
	current, err := t.s.Store.Renew(ctx, t.key(id), was.version,
		max(time.Until(was.expires), time.Millisecond))
	switch {
	case err != nil:
		return err
	case current && was.asks:
		return t.deliver(ctx, id)
	case current:
		return nil
	}
	l, err := t.s.Store.Holder(ctx, t.key(id))
	switch {
	case err != nil:
		return err
	case l.Data == nil && l.Fence == 0:
		t.replica.Restore(id)
		return nil
	case l.Data == nil: // it was removed
		t.forget(id)
		t.replica.Lose(id)
		return nil
	}
	r, server, err := readTask(l)
	switch {
	case err != nil:
		return err
	case r.Task.Status.Terminal() || server != was.server:
		t.forget(id)
		t.replica.Ended(id, r)
		return nil
	case len(r.Task.InputRequests) > 0:
		return t.deliver(ctx, id)
	}
	return nil
}

// loseUnknown ends tasks that run although they belong to this replica no longer, because the lease
// was lost when they began.
func (t *Tasks) loseUnknown() {
	for _, id := range t.replica.Running() {
		t.mu.Lock()
		_, own := t.running[id]
		t.mu.Unlock()
		if !own {
			t.replica.Lose(id)
		}
	}
}

// clean removes tasks that no client knows.
func (t *Tasks) clean(ctx context.Context) {
	t.mu.Lock()
	unwanted := maps.Clone(t.unwanted)
	t.mu.Unlock()
	for id, owner := range unwanted {
		limited, end := t.s.use(ctx)
		err := t.delete(limited, id, owner)
		end(err)
		if err != nil {
			return
		}
		t.mu.Lock()
		delete(t.unwanted, id)
		t.mu.Unlock()
	}
}

// lookAtWatched looks at the tasks of other replicas of which clients want to be told: those of a
// replica that is gone end by that.
func (t *Tasks) lookAtWatched(ctx context.Context) {
	for _, id := range t.replica.Watched() {
		t.mu.Lock()
		_, here := t.running[id]
		t.mu.Unlock()
		if here {
			continue
		}
		if _, err := t.Get(ctx, id); errors.Is(err, task.ErrUnavailable) {
			return
		}
	}
}
