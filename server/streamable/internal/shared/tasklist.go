package shared

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/server/internal/task"
)

// The bounds of the tasks of one principal, in all replicas. Over them, ended tasks are removed:
// those of the owner with the most bytes, the oldest first.
const (
	maxTasks     = 1024
	maxTaskBytes = 64 << 20
	taskCost     = 4 << 10 // the least that a task counts: small changes need not be counted
)

// A listed is a task in the list of its principal, which the store has as a lease.
type listed struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
	Bytes int64  `json:"bytes"`
	Ended bool   `json:"ended,omitempty"`
	Until int64  `json:"until"` // when it expires, in microseconds of the store's clock
}

// listKey returns the key of the list that has the tasks of an owner. All legacy clients without a
// principal have one list, as they share what the principal "" may have.
func (t *Tasks) listKey(owner string) string {
	if strings.HasPrefix(owner, task.OwnerSession) {
		owner = task.OwnerSession
	}
	return t.s.Part + "tasks/" + owner
}

// changeList changes a list, which change may be asked for more than once, and removes the tasks
// that it returns, now or later. ttl is how long the list must last at least.
func (t *Tasks) changeList(ctx context.Context, owner string, ttl time.Duration,
	change func([]listed) (changed []listed, evicted []string, err error)) error {
	key := t.listKey(owner)
	for n := range attempts {
		if err := store.PauseBetween(ctx, n); err != nil {
			return err
		}
		l, err := t.s.Store.Holder(ctx, key)
		if err != nil {
			return err
		}
		var all []listed
		if l.Data != nil {
			if err := json.Unmarshal(l.Data, &all); err != nil {
				return err
			}
		}
		now := max(t.replicas.Now(), l.Fence)
		all = slices.DeleteFunc(all, func(one listed) bool { return one.Until <= now })
		all, evicted, err := change(all)
		if err != nil {
			return err
		}
		data, err := json.Marshal(all)
		if err != nil {
			return err
		}
		var done bool
		switch {
		case bytes.Equal(data, l.Data) && ttl <= l.Left, l.Data == nil && len(all) == 0:
			done = true
		case l.Data == nil:
			_, done, err = t.s.Store.Acquire(ctx, key, data, max(ttl, time.Millisecond))
		default:
			_, done, err = t.s.Store.Replace(ctx, key, l.Fence, data,
				max(ttl, l.Left, time.Millisecond))
		}
		if err != nil {
			return err
		}
		if !done {
			continue
		}
		for i, id := range evicted {
			if err := t.release(ctx, id); err != nil {
				for _, rest := range evicted[i:] { // they are counted no longer
					t.remove(rest, "")
				}
				break
			}
		}
		return nil
	}
	return errContended
}

// release removes a task that has ended.
func (t *Tasks) release(ctx context.Context, id string) error {
	l, err := t.s.Store.Holder(ctx, t.key(id))
	if err == nil && l.Data != nil {
		_, err = t.s.Store.Release(ctx, t.key(id), l.Fence, 0)
	}
	return err
}

// count lists a task of this replica, with the size that it is about to have. It fails if there is
// no room.
func (t *Tasks) count(ctx context.Context, r *task.Record, o *own, size int) error {
	if size > store.MaxValue {
		return store.ErrTooLarge
	}
	ttl := time.Until(r.Expires)
	one := listed{ID: r.Task.TaskID, Owner: r.Owner, Bytes: max(int64(size), taskCost),
		Ended: r.Task.Status.Terminal()}
	err := t.changeList(ctx, r.Owner, ttl, func(all []listed) ([]listed, []string, error) {
		all = slices.DeleteFunc(all, func(other listed) bool { return other.ID == one.ID })
		one.Until = t.replicas.Now() + ttl.Microseconds()
		all, evicted := makeRoom(all, one.Bytes)
		if len(all) >= maxTasks || one.Bytes+bytesOf(all) > maxTaskBytes {
			return nil, nil, task.ErrFull
		}
		return append(all, one), evicted, nil
	})
	if err == nil {
		t.mu.Lock()
		o.counted = one.Bytes
		t.mu.Unlock()
	}
	return err
}

func bytesOf(all []listed) (sum int64) {
	for _, one := range all {
		sum += one.Bytes
	}
	return sum
}

// makeRoom returns what is left of a list if there is to be room for one more task, and the ended
// tasks that are to be removed.
func makeRoom(all []listed, bytes int64) (left []listed, evicted []string) {
	for len(all) >= maxTasks || bytes+bytesOf(all) > maxTaskBytes {
		usage := map[string]int64{}
		var ended []listed
		for _, one := range all {
			usage[one.Owner] += one.Bytes
			if one.Ended {
				ended = append(ended, one)
			}
		}
		if ended == nil {
			break
		}
		victim := slices.MinFunc(ended, func(a, b listed) int {
			return cmp.Or(cmp.Compare(usage[b.Owner], usage[a.Owner]), strings.Compare(a.ID, b.ID))
		})
		all = slices.DeleteFunc(all, func(one listed) bool { return one.ID == victim.ID })
		evicted = append(evicted, victim.ID)
	}
	return all, evicted
}

// markEnded notes in the list that a task has ended, so that it may be removed for others.
func (t *Tasks) markEnded(ctx context.Context, owner, id string) error {
	return t.changeList(ctx, owner, 0, func(all []listed) ([]listed, []string, error) {
		for i := range all {
			if all[i].ID == id {
				all[i].Ended = true
			}
		}
		return all, nil, nil
	})
}

// uncount takes a task out of the list.
func (t *Tasks) uncount(ctx context.Context, owner, id string) error {
	return t.changeList(ctx, owner, 0, func(all []listed) ([]listed, []string, error) {
		return slices.DeleteFunc(all, func(one listed) bool { return one.ID == id }), nil, nil
	})
}

// idsOf returns the sorted ids of the tasks of an owner.
func (t *Tasks) idsOf(ctx context.Context, owner string) (ids []string, err error) {
	l, err := t.s.Store.Holder(ctx, t.listKey(owner))
	if err != nil || l.Data == nil {
		return nil, err
	}
	var all []listed
	if err := json.Unmarshal(l.Data, &all); err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.Owner == owner {
			ids = append(ids, one.ID)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
