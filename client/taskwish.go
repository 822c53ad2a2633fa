package client

import (
	"cmp"
	"strconv"
	"sync"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// TaskTTL asks a server of 2025-11-25 to keep the task that a call becomes for that long, from its beginning on; the server decides, and [Task.State] has what.
// To other servers it says nothing.
func TaskTTL(d time.Duration) CallOption { return func(c *call) { c.ttl = d } }

const (
	maxSupports    = 10_000 // tools of which it is known whether they run as tasks
	maxSupportName = 1024   // bytes
)

// taskSupports is which tools run as tasks, as far as they have been listed. Only servers of 2025-11-25 tell, and want to be obeyed (Tasks, "Tool-Level
// Negotiation").
type taskSupports struct {
	mu  sync.Mutex
	all map[string]mcp.TaskSupport
}

func (s *taskSupports) learn(tools []*mcp.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[string]mcp.TaskSupport)
	}
	for _, tool := range tools {
		if _, known := s.all[tool.Name]; len(tool.Name) > maxSupportName || !known && len(s.all) == maxSupports {
			continue
		}
		support := mcp.TaskForbidden
		if tool.Execution != nil {
			support = cmp.Or(tool.Execution.TaskSupport, support)
		}
		s.all[tool.Name] = support
	}
}

func (s *taskSupports) of(tool string) mcp.TaskSupport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[tool]
}

// toolTasks reports whether the server runs tools as tasks if it is asked to, as those of 2025-11-25 do.
func (s *session) toolTasks() bool {
	t := s.capabilities.Tasks
	return s.features.ExperimentalTasks && t != nil && t.Requests != nil && t.Requests.Tools != nil && t.Requests.Tools.Call != nil
}

// wishTask reports whether the call of a tool is to ask for a task: because that is wanted, or the tool does not run otherwise.
func (c *Client) shouldRequestTask(r *call) bool {
	if !c.session.Load().toolTasks() {
		return false
	}
	switch c.taskSupports.of(r.tool) {
	case mcp.TaskForbidden:
		return false
	case mcp.TaskRequired:
		return true
	}
	return r.started != nil
}

// appendWish writes the param that makes a call a task.
func (r *call) appendTask(o *object) {
	if !r.requestTask {
		return
	}
	o.key("task")
	wish := openObject(o.b)
	if r.ttl > 0 {
		wish.key("ttl")
		wish.b = strconv.AppendInt(wish.b, max(1, r.ttl.Milliseconds()), 10)
	}
	o.b = wish.close()
}

// refusedTask tells what is the matter with a tool that the server does not know as it was called.
func (c *Client) taskRefusalError(r *call, refusal *rpc.Error) error {
	switch {
	case refusal.Code != rpc.CodeMethodNotFound || r.method != mcp.MethodCallTool:
	case r.requestTask:
		return &textError{"the server does not run it as a task: " + refusal.Error(), refusal}
	case c.session.Load().toolTasks():
		return &textError{"the server does not run it, or only as a task, for which see StartTool: " + refusal.Error(), refusal}
	}
	return refusal
}
