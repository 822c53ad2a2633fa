package shared

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/task"
)

// A cable is the way of one replica to a store, which can be cut, and lose the reply to a change.
type cable struct {
	*store.Memory
	cut   atomic.Bool
	quiet atomic.Bool  // notices are lost
	stuck atomic.Bool  // nothing can be released
	loses atomic.Int32 // n: the reply to the nth change from now is lost
}

func (c *cable) call() error {
	if c.cut.Load() {
		return redis.ErrUnavailable
	}
	return nil
}

func (c *cable) reply(err error) error {
	if err == nil && c.loses.Load() > 0 && c.loses.Add(-1) == 0 {
		return redis.ErrUnknown
	}
	return err
}

func (c *cable) Acquire(ctx context.Context, key string, data []byte, ttl time.Duration) (
	l store.Lease, acquired bool, err error) {
	if err = c.call(); err == nil {
		l, acquired, err = c.Memory.Acquire(ctx, key, data, ttl)
	}
	return l, acquired, c.reply(err)
}

func (c *cable) Replace(ctx context.Context, key string, fence int64, data []byte,
	ttl time.Duration) (l store.Lease, replaced bool, err error) {
	if err = c.call(); err == nil {
		l, replaced, err = c.Memory.Replace(ctx, key, fence, data, ttl)
	}
	return l, replaced, c.reply(err)
}

func (c *cable) Holder(ctx context.Context, key string) (l store.Lease, err error) {
	if err = c.call(); err == nil {
		l, err = c.Memory.Holder(ctx, key)
	}
	return l, err
}

func (c *cable) Renew(ctx context.Context, key string, fence int64, ttl time.Duration) (ok bool,
	err error) {
	if err = c.call(); err == nil {
		ok, err = c.Memory.Renew(ctx, key, fence, ttl)
	}
	return ok, err
}

func (c *cable) Release(ctx context.Context, key string, fence int64, within time.Duration) (
	ok bool, err error) {
	if err = c.call(); err == nil && c.stuck.Load() {
		err = redis.ErrUnavailable
	}
	if err == nil {
		ok, err = c.Memory.Release(ctx, key, fence, within)
	}
	return ok, err
}

func (c *cable) Publish(ctx context.Context, channel string, message []byte) error {
	if err := c.call(); err != nil || c.quiet.Load() {
		return err
	}
	return c.Memory.Publish(ctx, channel, message)
}

// A replica is one in a synctest bubble.
type replica struct {
	*Tasks
	t     *testing.T
	host  *task.Tasks
	cable *cable
	stop  func() // ends it, as when its handler is closed
	kill  func() // ends it without a word

	mu      sync.Mutex
	watched []string // tasks that clients subscribe to
	told    []string // tasks of which clients were told
}

// replicas returns replicas with one store, which do not think that it was empty a moment ago.
func replicas(t *testing.T, n int) []*replica {
	of := new(store.Memory)
	all := make([]*replica, n)
	for i := range all {
		r := &replica{t: t, cable: &cable{Memory: of}}
		log := slog.New(slog.DiscardHandler)
		r.host = task.New(task.Options{Log: log})
		sessions := newSessions(r.cable)
		leases := &Replicas{Sessions: sessions, Log: log, Lost: func() { r.Lose() }}
		r.Tasks = NewTasks(leases, task.Replica{Tasks: r.host,
			Changed: func(id, _ string) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.told = append(r.told, id)
			},
			Watched: func() []string {
				r.mu.Lock()
				defer r.mu.Unlock()
				return r.watched
			}})
		r.host.Share(r.Tasks)
		_, err := sessions.lookAtEpoch(t.Context())
		assert.NilError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { leases.Run(ctx) })
		running.Go(func() { r.Run(ctx) })
		running.Go(func() {
			sessions.Follow(ctx, func(n *Notice) {
				switch {
				case n == nil:
					r.Missed()
				case n.Task != "":
					r.Heard(n)
				}
			})
		})
		r.stop = func() {
			cancel()
			running.Wait()
			_ = leases.Release(context.Background())
		}
		r.kill = func() {
			r.cable.cut.Store(true)
			r.stop()
		}
		t.Cleanup(r.stop)
		all[i] = r
	}
	time.Sleep(2 * time.Minute)
	return all
}

