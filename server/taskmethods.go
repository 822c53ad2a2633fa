package server

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/items"
	"github.com/stdwire/stdwire/server/internal/subscriptions"
	"github.com/stdwire/stdwire/server/internal/task"
)

// needTasks returns an error if the client cannot have tasks.
func (r *request) needTasks() error {
	switch {
	case r.era.Replicated || r.era.NoTasks:
		return errReplicated
	case !r.era.Modern && !r.era.ExperimentalTasks():
		return rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: %s is not part of revision %s",
			r.Method, r.era.Revision)
	}
	return nil
}

// maySeeTask reports whether a task exists for the client: it is the client's own, and the client
// may still see its tool.
func (r *request) maySeeTask(record *task.Record) bool {
	return record != nil && record.Owner == r.taskOwner() &&
		(record.Tool == "" || r.conn.server.showsTasksOf(r, record.Tool))
}

// findTask returns the record of the task that a request names, and the task itself if it runs on
// this server.
func (r *request) findTask() (*task.Task, task.Record, error) {
	if err := r.needTasks(); err != nil {
		return nil, task.Record{}, err
	}
	id, err := r.params.Text(paramTaskID)
	if err != nil {
		return nil, task.Record{}, err
	}
	if id == nil {
		return nil, task.Record{},
			rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: taskId is required and must be a string")
	}
	t, record, err := r.conn.server.tasks.Find(r, string(id))
	if err != nil {
		return nil, task.Record{}, r.taskStoreError(err)
	}
	if !r.maySeeTask(record) {
		return nil, task.Record{},
			unknownTask(string(id))
	}
	return t, *record, nil
}

func unknownTask(id string) error {
	return rpc.Errorf(rpc.CodeInvalidParams, "Unknown task: %.200s; it may have expired", id)
}

// errElsewhere is the error for a task of another server, which the store of the application knows.
var errElsewhere = rpc.Errorf(rpc.CodeInternalError, "The task does not run on this server")

// getTask handles tasks/get of both eras.
func getTask(r *request) (*Result, error) {
	_, record, err := r.findTask()
	if err != nil {
		return nil, err
	}
	return r.taskState(&record.Task)
}

func (r *request) taskState(now *mcp.Task) (*Result, error) {
	if r.era.Modern {
		result := &mcp.TaskResult{Task: *now}
		return r.encodeResult(result, &result.Result)
	}
	result := &mcp.ExperimentalTaskResult{ExperimentalTask: task.Experimental(now)}
	return r.encodeResult(result, &result.Result)
}

// updateTask handles tasks/update, which carries responses to requests of a task. Responses to
// unknown or answered requests are ignored.
func updateTask(r *request) (*Result, error) {
	t, record, err := r.findTask()
	if err != nil {
		return nil, err
	}
	shared := r.conn.server.tasks.Shared()
	if t == nil && shared == nil && !record.Task.Status.Terminal() {
		return nil, errElsewhere
	}
	responses := r.params.Get(paramInputResponses)
	if len(responses) == 0 || responses[0] != '{' {
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: inputResponses is required and must be an object")
	}
	changed := false
	var elsewhere map[string]task.Answer
	for key, answer := range jsonscan.Named(responses) {
		if _, open := record.Task.InputRequests[key]; !open {
			continue
		}
		if answer[0] != '{' {
			return nil, rpc.Errorf(rpc.CodeInvalidParams,
				"Invalid params: the inputResponses to %.100q must be an object", key)
		}
		if t == nil {
			if elsewhere == nil {
				elsewhere = map[string]task.Answer{}
			}
			elsewhere[key] = task.Answer{Result: answer}
			continue
		}
		changed = t.Answer(key, append(json.RawMessage(nil), answer...)) || changed
	}
	switch {
	case changed:
		t.SaveAndNotify()
	case elsewhere != nil:
		err := shared.Answer(r, record.Task.TaskID, elsewhere)
		if errors.Is(err, task.ErrFull) || errors.Is(err, task.ErrTooLarge) {
			return nil, rpc.Errorf(rpc.CodeBusy, "There is no room for the answers; send fewer or "+
				"smaller ones, or try again later")
		}
		if err != nil {
			return nil, r.taskStoreError(err)
		}
	}
	return NewResult(r.conn.server.results.Empty()), nil
}

