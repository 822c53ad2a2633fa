package shared

import (
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/task"
)

// Tasks are the tasks of all replicas. A task is a lease whose data are its state: only who has
// read the state changes it, so that a replica whose task has been ended cannot end it otherwise. A
// task whose replica has lost its lease has failed, as whoever looks at it sees and stores. Tasks
// implements [task.Shared].
type Tasks struct {
	s        *Sessions
	replicas *Replicas
	replica  task.Replica
	name     string        // of this replica in notices
	wake     chan struct{} // makes work run

	mu       sync.Mutex
	closed   bool
	running  map[string]*own     // tasks of this replica
	notes    map[string]string   // changes to tell of: sessions by task
	looks    map[string]struct{} // tasks of this replica to look at
	unwanted map[string]string   // owners by task: tasks that nobody knows, to be removed
}

var _ task.Shared = (*Tasks)(nil)

// An own is a task that this replica runs. Only Put changes it, under mu.
type own struct {
	server  string // the name of the [Replica] when the task began
	counted int64  // its bytes in the list of its principal

	version int64     // of the state in the store
	expires time.Time // there
	asks    bool      // the task has open questions there
}

// setOwn notes the version in the store of a task of this replica.
func (t *Tasks) setOwn(o *own, version int64, r *task.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o.version, o.expires, o.asks = version, r.Expires, len(r.Task.InputRequests) > 0
}

// maxUnwanted limits the tasks that wait to be removed. Those over it expire.
const maxUnwanted = 1024

// NewTasks returns the tasks of a replica, which Run looks after.
func NewTasks(of *Replicas, r task.Replica) *Tasks {
	return &Tasks{s: of.Sessions, replicas: of, replica: r, name: cryptorand.Text(),
		wake: make(chan struct{}, 1), running: map[string]*own{}, notes: map[string]string{},
		looks: map[string]struct{}{}, unwanted: map[string]string{}}
}

// interval is how often tasks are looked at, in case notices were lost.
func (t *Tasks) interval() time.Duration { return t.replicas.life() / 3 }

// A taskState is what the store has of a task.
type taskState struct {
	Task    mcp.Task `json:"task"`
	Owner   string   `json:"owner"`
	Tool    string   `json:"tool,omitempty"`
	Session string   `json:"session,omitempty"`
	Server  string   `json:"server"` // on which it runs
}

func encodeTask(r *task.Record, server string) ([]byte, error) {
	return mcp.Marshal(taskState{r.Task, r.Owner, r.Tool, r.Session, server})
}

// readTask returns a task and the replica on which it runs. It expires when its lease does, by the
// clock of the store.
func readTask(l store.Lease) (*task.Record, string, error) {
	var s taskState
	if err := mcp.Unmarshal(l.Data, &s); err != nil {
		return nil, "", errors.Join(errTask, err)
	}
	if s.Task.TTLMs == nil {
		return nil, "", fmt.Errorf("%w: it has no time to live", errTask)
	}
	return &task.Record{Task: s.Task, Owner: s.Owner, Tool: s.Tool, Session: s.Session,
		Expires: time.Now().Add(l.Left)}, s.Server, nil
}

// isTaskID reports whether a text may be the id of a task: its time in 11 digits, and a random
// part.
func isTaskID(text string) bool {
	const digits = 11
	return len(text) > digits && text[digits] == '-' && IsID(text[digits+1:])
}

func (t *Tasks) key(id string) string { return t.s.Part + "task/" + id }

// use is [Sessions.use] for something of which end makes the error one of package task.
func (t *Tasks) use(ctx context.Context) (limited context.Context, end func(*error)) {
	limited, done := t.s.use(ctx)
	return limited, func(err *error) {
		e := *err
		switch {
		case e == nil || errors.Is(e, task.ErrTaken) || errors.Is(e, task.ErrFull) ||
			errors.Is(e, errClosed):
			done(nil)
			return
		case errors.Is(e, store.ErrTooLarge):
			*err = fmt.Errorf("%w: %w", task.ErrTooLarge, e)
		case errors.Is(e, store.ErrFull):
			*err = fmt.Errorf("%w: %w", task.ErrFull, e)
		default:
			*err = fmt.Errorf("%w: %w", task.ErrUnavailable, e)
		}
		done(e)
	}
}

var (
	errClosed    = errors.New("the server no longer shares tasks")
	errTask      = errors.New("a task in the store is not one of a replica")
	errLeaseLost = errors.New("the replica has lost its lease")
	errContended = errors.New("a task, or the list of a client's tasks, is changed by too many at once")
)

// attempts is how often a change is tried that others precede.
const attempts = 20

// Put implements [task.Shared].
func (t *Tasks) Put(ctx context.Context, r *task.Record) (err error) {
	ctx, end := t.use(ctx)
	defer func() { end(&err) }()
	t.mu.Lock()
	o := t.running[r.Task.TaskID]
	t.mu.Unlock()
	if o == nil { // it ends here, or has
		return task.ErrTaken
	}
	return t.save(ctx, r, o)
}