// A job is the handler of a task.
type job struct {
	*task.Task
	id  string
	ctx context.Context
}

type noLink struct{}

// An answering link is one whose client answers each request with it.
type answering struct {
	noLink
	answer string
}

func (a answering) Call(_ context.Context, _ string, _, result any) error {
	*result.(*json.RawMessage) = json.RawMessage(a.answer)
	return nil
}

func (noLink) Notify(context.Context, string, any) error    { return nil }
func (noLink) Call(context.Context, string, any, any) error { return nil }

// start creates a task, whose handler runs until its end is called.
func (r *replica) start(owner string) (*job, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	j := &job{ctx: ctx}
	j.Task = task.Call{Tasks: r.host, Modern: true, Owner: owner, Tool: "job", QuotaOwner: owner,
		TTL: r.host.TTL, Link: task.NewLink(noLink{}), Context: ctx, Cancel: cancel,
		Mutex: new(sync.Mutex), Stopped: func() error { return nil },
		Retain:   func(int) error { return nil },
		LogError: func(err error) error { return err },
		Notify:   func(id string) { r.Tell(id, "") }}.New()
	err := j.Create()
	if err != nil {
		j.Returned(task.Outcome{})
	}
	j.id = j.Initial().TaskID
	return j, err
}

func (r *replica) mustStart(owner string) *job {
	r.t.Helper()
	j, err := r.start(owner)
	assert.NilError(r.t, err)
	return j
}

// result lets a handler return a result, and waits until its task has ended here.
func (j *job) result(text string) {
	j.Returned(task.Outcome{Result: json.RawMessage(`{"text":"` + text + `"}`)})
}

func (r *replica) status(id string) string {
	r.t.Helper()
	found, err := r.Get(r.t.Context(), id)
	assert.NilError(r.t, err)
	if found == nil {
		return "none"
	}
	return string(found.Task.Status)
}

// The tasks of a replica that is gone fail in the time of its lease, and clients elsewhere are told
// without asking.
func TestLostReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicas(t, 2)
		here, there := all[0], all[1]
		j, done := here.mustStart("ann"), here.mustStart("ann")
		done.result("x")
		there.mu.Lock()
		there.watched = []string{j.id}
		there.mu.Unlock()
		assert.Equal(t, there.status(j.id), "working")
		here.kill()
		assert.Equal(t, there.status(j.id), "working")
		time.Sleep(ReplicaLife + ReplicaLife/6)
		synctest.Wait()
		there.mu.Lock()
		told := there.told[len(there.told)-1]
		there.mu.Unlock()
		assert.Equal(t, told, j.id)
		r, err := there.Get(t.Context(), j.id)
		assert.NilError(t, err)
		assert.Equal(t, r.Task.StatusMessage, task.Lost.Message)
		assert.Equal(t, r.Task.Error.Code, rpc.CodeInternalError)
		assert.Equal(t, there.status(done.id), "completed")
		listed, err := there.List(t.Context(), "ann", "", 10)
		assert.NilError(t, err)
		assert.Equal(t, len(listed), 2)
		j.result("late")
		assert.Equal(t, there.status(j.id), "failed")
		time.Sleep(2 * time.Hour)
		assert.Equal(t, there.status(j.id), "none")
	})
}

// A replica that has not reached the store for the time of its lease ends its tasks before others
// may say that they have failed, and can then store nothing of them.
func TestReplicaLosesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicas(t, 2)
		here, there := all[0], all[1]
		time.Sleep(time.Second) // after the lease is renewed
		one, other, quick := here.mustStart("ann"), here.mustStart("ann"), here.mustStart("ann")
		here.cable.cut.Store(true)
		_, err := here.start("ann")
		assert.ErrorIs(t, err, task.ErrUnavailable)
		assert.ErrorIs(t, one.End(t.Context()), task.ErrUnavailable)
		time.Sleep(ReplicaLife / 2)
		ended := make(chan struct{})
		go func() { // ends while the store cannot be reached, and waits
			other.result("too late")
			close(ended)
		}()
		lost := time.Now()
		<-ended
		assert.Assert(t, time.Since(lost) < ReplicaLife)
		synctest.Wait()
		assert.Equal(t, context.Cause(quick.ctx), error(task.Lost))
		assert.Equal(t, there.status(quick.id), "working") // its lease is just not over
		time.Sleep(ReplicaLife / 3)
		for _, j := range []*job{one, other, quick} {
			assert.Equal(t, there.status(j.id), "failed")
		}
		here.cable.cut.Store(false)
		quick.result("never seen")
		time.Sleep(time.Minute)
		assert.Equal(t, here.status(quick.id), "failed")
		again := here.mustStart("ann") // with another lease
		assert.Equal(t, there.status(again.id), "working")
		again.result("x")
		assert.Equal(t, there.status(again.id), "completed")
	})
}

