package client

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
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

// A Task is a call that the server continues in the background: of the extension
// io.modelcontextprotocol/tasks, or an experimental task of 2025-11-25. [Client.StartTool],
// [Client.Task] and [Client.Tasks] create it. It is safe for concurrent use.
//
// Poll, Update, Cancel and Wait send requests, block as [Client.Call] does, and return a
// [*CallError]. They send nothing for a task that is known to have ended.
type Task struct {
	c    *Client
	id   string
	tool string // "" if unknown
	// the server has sent the task on this connection, so it supports tasks whatever it declares
	confirmed bool

	mu    sync.Mutex
	state mcp.Task
	seen  time.Time // when state was received; zero for never
	gone  bool      // the server does not know the task
	// hashed keys of input requests that were or are being answered
	asked map[[sha256.Size]byte]bool
	count int // of input requests so far
}

// State returns the last known state. The caller must not modify it.
func (t *Task) State() mcp.Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

func (t *Task) experimental() bool { return t.c.session.Load().features.ExperimentalTasks }

func (t *Task) ended() bool {
	now := t.State()
	_, _, ended := outcome(&now)
	return ended
}

// lastState returns the last known state, and when to poll next.
func (t *Task) lastState() (latest mcp.Task, next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	latest = t.state
	latest.InputRequests = nil // they may have been answered
	if !t.seen.IsZero() {
		next = t.seen.Add(interval(&latest))
	}
	return latest, next
}

func (t *Task) markGone() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
}

func (t *Task) isGone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone
}

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

// maxTaskQuestions is the number of input requests of one task that are answered.
const maxTaskQuestions = 256

// markAsked marks an input request as being answered. It returns false if it was marked before or
// the limit is reached; full is true in the second case.
func (t *Task) markAsked(key string) (noted, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := sha256.Sum256([]byte(key))
	if t.asked[sum] || t.count == maxTaskQuestions {
		return false, !t.asked[sum]
	}
	if t.asked == nil {
		t.asked = make(map[[sha256.Size]byte]bool)
	}
	t.asked[sum] = true
	t.count++
	return true, false
}

func (t *Task) wasAsked(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked[sha256.Sum256([]byte(key))]
}

// unmarkAsked allows an input request to be answered again. It still counts.
func (t *Task) unmarkAsked(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.asked, sha256.Sum256([]byte(key)))
}

func ignore([]byte) error { return nil }