// Create implements [task.Shared].
func (t *Tasks) Create(ctx context.Context, r *task.Record) (err error) {
	ctx, end := t.use(ctx)
	defer func() { end(&err) }()
	id := r.Task.TaskID
	o, err := t.begin(ctx, id)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		t.forget(id)
		if !errors.Is(err, task.ErrTaken) && !errors.Is(err, task.ErrFull) &&
			!errors.Is(err, store.ErrTooLarge) {
			t.remove(id, r.Owner) // it may be there all the same
		}
	}()
	data, err := encodeTask(r, o.server)
	if err != nil {
		return err
	}
	if err = t.count(ctx, r, o, len(data)); err != nil {
		return err
	}
	l, acquired, err := t.s.Store.Acquire(ctx, t.key(id), data, time.Until(r.Expires))
	switch {
	case err == nil && !acquired: // the id is random, so it was this server's, which has lost it
		err = task.ErrTaken
	case err == nil && !t.isOwn(id, o):
		err = errLeaseLost
	case err == nil:
		t.setOwn(o, l.Fence, r)
	}
	return err
}

// save stores the state of a task of this replica.
func (t *Tasks) save(ctx context.Context, r *task.Record, o *own) error {
	id := r.Task.TaskID
	data, err := encodeTask(r, o.server)
	if err != nil {
		return err
	}
	if ended := r.Task.Status.Terminal(); ended || int64(len(data)) > o.counted {
		if err := t.count(ctx, r, o, len(data)); err != nil {
			return err
		}
	}
	ttl := max(time.Until(r.Expires), time.Millisecond)
	version := o.version
	for range attempts {
		l, saved, err := t.s.Store.Replace(ctx, t.key(id), version, data, ttl)
		if err == nil && !saved {
			l, saved, err = t.compare(ctx, id, o, data, ttl)
		}
		switch {
		case err != nil:
			return err
		case !saved: // the version that was read is the replica's own
			version = l.Fence
			continue
		}
		t.setOwn(o, l.Fence, r)
		if r.Task.Status.Terminal() {
			t.forget(id)
		}
		return nil
	}
	return errContended
}

// compare finds out why the version of a task is another one. It stores what the store has lost
// again, and reports whether the store has the state now; if not, the version is that of the
// replica's own earlier state. Otherwise the error says that somebody else has ended the task.
func (t *Tasks) compare(ctx context.Context, id string, o *own, data []byte, ttl time.Duration) (
	l store.Lease, saved bool, err error) {
	l, err = t.s.Store.Holder(ctx, t.key(id))
	switch {
	case err != nil:
		return l, false, err
	case bytes.Equal(l.Data, data): // the reply of the store was lost
		return l, true, nil
	case l.Data == nil && l.Fence == 0:
		return t.s.Store.Acquire(ctx, t.key(id), data, ttl)
	case l.Data != nil:
		found, server, err := readTask(l)
		if err == nil && server == o.server && !found.Task.Status.Terminal() {
			return l, false, nil
		}
	}
	t.lookAt(id) // and end it here
	return l, false, task.ErrTaken
}

// Get implements [task.Shared].
func (t *Tasks) Get(ctx context.Context, id string) (r *task.Record, err error) {
	if !isTaskID(id) {
		return nil, nil
	}
	ctx, end := t.use(ctx)
	defer func() { end(&err) }()
	return t.find(ctx, id, nil)
}

// Cancel implements [task.Shared].
func (t *Tasks) Cancel(ctx context.Context, id string) (r *task.Record, err error) {
	ctx, end := t.use(ctx)
	defer func() { end(&err) }()
	return t.find(ctx, id, &task.Outcome{})
}

// CancelAll cancels the tasks of an owner, which nobody can ask for any more.
func (t *Tasks) CancelAll(ctx context.Context, owner string) (err error) {
	ctx, end := t.use(ctx)
	defer func() { end(&err) }()
	ids, err := t.idsOf(ctx, owner)
	for _, id := range ids {
		if err == nil {
			_, err = t.find(ctx, id, &task.Outcome{})
		}
	}
	return err
}

// find returns a task, or nil. It ends one that runs nowhere as failed, and one that runs with an
// outcome, if that is not nil.
func (t *Tasks) find(ctx context.Context, id string, outcome *task.Outcome) (*task.Record, error) {
	for range attempts {
		l, err := t.s.Store.Holder(ctx, t.key(id))
		if err != nil {
			return nil, err
		}
		if l.Data == nil {
			return nil, t.missing(ctx, l)
		}
		r, server, err := readTask(l)
		if err != nil || r.Task.Status.Terminal() {
			return r, err
		}
		runs, err := t.runs(ctx, id, server)
		if err != nil {
			return nil, err
		}
		o := outcome
		switch {
		case !runs:
			o = &task.Outcome{Failure: task.Lost}
		case o == nil:
			return r, nil
		}
		ended := r.EndedAs(*o)
		data, err := encodeTask(ended, server)
		if err != nil {
			return nil, err
		}
		_, saved, err := t.s.Store.Replace(ctx, t.key(id), l.Fence, data, time.Until(ended.Expires))
		if err != nil {
			return nil, err
		}
		if saved {
			t.Tell(id, r.Session)
			t.replica.Changed(id, r.Session)
			// If this fails, the list says that it runs until it expires.
			_ = t.markEnded(ctx, r.Owner, id)
			return ended, nil
		}
	}
	return nil, errContended
}