// What ends while the store cannot be reached is stored when it can.
func TestOutcomeWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicas(t, 2)
		here, there := all[0], all[1]
		j := here.mustStart("ann")
		here.cable.cut.Store(true)
		go j.result("<x>")
		time.Sleep(ReplicaLife / 2)
		assert.Equal(t, there.status(j.id), "working")
		here.cable.cut.Store(false)
		time.Sleep(time.Second)
		r, err := there.Get(t.Context(), j.id)
		assert.NilError(t, err)
		assert.Equal(t, string(r.Task.Result), `{"text":"<x>"}`)
	})
}

// A task that another replica has ended is not ended otherwise by its own, which has not heard of
// that.
func TestFencing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicas(t, 2)
		here, there := all[0], all[1]
		j := here.mustStart("ann")
		there.cable.quiet.Store(true)
		r, err := there.Cancel(t.Context(), j.id)
		assert.NilError(t, err)
		assert.Equal(t, r.Task.Status, mcp.TaskCancelled)
		late := *r
		late.Task.Status, late.Task.Result = mcp.TaskCompleted, json.RawMessage(`{}`)
		assert.ErrorIs(t, here.Put(t.Context(), &late), task.ErrTaken)
		assert.Equal(t, there.status(j.id), "cancelled")
		synctest.Wait()
		assert.ErrorContains(t, context.Cause(j.ctx), "cancelled")
		j.result("late")
		assert.Equal(t, here.status(j.id), "cancelled")
		r, err = there.Cancel(t.Context(), j.id)
		assert.NilError(t, err)
		assert.Equal(t, r.Task.Status, mcp.TaskCancelled)
	})
}

// A task that was removed is not stored again, whenever its replica hears of that.
func TestRemovedTaskStaysRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicas(t, 2)
		here, there := all[0], all[1]
		for _, knows := range []bool{true, false} {
			j := here.mustStart("ann")
			there.cable.quiet.Store(true)
			assert.NilError(t, there.Delete(t.Context(), j.id))
			if !knows { // as between forgetting the task and ending it
				here.forget(j.id)
			}
			now := j.Snapshot()
			assert.ErrorIs(t, here.Put(t.Context(), &now), task.ErrTaken)
			j.result("late")
			assert.Equal(t, there.status(j.id), "none")
			assert.Equal(t, len(there.mustList("ann")), 0)
		}
	})
}

// A state that no replica of this version has written harms nothing but its task.
func TestOddStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := replicas(t, 1)[0]
		for i, odd := range []string{``, `null`, `[]`, `{`, `{"task":{}}`, `{"task":null,"owner":1}`,
			`{"task":{"taskId":"x","status":"working","ttlMs":null}}`,
			`{"task":{"taskId":"x","status":"completed","result":}}`} {
			id := fmt.Sprintf("%011x-%s", i, strings.Repeat("A", 26))
			_, _, err := r.cable.Acquire(t.Context(), r.key(id), []byte(odd), time.Hour)
			assert.NilError(t, err)
			for range 2 {
				_, err = r.Get(t.Context(), id)
				assert.ErrorIs(t, err, task.ErrUnavailable, odd)
				_, err = r.Cancel(t.Context(), id)
				assert.ErrorIs(t, err, task.ErrUnavailable, odd)
			}
		}
		j := r.mustStart("ann")
		_, _, err := r.cable.Acquire(t.Context(), r.answersKey(j.id), []byte(`{"a":1}`), time.Hour)
		assert.NilError(t, err)
		time.Sleep(time.Minute)
		j.result("x")
		assert.Equal(t, r.status(j.id), "completed")
	})
}

