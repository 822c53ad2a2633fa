package client

import (
	"cmp"
	"strconv"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/client/internal/object"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// TaskTTL asks a server of 2025-11-25 to keep the task of a call for this time from its creation.
// The server decides; [Task.State] has the actual time. It has no effect on other servers.
func TaskTTL(d time.Duration) CallOption { return func(c *call) { c.ttl = d } }

const (
	maxSupports    = 10_000 // tools whose task support is stored
	maxSupportName = 1024   // in bytes
)

// taskSupports stores which of the listed tools support tasks. Only servers of 2025-11-25 declare
// that (Tasks, "Tool-Level Negotiation").
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
		if _, known := s.all[tool.Name]; len(tool.Name) > maxSupportName || !known &&
			len(s.all) == maxSupports {
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

// toolTasks reports whether the server runs tools as tasks on request (2025-11-25).
func (s *session) toolTasks() bool {
	t := s.capabilities.Tasks
	return s.features.ExperimentalTasks && t != nil && t.Requests != nil &&
		t.Requests.Tools != nil && t.Requests.Tools.Call != nil
}

// shouldRequestTask reports whether to request a task for a tool: the caller wants one, or the tool
// requires it.
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

// appendTask appends the param that requests a task.
func (r *call) appendTask(o *object.Object) {
	if !r.requestTask {
		return
	}
	o.Key("task")
	wish := object.Open(o.B)
	if r.ttl > 0 {
		wish.Key("ttl")
		wish.B = strconv.AppendInt(wish.B, max(1, r.ttl.Milliseconds()), 10)
	}
	o.B = wish.Close()
}

// taskRefusalError explains a method-not-found error of a tool call.
func (c *Client) taskRefusalError(r *call, refusal *rpc.Error) error {
	switch {
	case refusal.Code != rpc.CodeMethodNotFound || r.method != mcp.MethodCallTool:
	case r.requestTask:
		return errtext.Wrap("the server does not run it as a task: "+refusal.Error(), refusal)
	case c.session.Load().toolTasks():
		return errtext.Wrap(
			"the server does not run it, or only as a task, for which see StartTool: "+
				refusal.Error(), refusal)
	}
	return refusal
}
