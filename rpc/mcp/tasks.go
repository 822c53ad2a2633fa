package mcp

import "encoding/json"

// Tasks exist twice. 2025-11-25 has them experimentally in the protocol: the request that becomes a task says so ([TaskMetadata]),
// either side may ask the other, tasks/result waits for the result. Those types are called ExperimentalTask…. The modern era has
// the extension [ExtensionTasks]: the server decides, answers with a [CreateTaskResult] and is asked with tasks/get, whose result
// has all. The methods tasks/get and tasks/cancel exist in both.

// A TaskStatus is how far a task is, in both.
type TaskStatus string

const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Terminal reports whether the task has ended: its status never changes again.
func (s TaskStatus) Terminal() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// TaskParams are the params of tasks/get, tasks/cancel and, in 2025-11-25, tasks/result.
type TaskParams struct {
	Params
	TaskID string `json:"taskId"`
}

// A Task is the state of a task of the tasks extension. Times are ISO 8601. At most one of InputRequests, Result and Error is
// there, as the status says; in a [CreateTaskResult] none.
type Task struct {
	TaskID         string          `json:"taskId"`
	Status         TaskStatus      `json:"status"`
	StatusMessage  string          `json:"statusMessage,omitempty"`
	CreatedAt      string          `json:"createdAt"`
	LastUpdatedAt  string          `json:"lastUpdatedAt"`
	TTLMs          *int64          `json:"ttlMs"` // how long it is kept, from its creation; nil for ever
	PollIntervalMs *int64          `json:"pollIntervalMs,omitempty"`
	InputRequests  InputRequests   `json:"inputRequests,omitzero"` // TaskInputRequired: answer them with tasks/update
	Result         json.RawMessage `json:"result,omitempty"`       // TaskCompleted: what the request would have returned
	Error          *ErrorObject    `json:"error,omitempty"`        // TaskFailed
}

// CreateTaskResult is what a request returns that has become a task of the tasks extension: with ResultType [ResultTask].
type CreateTaskResult struct {
	Result
	Task
}

// GetTaskResult is the result of tasks/get in the tasks extension.
type GetTaskResult struct {
	Result
	Task
}

// UpdateTaskParams are the params of tasks/update; its result is an [EmptyResult].
type UpdateTaskParams struct {
	Params
	TaskID         string         `json:"taskId"`
	InputResponses InputResponses `json:"inputResponses"`
}

// TaskNotificationParams are the params of notifications/tasks, the extension's notification about a task.
type TaskNotificationParams struct {
	Params
	Task
}

// TaskMetadata in the params of a 2025-11-25 request ask for it to become a task.
type TaskMetadata struct {
	TTL *int64 `json:"ttl,omitempty"` // how long to keep it, in milliseconds; the receiver decides
}

// RelatedTask is the value of [MetaRelatedTask].
type RelatedTask struct {
	TaskID string `json:"taskId"`
}

// An ExperimentalTask is the state of a 2025-11-25 task (MCP 2025-11-25, Tasks, "Task"). Times are ISO 8601, the rest
// milliseconds.
type ExperimentalTask struct {
	TaskID        string     `json:"taskId"`
	Status        TaskStatus `json:"status"`
	StatusMessage string     `json:"statusMessage,omitempty"`
	CreatedAt     string     `json:"createdAt"`
	LastUpdatedAt string     `json:"lastUpdatedAt"`
	TTL           *int64     `json:"ttl"` // nil for ever
	PollInterval  *int64     `json:"pollInterval,omitempty"`
}

// CreateExperimentalTaskResult is what a request returns that has become a 2025-11-25 task.
type CreateExperimentalTaskResult struct {
	Result
	Task ExperimentalTask `json:"task"`
}

// ExperimentalTaskResult is the result of tasks/get and tasks/cancel in 2025-11-25. The result of tasks/result is the one of the
// request that became the task.
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

// ExperimentalTaskStatusParams are the params of notifications/tasks/status.
type ExperimentalTaskStatusParams struct {
	Params
	ExperimentalTask
}