// A task whose beginning the store has not confirmed does not stay.
func TestTaskThatMayHaveBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicas(t, 2)
		here := all[0]
		here.mustStart("ann")
		for lost := range int32(3) {
			here.cable.loses.Store(lost + 1)
			_, err := here.start("bob") // the reply of the list, or of the task, is lost
			here.cable.loses.Store(0)
			if err == nil {
				continue
			}
			assert.ErrorIs(t, err, task.ErrUnavailable)
			for _, r := range here.mustList("bob") { // not until the store has none
				assert.Equal(t, r.Task.Status, mcp.TaskFailed)
			}
			time.Sleep(ReplicaLife)
		}
		listed, err := all[1].List(t.Context(), "bob", "", 10)
		assert.NilError(t, err)
		assert.Equal(t, len(listed), 1)
		ids, err := all[1].idsOf(t.Context(), "bob")
		assert.NilError(t, err)
		assert.Equal(t, len(ids), 1)
	})
}

// One principal has no more than its part, of which the oldest ended tasks make room, and no other
// notices.
func TestTasksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := replicas(t, 1)[0]
		first := r.mustStart("ann")
		first.result("x")
		count := func(owner string, n int, status mcp.TaskStatus, bytes int) error {
			return r.count(t.Context(), &task.Record{Owner: owner,
				Expires: time.Now().Add(time.Hour), Task: mcp.Task{Status: status,
					TaskID: fmt.Sprintf("f%010x-%s", n, strings.Repeat("A", 26))}}, new(own), bytes)
		}
		assert.NilError(t, count("bob", 1, mcp.TaskWorking, 1))
		assert.ErrorIs(t, count("ann", 1, mcp.TaskWorking, store.MaxValue+1), store.ErrTooLarge)
		for i := range 4 {
			assert.NilError(t, count("ann", i, mcp.TaskWorking, 15<<20))
		}
		assert.Equal(t, r.status(first.id), "completed")
		assert.ErrorIs(t, count("ann", 20, mcp.TaskWorking, 5<<20), task.ErrFull)
		assert.Equal(t, r.status(first.id), "completed")
		for i := range 2 {
			assert.NilError(t, count("ann", i, mcp.TaskCompleted, 15<<20))
		}
		assert.NilError(t, count("ann", 20, mcp.TaskWorking, 5<<20)) // in place of the oldest
		ids, err := r.idsOf(t.Context(), "ann")
		assert.NilError(t, err)
		assert.Equal(t, len(ids), 4)
		assert.Equal(t, r.status(first.id), "none")
		ids, err = r.idsOf(t.Context(), "bob")
		assert.NilError(t, err)
		assert.Equal(t, len(ids), 1)
		for i := range 4 {
			assert.NilError(t, count("cal", i, mcp.TaskWorking, 15<<20))
		}
		assert.ErrorIs(t, count("cal", 5, mcp.TaskWorking, 15<<20), task.ErrFull)
		time.Sleep(time.Hour + time.Second) // what has expired makes room
		assert.NilError(t, count("cal", 5, mcp.TaskWorking, 15<<20))
	})
	// Ended tasks whose removal fails are removed later.
	synctest.Test(t, func(t *testing.T) {
		r := replicas(t, 1)[0]
		var ended []*job
		for range 3 {
			j := r.mustStart("ann")
			j.result("x")
			ended = append(ended, j)
		}
		r.cable.stuck.Store(true)
		for i := range 4 {
			assert.NilError(t, r.count(t.Context(), &task.Record{Owner: "ann",
				Expires: time.Now().Add(time.Hour), Task: mcp.Task{Status: mcp.TaskWorking,
					TaskID: fmt.Sprintf("f%010x-%s", i, strings.Repeat("A", 26))}}, new(own), 16<<20))
		}
		r.cable.stuck.Store(false)
		time.Sleep(ReplicaLife)
		for _, j := range ended {
			assert.Equal(t, r.status(j.id), "none")
		}
	})
	// A result that the store does not take makes its task fail.
	synctest.Test(t, func(t *testing.T) {
		r := replicas(t, 1)[0]
		j := r.mustStart("ann")
		j.result(strings.Repeat("x", store.MaxValue))
		found, err := r.Get(t.Context(), j.id)
		assert.NilError(t, err)
		assert.Equal(t, found.Task.StatusMessage,
			"The result of the task could not be stored: it has 16777227 bytes, which is too large")
	})
	all := make([]listed, maxTasks)
	for i := range all {
		all[i] = listed{ID: fmt.Sprint(10000 + i), Owner: fmt.Sprint("session ", i%2), Ended: i > 9}
	}
	all[2].Bytes, all[2].Owner = 1<<20, "session 1"
	left, evicted := makeRoom(all, 1)
	assert.Equal(t, len(left), maxTasks-1)
	assert.DeepEqual(t, evicted, []string{"10011"}) // the oldest of whom has the most
}

