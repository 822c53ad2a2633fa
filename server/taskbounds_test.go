package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// stubborn adds a tool that waits only for the channel, and counts its running calls.
func stubborn(running *atomic.Int32, release <-chan struct{}) func(*server.Server) {
	return func(s *server.Server) {
		err := s.AddRawTool(
			server.RawTool{Tool: mcp.Tool{Name: "stubborn"}, Tasks: mcp.TaskOptional,
				Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
					running.Add(1)
					defer running.Add(-1)
					<-release
					return textResult("released"), nil
				}})
		if err != nil {
			panic(err)
		}
	}
}

// The limit counts running handlers, even if their tasks have ended.
func TestRunningTasksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		release := make(chan struct{})
		o := quiet
		o.Tasks.MaxRunning = 3
		s := newTaskServer(t, o, stubborn(&running, release))
		j := newTaskClient(t, s, newest, tasking)
		var ids []string
		for range 3 {
			ids = append(ids, j.begin("stubborn", `{}`).TaskID)
		}
		j.expectError("tools/call", `{"name":"stubborn"}`, rpc.CodeBusy, "3 tasks are running already")
		j.want("tasks/cancel", about(ids[0]), `{}`)
		assert.Equal(t, j.settled(ids[0]).Status, "cancelled")
		assert.Equal(t, running.Load(), int32(3))
		j.expectError("tools/call", `{"name":"stubborn"}`, rpc.CodeBusy, "3 tasks are running already")
		j.expectError("tools/call", `{"name":"failing_job"}`, rpc.CodeBusy,
			"3 tasks are running already")
		for i := range 15 { // each of these clients has its own limit
			other := newTaskClient(t, s, experimental, `{}`)
			for range 3 {
				other.beginNested("stubborn", `{}`)
			}
			if i == 14 {
				synctest.Wait()
				assert.Equal(t, running.Load(), int32(48))
				newTaskClient(t, s, experimental, `{}`).expectError("tools/call", `{"name":"stubborn","task":{}}`,
					rpc.CodeBusy, "48 tasks are running, which is the limit")
			}
		}
		close(release)
		assert.Equal(t, j.settled(ids[1]).text(), "released")
		assert.Equal(t, j.settled(ids[0]).Status, "cancelled") // a result after the end has no effect
		assert.Equal(t, j.settled(j.begin("stubborn", `{}`).TaskID).Status, "completed")
	})
}

func TestTaskTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.Tasks.TTL, o.Tasks.PollInterval = 10*time.Second, 100*time.Millisecond
		cause := make(chan error, 1)
		j := newTaskClient(t, newTaskServer(t, o, func(s *server.Server) {
			must(t, s.AddRawTool(
				server.RawTool{Tool: mcp.Tool{Name: "waits"}, Tasks: mcp.TaskOptional,
					Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult,
						error) {
						<-ctx.Done()
						cause <- context.Cause(ctx)
						return nil, ctx.Err()
					}}))
		}), newest, tasking)
		began := j.begin("waits", `{}`)
		assert.Equal(t, *began.TTLMs, int64(10_000))
		assert.Equal(t, *began.PollIntervalMs, int64(100))
		time.Sleep(9 * time.Second)
		assert.Equal(t, j.settled(began.TaskID).Status, "working")
		time.Sleep(time.Second)
		now := j.settled(began.TaskID)
		assert.Equal(t, now.Status, "failed")
		assert.Equal(t, now.Error.Code, -32603)
		assert.Equal(t, now.StatusMessage, "The task took longer than its limit of 10s")
		assert.ErrorContains(t, <-cause, "longer than its limit of 10s")
		time.Sleep(10*time.Second - time.Millisecond)
		assert.Equal(t, j.settled(began.TaskID).Status, "failed")
		time.Sleep(time.Millisecond)
		j.expectError("tasks/get", about(began.TaskID), -32602, "Unknown task")
	})
}

func TestCloseEndsTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		release := make(chan struct{})
		s := newTaskServer(t, quiet, stubborn(&running, release))
		j := newTaskClient(t, s, newest, tasking)
		asks, slow := j.begin("confirm_delete", `{}`).TaskID,
			j.begin("slow_compute", `{"seconds":100}`).TaskID
		done := j.begin("slow_compute", `{"seconds":0}`).TaskID
		synctest.Wait()
		must(t, s.Close(t.Context()))
		for _, id := range []string{asks, slow} {
			now := j.get(id)
			assert.Equal(t, now.Status, "failed")
			assert.Equal(t, now.StatusMessage, "The server was shut down before the task was done")
		}
		assert.Equal(t, j.get(done).Status, "completed")
		j.expectError("tools/call", `{"name":"slow_compute"}`, rpc.CodeBusy, "shutting down")
		must(t, s.Close(t.Context()))

		late := newTaskServer(t, quiet, stubborn(&running, release))
		j = newTaskClient(t, late, newest, tasking)
		id := j.begin("stubborn", `{}`).TaskID
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		before := time.Now()
		err := late.Close(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "1 tasks still run")
		assert.Equal(t, time.Since(before), time.Minute)
		assert.Equal(t, j.get(id).Status, "failed")
		close(release)
		must(t, late.Close(t.Context()))
	})
}

func TestQuestionsOfATaskAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newTaskClient(t, newTaskServer(t, quiet, func(s *server.Server) {
			must(t, s.AddRawTool(
				server.RawTool{Tool: mcp.Tool{Name: "curious"}, Tasks: mcp.TaskOptional,
					Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult,
						error) {
						asked, cancel := context.WithCancel(ctx)
						cancel()
						for i := range 1000 {
							_, err := server.Elicit(asked, "k", asksFor(fmt.Sprint("n", i)))
							if !errors.Is(err, context.Canceled) {
								return textResult(fmt.Sprint(i, " ", err)), nil
							}
						}
						return textResult("endless"), nil
					}}))
		}), newest, tasking)
		assert.Equal(t, j.settled(j.begin("curious", `{}`).TaskID).text(),
			"256 server: a task may ask no more than 256 questions")
	})
}

// A task for which there is no room, however many others end, evicts none.
func TestTaskThatNeverFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := server.MemoryTasks(10, 4000)
		put := func(id string, size int) error {
			r := &server.TaskRecord{Owner: id, Expires: time.Now().Add(time.Hour)}
			r.Task.TaskID, r.Task.Status = id, mcp.TaskCompleted
			r.Task.Result = json.RawMessage(strings.Repeat(" ", size))
			return store.Put(t.Context(), r)
		}
		assert.NilError(t, put("bob", 1000))
		assert.ErrorIs(t, put("ann", 5000), server.ErrTasksFull)
		kept, err := store.Get(t.Context(), "bob")
		assert.NilError(t, err)
		assert.Assert(t, kept != nil)
		assert.NilError(t, put("ann", 2500)) // evicts that of bob
	})
}

// A store refuses a task if it is full, or if the task is too large for it.
func TestTaskStoreIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.Tasks.Store = server.MemoryTasks(2, 4000)
		j := newTaskClient(t, newTaskServer(t, o, func(s *server.Server) {
			must(t, s.AddRawTool(
				server.RawTool{Tool: mcp.Tool{Name: "large"}, Tasks: mcp.TaskOptional,
					Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
						return textResult(strings.Repeat("x", 5000)), nil
					}}))
			must(t, s.AddRawTool(
				server.RawTool{Tool: mcp.Tool{Name: "verbose"}, Tasks: mcp.TaskOptional,
					Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult,
						error) {
						_, err := server.Elicit(ctx, "k", asksFor(strings.Repeat("x", 5000)))
						return textResult(err.Error()), nil
					}}))
		}), newest, tasking)
		now := j.settled(j.begin("large", `{}`).TaskID)
		assert.Equal(t, now.Status, "failed")
		assert.Equal(t, now.StatusMessage, "The result of the task could not be stored")
		now = j.settled(j.begin("verbose", `{}`).TaskID)
		assert.Equal(t, now.text(),
			`server: the question "k" of a task cannot be stored: server: there is no room for another task`)

		one, two := j.begin("slow_compute", `{"seconds":1}`).TaskID,
			j.begin("slow_compute", `{"seconds":2}`).TaskID
		j.expectError("tools/call", `{"name":"slow_compute"}`, rpc.CodeBusy, "no room for another task")
		time.Sleep(time.Second)
		synctest.Wait()
		j.begin("slow_compute", `{"seconds":1}`) // it replaces the ended task
		j.expectError("tasks/get", about(one), -32602, "Unknown task")
		assert.Equal(t, j.get(two).Status, "working")
	})
}