// missing returns an error if a task that the store does not have may be put back, because the
// store was empty a short time ago.
func (t *Tasks) missing(ctx context.Context, l store.Lease) error {
	if l.Fence != 0 { // it was removed
		return nil
	}
	isYoung, err := t.replicas.storeIs(ctx, young)
	if err == nil && isYoung {
		err = ErrEmptied
	}
	return err
}

// runs reports whether the replica on which a task runs does so still.
func (t *Tasks) runs(ctx context.Context, id, server string) (bool, error) {
	here := t.replicas.Own().Name == server
	t.mu.Lock()
	own := t.running[id]
	t.mu.Unlock()
	if own != nil || here {
		return own != nil, nil
	}
	switch _, err := t.replicas.Find(ctx, server); {
	case errors.Is(err, ErrGone):
		return false, nil
	default:
		return true, err
	}
}

// Delete implements [task.Shared].
func (t *Tasks) Delete(ctx context.Context, id string) (err error) {
	ctx, end := t.use(ctx)
	defer func() { end(&err) }()
	t.forget(id)
	return t.delete(ctx, id, "")
}

// delete removes a task. If the store no longer has it, its owner says in whose list it is.
func (t *Tasks) delete(ctx context.Context, id, owner string) error {
	for range attempts {
		l, err := t.s.Store.Holder(ctx, t.key(id))
		if err != nil {
			return err
		}
		if l.Data != nil {
			r, _, err := readTask(l)
			if err != nil {
				return err
			}
			owner = r.Owner
			removed, err := t.s.Store.Release(ctx, t.key(id), l.Fence, 0)
			if err != nil {
				return err
			}
			if !removed {
				continue
			}
		}
		if owner == "" {
			return nil
		}
		return t.uncount(ctx, owner, id)
	}
	return errContended
}

// List implements [task.Shared].
func (t *Tasks) List(ctx context.Context, owner, after string, limit int) (all []*task.Record,
	err error) {
	ctx, end := t.use(ctx)
	defer func() { end(&err) }()
	ids, err := t.idsOf(ctx, owner)
	for _, id := range ids {
		if id <= after || err != nil {
			continue
		}
		if len(all) == limit {
			break
		}
		var r *task.Record
		if r, err = t.find(ctx, id, nil); r != nil && err == nil {
			all = append(all, r)
		}
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// maxAnswers limits the answers that wait for the replica of one task, in bytes.
const maxAnswers = 1 << 20

func (t *Tasks) answersKey(id string) string { return t.s.Part + "answers/" + id }

// Answer implements [task.Shared].
func (t *Tasks) Answer(ctx context.Context, id string, answers map[string]task.Answer) (err error) {
	ctx, end := t.use(ctx)
	defer func() { end(&err) }()
	data, err := json.Marshal(answers)
	if err != nil {
		return err
	}
	if len(data) > maxAnswers {
		return task.ErrFull
	}
	life := max(2*t.replicas.life(), time.Minute) // who does not look for so long is gone
	for n := range attempts {
		if err := store.PauseBetween(ctx, n); err != nil {
			return err
		}
		l, acquired, err := t.s.Store.Acquire(ctx, t.answersKey(id), data, life)
		if err != nil {
			return err
		}
		if !acquired {
			merged := map[string]task.Answer{}
			for _, part := range [][]byte{data, l.Data} { // the first answer counts
				if err := json.Unmarshal(part, &merged); err != nil {
					return err
				}
			}
			both, err := json.Marshal(merged)
			if err != nil {
				return err
			}
			if len(both) > maxAnswers {
				return task.ErrFull
			}
			if _, acquired, err = t.s.Store.Replace(ctx, t.answersKey(id), l.Fence, both,
				life); err != nil {
				return err
			}
		}
		if acquired {
			t.Tell(id, "") // if it is lost, the replica finds the answers a little later
			return nil
		}
	}
	return errContended
}

// deliver passes the answers to a task on to it, and removes them.
func (t *Tasks) deliver(ctx context.Context, id string) error {
	for range attempts {
		l, err := t.s.Store.Holder(ctx, t.answersKey(id))
		if err != nil || l.Data == nil {
			return err
		}
		var answers map[string]task.Answer
		if err := json.Unmarshal(l.Data, &answers); err != nil {
			return err
		}
		t.replica.Answered(id, answers) // ignores what it has got before
		removed, err := t.s.Store.Release(ctx, t.answersKey(id), l.Fence, 0)
		if removed || err != nil {
			return err
		}
	}
	return errContended
}