// Many tasks of one principal begin at once on all replicas.
func TestTasksBeginAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicas(t, 3)
		var group sync.WaitGroup
		for i := range 60 {
			group.Go(func() {
				j, err := all[i%3].start("ann")
				assert.Check(t, err == nil, "%v", err)
				j.result("x")
			})
		}
		group.Wait()
		assert.Equal(t, len(all[0].mustList("ann")), 60)
	})
}

func (r *replica) mustList(owner string) []*task.Record {
	r.t.Helper()
	all, err := r.List(r.t.Context(), owner, "", 100)
	assert.NilError(r.t, err)
	return all
}

// What a handler reports is read elsewhere a little later, whatever happens to single writes.
func TestStatusMessagesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicas(t, 2)
		j := all[0].mustStart("ann")
		for i := range 100 {
			j.Report(float64(i), 100, "")
		}
		time.Sleep(2 * time.Second)
		r, err := all[1].Get(t.Context(), j.id)
		assert.NilError(t, err)
		assert.Equal(t, r.Task.StatusMessage, "99 of 100")
		all[0].cable.cut.Store(true)
		j.Report(100, 100, "")
		time.Sleep(2 * time.Second)
		all[0].cable.cut.Store(false)
		j.Report(101, 101, "")
		j.result("x")
		j.SaveAndNotify() // a change of before the end that is late
		time.Sleep(2 * time.Second)
		r, err = all[1].Get(t.Context(), j.id)
		assert.NilError(t, err)
		assert.Equal(t, r.Task.Status, mcp.TaskCompleted)
		assert.Equal(t, r.Task.StatusMessage, "")
	})
}

// Questions, and that they are answered, are stored when the store can be reached again.
func TestQuestionsWaitForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicas(t, 2)
		here, there := all[0], all[1]
		j := here.mustStart("ann")
		asked := make(chan error, 1)
		here.cable.cut.Store(true)
		go func() {
			asked <- j.Ask(j.ctx, "a", mcp.InputRequest{Method: "elicitation/create"}, nil,
				func([]byte) error { return nil })
		}()
		time.Sleep(3 * time.Second)
		here.cable.cut.Store(false)
		time.Sleep(time.Second)
		assert.Equal(t, there.status(j.id), "input_required")
		here.cable.cut.Store(true)
		assert.Assert(t, j.Answer("a", json.RawMessage(`{}`)))
		j.SaveAndNotify() // does not wait for the store
		assert.NilError(t, <-asked)
		time.Sleep(3 * time.Second)
		assert.Equal(t, there.status(j.id), "input_required")
		here.cable.cut.Store(false)
		time.Sleep(time.Second)
		assert.Equal(t, there.status(j.id), "working")
		here.cable.cut.Store(true)
		j.SaveAndNotify()
		go j.result("x") // nothing of before the end is stored after it
		time.Sleep(3 * time.Second)
		here.cable.cut.Store(false)
		time.Sleep(time.Second)
		assert.Equal(t, there.status(j.id), "completed")
	})
}

// Answers wait for the replica that asked, in bounds; the first to a question counts.
func TestAnswersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicas(t, 2)
		here, there := all[0], all[1]
		j := here.mustStart("ann")
		got := make(chan string, 2)
		for _, key := range []string{"a", "b"} {
			go func() {
				_ = j.Ask(j.ctx, key, mcp.InputRequest{Method: "elicitation/create"}, nil,
					func(answer []byte) error {
						got <- string(answer)
						return nil
					})
			}()
		}
		synctest.Wait()
		r, err := there.Get(t.Context(), j.id)
		assert.NilError(t, err)
		assert.Equal(t, len(r.Task.InputRequests), 2)
		here.cable.cut.Store(true) // it hears nothing
		answer := func(key, text string) error {
			return there.Answer(t.Context(), j.id,
				map[string]task.Answer{key: {Result: json.RawMessage(`"` + text + `"`)}})
		}
		assert.NilError(t, answer("a", "first"))
		assert.NilError(t, answer("a", "second"))
		assert.ErrorIs(t, answer("b", strings.Repeat("x", maxAnswers)), task.ErrFull)
		here.cable.cut.Store(false)
		assert.Equal(t, <-got, `"first"`) // although no notice arrives
		assert.NilError(t, answer("b", "at once"))
		assert.Equal(t, <-got, `"at once"`)
		synctest.Wait()
		l, err := there.cable.Holder(t.Context(), there.answersKey(j.id))
		assert.NilError(t, err)
		assert.Assert(t, l.Data == nil, "answers that were delivered stay in the store")
		j.result("x")
	})
}

