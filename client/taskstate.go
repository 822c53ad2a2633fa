package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	defaultPoll = time.Second
	minPoll     = 100 * time.Millisecond
	maxPoll     = time.Minute
)

// A createdTaskError is the internal error of a request whose response is a task instead of a
// result.
type createdTaskError struct{ task mcp.Task }

func (p *createdTaskError) Error() string {
	return fmt.Sprintf("a task in place of a result: %.100q", p.task.TaskID)
}

// decodeTaskCreated decodes a CreateTaskResult of the tasks extension.
func decodeTaskCreated(result []byte) error {
	var r mcp.TaskResult
	if err := mcp.Unmarshal(result, &r); err != nil {
		return errtext.Protocol("an invalid task: %v", err)
	}
	r.Task.Result, r.Task.Error, r.Task.InputRequests = nil, nil, nil // tasks/get returns them
	return newCreatedTaskError(r.Task)
}

// decodeExperimentalTaskCreated decodes a CreateTaskResult of 2025-11-25. It returns nil for any
// other result: that of the call, from a server that ignores the request for a task.
func decodeExperimentalTaskCreated(result []byte) error {
	if task := jsonscan.Member(result, "task"); len(task) == 0 || task[0] != '{' {
		return nil
	}
	var r mcp.CreateExperimentalTaskResult
	if err := mcp.Unmarshal(result, &r); err != nil {
		return errtext.Protocol("an invalid task: %v", err)
	}
	return newCreatedTaskError(fromExperimental(r.Task))
}

func newCreatedTaskError(t mcp.Task) error {
	if t.TaskID == "" {
		return errtext.Protocol("a task without an id")
	}
	if err := checkStatus(t.Status); err != nil {
		return err
	}
	return &createdTaskError{t}
}

func checkStatus(s mcp.TaskStatus) error {
	if s == mcp.TaskWorking || s == mcp.TaskInputRequired || s.Terminal() {
		return nil
	}
	return errtext.Protocol("a task with the unknown status %.50q", string(s))
}

// fromExperimental converts a task of 2025-11-25 to the form of the extension.
func fromExperimental(e mcp.ExperimentalTask) mcp.Task {
	return mcp.Task{
		TaskID: e.TaskID, Status: e.Status, StatusMessage: e.StatusMessage, CreatedAt: e.CreatedAt,
		LastUpdatedAt: e.LastUpdatedAt, TTLMs: e.TTL,
		PollIntervalMs: e.PollInterval,
	}
}

// decodeState decodes the result of tasks/get, or of tasks/cancel in 2025-11-25.
func (t *Task) decodeState(raw []byte) (mcp.Task, error) {
	var now mcp.Task
	if t.experimental() {
		var r mcp.ExperimentalTaskResult
		if err := mcp.Unmarshal(raw, &r); err != nil {
			return now, errtext.Protocol("an invalid task state: %v", err)
		}
		now = fromExperimental(r.ExperimentalTask)
	} else {
		var r mcp.TaskResult
		if err := mcp.Unmarshal(raw, &r); err != nil {
			return now, errtext.Protocol("an invalid task state: %v", err)
		}
		now = r.Task
		now.Result = bytes.Clone(jsonscan.Member(raw, "result")) // every byte of it
	}
	if now.TaskID != t.id {
		return now, errtext.Protocol("the state of another task, %.100q", now.TaskID)
	}
	if err := checkStatus(now.Status); err != nil || t.experimental() {
		return now, err
	}
	switch {
	case now.Status == mcp.TaskCompleted && now.Result == nil:
		return now, errtext.Protocol("a completed task without a result")
	case now.Status == mcp.TaskFailed && now.Error == nil:
		return now, errtext.Protocol("a failed task without an error")
	}
	// Ignore members that do not belong to the status.
	if now.Status != mcp.TaskCompleted {
		now.Result = nil
	}
	if now.Status != mcp.TaskFailed {
		now.Error = nil
	}
	if now.Status != mcp.TaskInputRequired {
		now.InputRequests = nil
	}
	return now, nil
}

// setState stores the state, and reports whether it has changed. The state of an ended task does
// not change.
func (t *Task) setState(now mcp.Task) (changed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, _, ended := outcome(&t.state); ended {
		return false
	}
	was := &t.state
	changed = was.Status != now.Status || was.StatusMessage != now.StatusMessage ||
		was.LastUpdatedAt != now.LastUpdatedAt
	t.state, t.seen = now, time.Now()
	return changed
}

// setOutcome stores the result or error of a task of 2025-11-25, which its state does not contain.
func (t *Task) setOutcome(result json.RawMessage, failure *rpc.Error) {
	now := t.State()
	now.Status, now.Result = mcp.TaskCompleted, result
	now.Error = failure
	if failure != nil || string(jsonscan.Member(result, "isError")) == "true" {
		now.Status = mcp.TaskFailed
	}
	t.setState(now)
}

// outcome returns the result or error of a task that has ended.
func outcome(t *mcp.Task) (result json.RawMessage, err error, ended bool) {
	switch {
	case t.Status == mcp.TaskCancelled:
		return nil, &taskCancelledError{t.TaskID, t.StatusMessage}, true
	case t.Result != nil:
		return t.Result, nil, true
	case t.Error != nil:
		return nil, &rpc.Error{Code: int(t.Error.Code), Message: t.Error.Message,
			Data: t.Error.Data}, true
	}
	return nil, nil, false
}

// interval returns the delay between polls: that suggested by the server, within limits.
func interval(t *mcp.Task) time.Duration {
	if t.PollIntervalMs == nil {
		return defaultPoll
	}
	return time.Duration(
		min(max(*t.PollIntervalMs, minPoll.Milliseconds()),
			maxPoll.Milliseconds())) * time.Millisecond
}