// cancelTask handles tasks/cancel of both eras. The task has ended when cancelTask returns; the
// handler may run longer.
func cancelTask(r *request) (*Result, error) {
	t, record, err := r.findTask()
	if err != nil {
		return nil, err
	}
	if record.Task.Status.Terminal() && !r.era.Modern {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "The task has ended already: it is %s",
			task.Experimental(&record.Task).Status)
	}
	switch shared := r.conn.server.tasks.Shared(); {
	case t != nil:
		if err := t.End(r); err != nil {
			return nil, r.taskStoreError(err)
		}
		record = t.Snapshot()
	case record.Task.Status.Terminal():
	case shared == nil:
		return nil, errElsewhere
	default:
		ended, err := shared.Cancel(r, record.Task.TaskID)
		switch {
		case err != nil:
			return nil, r.taskStoreError(err)
		case ended == nil:
			return nil, unknownTask(record.Task.TaskID)
		}
		record = *ended
	}
	if r.era.Modern {
		return NewResult(r.conn.server.results.Empty()), nil
	}
	return r.taskState(&record.Task)
}

// taskResult handles tasks/result of 2025-11-25: it waits for the end of the task and meanwhile
// sends its requests to the client.
func taskResult(r *request) (*Result, error) {
	t, record, err := r.findTask()
	if err != nil {
		return nil, err
	}
	ended, all := &record, &r.conn.server.tasks
	switch {
	case t != nil:
		r.Detach()
		ended, err = t.AwaitResult(r, r.link)
	case record.Task.Status.Terminal():
	case all.Shared() == nil:
		return nil, errElsewhere
	default:
		r.Detach()
		ended, err = all.AwaitElsewhere(r, r.link, record.Task.TaskID)
	}
	switch {
	case err != nil:
		return nil, err
	case ended == nil:
		return nil, unknownTask(record.Task.TaskID)
	}
	switch now := &ended.Task; now.Status {
	case mcp.TaskCompleted:
		return NewResult(task.WithRelatedTask(now.Result, now.TaskID)), nil
	case mcp.TaskFailed:
		return nil, &rpc.Error{Code: int(now.Error.Code), Message: now.Error.Message,
			Data: now.Error.Data}
	}
	return nil, rpc.Errorf(rpc.CodeInvalidParams, "The task was cancelled: it has no result")
}

// listTasks handles tasks/list of 2025-11-25 and lists the oldest task first. The cursor is the id
// of the last task sent.
func listTasks(r *request) (*Result, error) {
	if err := r.needTasks(); err != nil {
		return nil, err
	}
	cursor, err := r.params.Text(paramCursor)
	if err != nil {
		return nil, err
	}
	after, err := items.ParseCursor(cursor)
	if err != nil {
		return nil, err
	}
	s := r.conn.server
	records, err := s.tasks.List(r, r.taskOwner(), after, s.o.PageSize+1)
	if err != nil {
		return nil, r.taskStoreError(err)
	}
	result := &mcp.ListExperimentalTasksResult{Tasks: []mcp.ExperimentalTask{}}
	if len(records) > s.o.PageSize {
		records = records[:s.o.PageSize]
		result.NextCursor = items.Cursor(records[len(records)-1].Task.TaskID)
	}
	for _, record := range records {
		if time.Now().Before(record.Expires) && r.maySeeTask(record) {
			result.Tasks = append(result.Tasks, task.Experimental(&record.Task))
		}
	}
	return r.encodeResult(result, &result.Result)
}

// taskReplica returns what a store that servers share needs of this one.
func (s *Server) taskReplica() task.Replica {
	return task.Replica{Tasks: s.tasks.Tasks, Changed: s.taskChangedElsewhere,
		Watched: s.watchedTasks}
}

// taskChangedElsewhere tells clients that a task has changed, which another server has said.
func (s *Server) taskChangedElsewhere(id, session string) {
	s.tasks.ChangedElsewhere(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if session == "" {
		s.notifyConns(subscriptions.Change{Method: mcp.NotificationTask, Subject: id})
		return
	}
	for c := range s.conns {
		if c.hasSessionID(session) {
			c.notifyChange(subscriptions.Change{Method: mcp.NotificationTaskStatus, Subject: id})
		}
	}
}

// watchedTasks returns the tasks that subscriptions include.
func (s *Server) watchedTasks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	watched := map[string]struct{}{}
	for c := range s.conns {
		c.mu.Lock()
		for n := range c.told.Subjects() {
			if n.Method == mcp.NotificationTask {
				watched[n.Subject] = struct{}{}
			}
		}
		c.mu.Unlock()
	}
	return slices.Collect(maps.Keys(watched))
}
