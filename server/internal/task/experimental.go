package task

import (
	"encoding/json"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Experimental returns a task in the form of 2025-11-25, in which a task fails if its tool fails.
func Experimental(t *mcp.Task) mcp.ExperimentalTask {
	e := mcp.ExperimentalTask{
		TaskID: t.TaskID, Status: t.Status, StatusMessage: t.StatusMessage, CreatedAt: t.CreatedAt,
		LastUpdatedAt: t.LastUpdatedAt, TTL: t.TTLMs,
		PollInterval: t.PollIntervalMs,
	}
	if t.Status == mcp.TaskCompleted && string(jsonscan.Member(t.Result, "isError")) == "true" {
		e.Status, e.StatusMessage = mcp.TaskFailed, "The tool has failed; the result says why."
	}
	return e
}

// RequestedTTL returns the time to live that a client of 2025-11-25 requests with the param task,
// limited to the range from 1 s to limit.
func RequestedTTL(task json.RawMessage, limit time.Duration) (time.Duration, error) {
	if task[0] != '{' {
		return 0, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: task must be an object")
	}
	var requested mcp.TaskMetadata
	if err := mcp.Unmarshal(task, &requested); err != nil {
		return 0, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: task: %v", err)
	}
	switch {
	case requested.TTL == nil:
		return limit, nil
	case *requested.TTL < 0:
		return 0, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: task: the ttl must not be negative")
	}
	ttl := time.Duration(min(*requested.TTL, limit.Milliseconds())) * time.Millisecond
	// a shorter time would end before the first tasks/get
	return min(max(ttl, time.Second), limit), nil
}

// WithRelatedTask adds the id of the task that params or a result belong to to their _meta.
func WithRelatedTask(object []byte, id string) []byte {
	related := append(jsonscan.AppendString([]byte(`{"taskId":`), id), '}')
	meta := jsonscan.AppendMember([]byte{'{'}, jsonscan.AppendString(nil, mcp.MetaRelatedTask),
		related)
	for name, member := range jsonscan.Members(jsonscan.Member(object, "_meta")) {
		if !jsonscan.KeyIs(name, mcp.MetaRelatedTask) {
			meta = jsonscan.AppendMember(meta, name, member)
		}
	}
	return jsonscan.SetMember(jsonscan.Without(object, "_meta"), "_meta", append(meta, '}'))
}