// The handler hears of an answer that has no room in the store, when there is room for that.
func TestAnswerHasNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicas(t, 2)
		here, there := all[0], all[1]
		here.cable.quiet.Store(true)
		there.cable.quiet.Store(true)
		for _, size := range []int{maxAnswers, maxAnswers / 2} {
			j := here.mustStart("ann")
			full := map[string]task.Answer{"other": {Result: json.RawMessage(
				`"` + strings.Repeat("x", maxAnswers-40) + `"`)}}
			if size < maxAnswers {
				assert.NilError(t, there.Answer(t.Context(), j.id, full))
			}
			asked := make(chan error, 1)
			go func() {
				asked <- j.Ask(j.ctx, "a", mcp.InputRequest{Method: "elicitation/create"}, nil,
					func([]byte) error { return nil })
			}()
			synctest.Wait()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = there.host.AwaitElsewhere(t.Context(), answering{
					answer: `"` + strings.Repeat("x", size) + `"`}, j.id)
			}()
			select {
			case err := <-asked:
				assert.ErrorContains(t, err, "has no room in the store")
			case <-time.After(time.Minute):
				t.Error("the handler waits for an answer that was dropped")
			}
			j.result("x")
			<-ended
		}
	})
}

// Whatever fails, a task that has ended stays as it has ended, has a result only if its handler
// returned it, and none runs on for longer than the lease of its replica.
func TestTasksInRandomHistories(t *testing.T) {
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 37))
			all := replicas(t, 3)
			final, jobs := map[string]string{}, map[string]*job{}
			var ids []string
			returned := map[string]bool{}
			look := func() {
				for _, id := range ids {
					r, err := all[random.IntN(3)].Get(t.Context(), id)
					if err != nil || r == nil {
						continue
					}
					now := string(r.Task.Status) + string(r.Task.Result) + r.Task.StatusMessage
					if before := final[id]; before != "" {
						assert.Equal(t, now, before, "seed %d", seed)
					} else if r.Task.Status.Terminal() {
						final[id] = now
					}
					if r.Task.Status == mcp.TaskCompleted {
						assert.Assert(t, returned[id], "seed %d", seed)
					}
				}
			}
			for range 150 {
				r := all[random.IntN(3)]
				switch random.IntN(6) {
				case 0, 1:
					if j, err := r.start("ann"); err == nil {
						jobs[j.id] = j
						ids = append(ids, j.id)
					}
				case 2, 3:
					i := slices.IndexFunc(ids, func(id string) bool { return !returned[id] })
					if i >= 0 {
						returned[ids[i]] = true
						go jobs[ids[i]].result(ids[i])
					}
				case 4:
					r.cable.cut.Store(random.IntN(2) == 0)
				case 5:
					if len(ids) > 0 {
						_, _ = r.Cancel(t.Context(), ids[random.IntN(len(ids))])
					}
				}
				r.cable.loses.Store(random.Int32N(20))
				r.cable.quiet.Store(random.IntN(4) == 0)
				time.Sleep(time.Duration(random.IntN(8000)) * time.Millisecond)
				look()
			}
			for _, r := range all {
				r.cable.cut.Store(false)
				r.cable.loses.Store(0)
			}
			for _, id := range ids {
				if !returned[id] {
					returned[id] = true
					go jobs[id].result(id)
				}
			}
			time.Sleep(2 * ReplicaLife)
			synctest.Wait()
			look()
			for _, id := range ids {
				if all[0].status(id) != "none" {
					assert.Assert(t, final[id] != "", "seed %d: a task has not ended", seed)
				}
			}
			assert.Assert(t, len(final) > 5, "seed %d: %d tasks", seed, len(final))
		})
	}
}