// A broken is a store that fails after a number of writes. Its error contains no details for
// clients.
type broken struct {
	server.TaskStore
	good atomic.Int32
}

var errBroken = errors.New("secret: the disk is full")

func (b *broken) Put(ctx context.Context, r *server.TaskRecord) error {
	if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil {
		return errors.New("there is no deadline, or it is over")
	}
	if b.good.Add(-1) < 0 {
		return errBroken
	}
	return b.TaskStore.Put(ctx, r)
}

func (b *broken) Get(ctx context.Context, id string) (*server.TaskRecord, error) {
	if b.good.Load() < 0 {
		return nil, errBroken
	}
	return b.TaskStore.Get(ctx, id)
}

func (b *broken) List(context.Context, string, string, int) ([]*server.TaskRecord, error) {
	return nil, errBroken
}

func TestTaskStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &broken{TaskStore: server.MemoryTasks(10, 1<<20)}
		o := quiet
		o.Tasks.Store = store
		s := newTaskServer(t, o)
		j, old := newTaskClient(t, s, newest, tasking), newTaskClient(t, s, experimental, `{}`)
		internal := func(method, params string) {
			t.Helper()
			assert.Equal(t, j.expectError(method, params, -32603, "").Error.Message, "Internal error")
		}
		internal("tools/call", `{"name":"slow_compute"}`)
		internal("tasks/get", about("x"))
		internal("tasks/cancel", about("x"))
		internal("subscriptions/listen", `{"notifications":{"taskIds":["x"]}}`)
		assert.Equal(t, old.expectError("tasks/list", "", -32603, "").Error.Message, "Internal error")

		store.good.Store(1) // the task can start but not end
		id := j.begin("slow_compute", `{"seconds":1}`).TaskID
		time.Sleep(time.Second)
		synctest.Wait()
		store.good.Store(100)
		j.expectError("tasks/get", about(id), -32602, "Unknown task") // otherwise it would run forever
	})
}

// Another server with the same store can report a task, but does not run it.
func TestTaskOfAnotherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.Tasks.Store = server.MemoryTasks(10, 1<<20)
		here, there := newTaskServer(t, o), newTaskServer(t, o)
		j := newTaskClient(t, here, newest, tasking)
		other := newTaskClient(t, there, newest, tasking)
		id := j.begin("confirm_delete", `{}`).TaskID
		synctest.Wait()
		assert.Equal(t, other.get(id).InputRequests["name"].Method, "elicitation/create")
		other.expectError("tasks/update", `{"taskId":"`+id+
			`","inputResponses":{"name":{"action":"cancel"}}}`, -32603,
			"does not run on this server")
		other.expectError("tasks/cancel", about(id), -32603, "does not run on this server")
		j.update(id, `{"name":{"action":"cancel"}}`)
		synctest.Wait()
		assert.Equal(t, other.get(id).text(), "deleted by cancel")
		other.want("tasks/cancel", about(id), `{}`)
	})
}

// A stale is a store that still returns expired tasks.
type stale struct{ server.TaskStore }

func expired(r *server.TaskRecord) *server.TaskRecord {
	old := *r
	old.Expires = time.Now()
	return &old
}

func (s stale) Get(ctx context.Context, id string) (*server.TaskRecord, error) {
	r, err := s.TaskStore.Get(ctx, id)
	return expired(r), err
}

func (s stale) List(ctx context.Context, owner, after string, limit int) ([]*server.TaskRecord,
	error) {
	all, err := s.TaskStore.List(ctx, owner, after, limit)
	for i, r := range all {
		all[i] = expired(r)
	}
	return all, err
}

func TestTasksThatHaveExpiredAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.Tasks.Store = stale{server.MemoryTasks(10, 1<<20)}
		j := newTaskClient(t, newTaskServer(t, o), experimental, `{}`)
		id := j.beginNested("protocol_error_job", `{}`).TaskID
		synctest.Wait()
		j.expectError("tasks/get", about(id), -32602, "Unknown task")
		j.want("tasks/list", "", `{"tasks":[]}`)
	})
}
