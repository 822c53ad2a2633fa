package server_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

func record(id, owner string, status mcp.TaskStatus, size int) *server.TaskRecord {
	return &server.TaskRecord{
		Task:  mcp.Task{TaskID: id, Status: status, Result: make(json.RawMessage, size)},
		Owner: owner, Expires: time.Now().Add(time.Hour),
	}
}

// stored returns the ids of the tasks of these owners in a store.
func stored(t *testing.T, s server.TaskStore, owners ...string) (ids []string) {
	t.Helper()
	for _, owner := range owners {
		all, err := s.List(t.Context(), owner, "", 100)
		assert.NilError(t, err)
		for _, r := range all {
			ids = append(ids, r.Task.TaskID)
		}
	}
	return ids
}

func TestMemoryTasksMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		put := func(s server.TaskStore, r *server.TaskRecord, want error) {
			t.Helper()
			assert.Equal(t, s.Put(t.Context(), r), want)
		}
		s := server.MemoryTasks(4, 1<<20)
		put(s, record("1", "ann", mcp.TaskCompleted, 0), nil)
		put(s, record("2", "bob", mcp.TaskWorking, 0), nil)
		put(s, record("3", "bob", mcp.TaskCompleted, 0), nil)
		put(s, record("4", "bob", mcp.TaskFailed, 0), nil)
		// the oldest ended task of the owner that uses most is evicted
		put(s, record("5", "ann", mcp.TaskWorking, 0), nil)
		assert.DeepEqual(t, stored(t, s, "ann", "bob"), []string{"1", "5", "2", "4"})
		put(s, record("6", "bob", mcp.TaskWorking, 0), nil) // both use two: the oldest ended task goes
		assert.DeepEqual(t, stored(t, s, "ann", "bob"), []string{"5", "2", "4", "6"})
		put(s, record("4", "bob", mcp.TaskWorking, 0), nil) // replacing a task evicts none
		put(s, record("7", "ann", mcp.TaskWorking, 0), server.ErrTasksFull)
		assert.DeepEqual(t, stored(t, s, "ann", "bob"), []string{"5", "2", "4", "6"})

		s = server.MemoryTasks(10, 4000)
		put(s, record("1", "ann", mcp.TaskCompleted, 1000), nil)
		put(s, record("2", "ann", mcp.TaskCompleted, 1000), nil)
		put(s, record("2", "ann", mcp.TaskCompleted, 1900), nil) // it grows within the limit
		assert.DeepEqual(t, stored(t, s, "ann"), []string{"1", "2"})
		put(s, record("2", "ann", mcp.TaskCompleted, 3000), nil) // it grows beyond the limit
		assert.DeepEqual(t, stored(t, s, "ann"), []string{"2"})
		put(s, record("2", "ann", mcp.TaskCompleted, 4000), server.ErrTasksFull)
		assert.DeepEqual(t, stored(t, s, "ann"), []string{"2"})
		put(s, record("2", "ann", mcp.TaskCompleted, 10), nil) // it shrinks
		for i := range 5 {
			put(s, record(fmt.Sprint(3+i), "bob", mcp.TaskWorking, 0), nil)
		}
	})
}

func TestMemoryTasksExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server.MemoryTasks(4, 1<<20)
		assert.NilError(t, s.Put(t.Context(), record("1", "ann", mcp.TaskWorking, 0)))
		time.Sleep(30 * time.Minute)
		assert.NilError(t, s.Put(t.Context(), record("1", "ann", mcp.TaskCompleted, 0)))
		time.Sleep(59 * time.Minute)
		assert.DeepEqual(t, stored(t, s, "ann"), []string{"1"})
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, len(stored(t, s, "ann")), 0)
		assert.NilError(t, s.Delete(t.Context(), "1"))
	})
}

func TestMemoryTasksList(t *testing.T) {
	s := server.MemoryTasks(10, 1<<20)
	for _, id := range []string{"3", "1", "2", "4"} {
		assert.NilError(t, s.Put(t.Context(), record(id, "ann", mcp.TaskWorking, 0)))
	}
	got, err := s.List(t.Context(), "ann", "1", 2)
	assert.NilError(t, err)
	assert.Equal(t, len(got), 2)
	assert.Equal(t, got[0].Task.TaskID+got[1].Task.TaskID, "23")
	assert.NilError(t, s.Delete(t.Context(), "2"))
	assert.DeepEqual(t, stored(t, s, "ann", "bob"), []string{"1", "3", "4"})
}

// A store may keep records as JSON.
func TestTaskRecordIsJSON(t *testing.T) {
	ttl := int64(5)
	for _, r := range []server.TaskRecord{
		{Owner: "ann", Expires: time.Unix(1, 0).UTC(),
			Task: mcp.Task{TaskID: "1", Status: mcp.TaskCompleted, TTLMs: &ttl,
				Result: json.RawMessage(`{"a":1}`)}},
		{Owner: "ann", Expires: time.Unix(1, 0).UTC(),
			Task: mcp.Task{TaskID: "1", Status: mcp.TaskFailed, StatusMessage: "m",
				Error: &rpc.Error{Code: -1, Message: "m"}}},
		{Owner: "ann", Expires: time.Unix(1, 0).UTC(),
			Task: mcp.Task{TaskID: "1", Status: mcp.TaskInputRequired,
				InputRequests: mcp.InputRequests{
					"k": {Method: "roots/list", Params: json.RawMessage(`{"a":1}`)}}}},
	} {
		text, err := json.Marshal(r)
		assert.NilError(t, err)
		var again server.TaskRecord
		assert.NilError(t, json.Unmarshal(text, &again))
		assert.DeepEqual(t, again, r)
	}
}
