package mcp

import (
	"encoding/json"

	"github.com/stdwire/stdwire/rpc"
)

// There are two kinds of tasks. Those of 2025-11-25 are an experimental part of the protocol: the
// sender of a request asks for a task ([TaskMetadata]), either side may send such requests, and
// tasks/result waits for the result. Their types are called ExperimentalTask…. The modern era has
// the extension [ExtensionTasks]: the server decides, responds with a [TaskResult], and the
// client calls tasks/get, whose result contains everything. Both have the methods tasks/get and
// tasks/cancel.

// A TaskStatus is the state of a task of either kind.
type TaskStatus string

const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Terminal reports whether the task has ended. Its status never changes after that.
func (s TaskStatus) Terminal() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// TaskParams are the params of tasks/get, tasks/cancel and, in 2025-11-25, tasks/result, and the
// value of [MetaRelatedTask].
type TaskParams struct {
	Params
	TaskID string `json:"taskId"`
}

// A Task is the state of a task of the tasks extension. Times are ISO 8601. At most one of
// InputRequests, Result and Error is present, depending on the status; in a [TaskResult] none
// is.
type Task struct {
	TaskID        string     `json:"taskId"`
	Status        TaskStatus `json:"status"`
	StatusMessage string     `json:"statusMessage,omitempty"`
	CreatedAt     string     `json:"createdAt"`
	LastUpdatedAt string     `json:"lastUpdatedAt"`
	// how long it is kept after its creation, in milliseconds; nil means forever
	TTLMs          *int64 `json:"ttlMs"`
	PollIntervalMs *int64 `json:"pollIntervalMs,omitempty"`
	// TaskInputRequired: respond with tasks/update
	InputRequests InputRequests `json:"inputRequests,omitzero"`
	// TaskCompleted: the result of the request
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpc.Error      `json:"error,omitempty"` // TaskFailed
}

// TaskResult is the result of tasks/get in the tasks extension and, with the ResultType
// [ResultTask], that of a request that became a task of the extension.
type TaskResult struct {
	Result
	Task
}

// UpdateTaskParams are the params of tasks/update; its result is a [Result].
type UpdateTaskParams struct {
	Params
	TaskID         string         `json:"taskId"`
	InputResponses InputResponses `json:"inputResponses"`
}

// TaskMetadata in the params of a 2025-11-25 request asks the receiver to run it as a task.
type TaskMetadata struct {
	// how long to keep the task, in milliseconds; the receiver decides
	TTL *int64 `json:"ttl,omitempty"`
}

// An ExperimentalTask is the state of a 2025-11-25 task (MCP 2025-11-25, Tasks, "Task"). Times are
// ISO 8601; durations are milliseconds.
type ExperimentalTask struct {
	TaskID        string     `json:"taskId"`
	Status        TaskStatus `json:"status"`
	StatusMessage string     `json:"statusMessage,omitempty"`
	CreatedAt     string     `json:"createdAt"`
	LastUpdatedAt string     `json:"lastUpdatedAt"`
	TTL           *int64     `json:"ttl"` // nil means forever
	PollInterval  *int64     `json:"pollInterval,omitempty"`
}

// CreateExperimentalTaskResult is the result of a request that became a 2025-11-25 task.
type CreateExperimentalTaskResult struct {
	Result
	Task ExperimentalTask `json:"task"`
}

// ExperimentalTaskResult is the result of tasks/get and tasks/cancel in 2025-11-25. The result of
// tasks/result is that of the request that became the task.
type ExperimentalTaskResult struct {
	Result
	ExperimentalTask
}

// ListExperimentalTasksResult is the result of tasks/list; the params are [ListParams].
type ListExperimentalTasksResult struct {
	Result
	Tasks      []ExperimentalTask `json:"tasks"`
	NextCursor string             `json:"nextCursor,omitempty"`
}
