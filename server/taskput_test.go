package server_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A slow is a store whose writes take time.
type slow struct {
	server.TaskStore
	mu   sync.Mutex
	time time.Duration
}

func (s *slow) takes(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.time = d
}

func (s *slow) Put(ctx context.Context, r *server.TaskRecord) error {
	s.mu.Lock()
	d := s.time
	s.mu.Unlock()
	if err := sleeps(ctx, d); err != nil {
		return err
	}
	return s.TaskStore.Put(ctx, r)
}

// A slow store delays a handler and its client only when they need it.
func TestSlowTaskStoreDelaysNoHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slow{TaskStore: server.MemoryTasks(10, 1<<20)}
		o := quiet
		o.Tasks.Store = store
		took := make(chan time.Duration, 3)
		j := newTaskClient(t, newTaskServer(t, o, func(s *server.Server) {
			must(t, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "busy"}, Tasks: mcp.TaskRequired,
				Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
					store.takes(9 * time.Second)
					begin := time.Now()
					var asking sync.WaitGroup
					for _, key := range []string{"one", "two"} {
						asking.Go(func() {
							_, err := elicited(ctx, key, key)
							assert.Check(t, err)
							took <- time.Since(begin)
						})
					}
					time.Sleep(time.Second) // the store is writing
					begin = time.Now()
					server.Progress(ctx, 1, 2, "on")
					took <- time.Since(begin)
					asking.Wait()
					store.takes(0)
					return textResult("done"), nil
				}}))
		}), newest, tasking)
		id := j.begin("busy", `{}`).TaskID
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, <-took, time.Duration(0), "Progress")
		assert.Equal(t, len(j.get(id).InputRequests), 2)
		j.start("tasks/update", `{"taskId":"`+id+
			`","inputResponses":{"one":{"action":"cancel"},"two":{"action":"cancel"}}}`)
		synctest.Wait()
		assert.Assert(t, <-took <= 2*time.Second, "Elicit")
		time.Sleep(time.Minute)
		j.next()
		assert.Equal(t, j.get(id).text(), "done")
	})
}

// While a call becomes a task, its other goroutines may ask a question. Then it does not become a
// task.
func TestSlowTaskStoreLetsAskBeforeTheTaskBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slow{TaskStore: server.MemoryTasks(10, 1<<20), time: 9 * time.Second}
		o := quiet
		o.Tasks.Store = store
		asked := make(chan time.Duration, 1)
		j := newTaskClient(t, newTaskServer(t, o, func(s *server.Server) {
			must(t, s.AddRawTool(
				server.RawTool{Tool: mcp.Tool{Name: "busy"}, Tasks: mcp.TaskRequired, TaskLater: true,
					Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult,
						error) {
						var asking sync.WaitGroup
						begin := time.Now()
						asking.Go(func() {
							time.Sleep(time.Second)
							_, err := elicited(ctx, "name", "name")
							assert.Check(t, err != nil)
							asked <- time.Since(begin)
						})
						err := server.BecomeTask(ctx)
						asking.Wait()
						return nil, err
					}}))
		}), newest, tasking)
		m := j.request("tools/call", `{"name":"busy"}`)
		assert.Equal(t, <-asked, time.Second)
		var result struct{ ResultType string }
		must(t, json.Unmarshal(m.Result, &result))
		assert.Equal(t, result.ResultType, "input_required", m.raw)
		assert.Equal(t, len(stored(t, store, "modern ")), 0)
	})
}

// A store that ignores the end of its context delays the end of a task for a limited time, and
// other tasks not at all.
func TestDeafTaskStoreStrandsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		o := quiet
		defer close(release)
		o.Tasks.Store = deaf{server.MemoryTasks(10, 1<<20), release}
		s := newTaskServer(t, o)
		j := newTaskClient(t, s, newest, tasking)
		j.start("tools/call", `{"name":"slow_compute"}`)
		time.Sleep(30 * time.Second)
		assert.Equal(t, j.next().fails(-32603, "").Error.Message, "Internal error")
		must(t, s.Close(t.Context()))
	})
}

type deaf struct {
	server.TaskStore
	release chan struct{}
}

func (d deaf) Put(context.Context, *server.TaskRecord) error {
	<-d.release
	return nil
}
