package server

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

var (
	paramTask   = []byte("task")
	paramTaskID = []byte("taskId")
)

// callToolOrTask handles tools/call if the server has tasks. In the modern era the server decides
// whether the call becomes a task, if the client supports tasks. In 2025-11-25 the client decides,
// as far as the tool permits.
func (r *request) callToolOrTask(found *item) (*Result, error) {
	all := &r.conn.server.tasks
	support := found.tool.taskSupport(r.param(paramArguments), all)
	var wanted bool
	ttl := all.TTL
	switch {
	case r.era.modern:
		wanted = isTask(support) && r.negotiated(mcp.ExtensionTasks)
		if support == mcp.TaskRequired && !wanted {
			return nil, errNeedsTasks()
		}
	case !r.era.experimentalTasks():
		if support == mcp.TaskRequired {
			return nil, rpc.Errorf(rpc.CodeMethodNotFound,
				"Method not found: %s runs as a task only, which revision %s does not have here",
				found.key, r.era.revision)
		}
	default:
		requested := r.param(paramTask)
		wanted = requested != nil
		switch {
		case wanted && !isTask(support):
			return nil, rpc.Errorf(rpc.CodeMethodNotFound,
				"Method not found: %s does not run as a task", found.key)
		case !wanted && support == mcp.TaskRequired:
			return nil, rpc.Errorf(rpc.CodeMethodNotFound,
				"Method not found: %s runs as a task only; add task to the params", found.key)
		case wanted:
			var err error
			if ttl, err = requestedTTL(requested, all.TTL); err != nil {
				return nil, err
			}
		}
	}
	if !wanted {
		return r.use(found, r.param(paramArguments))
	}

	t, err := r.newTask(ttl)
	if err != nil {
		return nil, err
	}
	if later := found.tool.taskLater && r.era.modern; later {
		t.detachRequest = context.AfterFunc(r.Context,
			func() { t.cancel(context.Cause(r.Context)) })
	} else if err := t.create(); err != nil {
		t.request.close()
		t.cancel(err)
		return nil, err
	}
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		t.run(func(own *request) (*Result, error) {
			return own.use(found, own.param(paramArguments))
		})
	}()
	select {
	case <-t.createdC:
	case <-returned:
		if !t.created() {
			return t.outcome.handlerResult()
		}
	}
	if !r.era.modern {
		result := &mcp.CreateExperimentalTaskResult{Task: experimental(&t.initial)}
		return r.encodeResult(result, &result.Result)
	}
	text, err := mcp.Marshal(&mcp.CreateTaskResult{
		Result: mcp.Result{ResultType: mcp.ResultTask,
			Meta: mcp.Meta{mcp.MetaServerInfo: r.conn.server.info}}, Task: t.initial,
	})
	return NewResult(text), err
}

// handlerResult returns the outcome in the form in which a handler returns it.
func (o outcome) handlerResult() (*Result, error) {
	if o.failure != nil {
		return nil, o.failure
	}
	return NewResult(o.result), nil
}

// taskSupport says whether a call with these arguments may be a task.
func (t *tool) taskSupport(arguments json.RawMessage, all *tasks) mcp.TaskSupport {
	if t.service == nil {
		return t.tasks
	}
	if op := t.operationFor(arguments); op != nil {
		return all.support(op)
	}
	return mcp.TaskForbidden
}

func isTask(s mcp.TaskSupport) bool { return s == mcp.TaskOptional || s == mcp.TaskRequired }

// requestedTTL returns the time to live that a client of 2025-11-25 requests, limited to the range
// from 1 s to limit.
func requestedTTL(task json.RawMessage, limit time.Duration) (time.Duration, error) {
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

// tasksExtension returns the tasks extension. The server offers it once it has tasks.
func tasksExtension() *extension {
	return &extension{
		Extension: Extension{ID: mcp.ExtensionTasks},
		offered:   func(e *era, has declaredKinds) bool { return e.modern && has.tasks },
		methods: map[string]method{
			mcp.MethodGetTask:    {modern: true, handle: getTask},
			mcp.MethodUpdateTask: {modern: true, handle: updateTask},
			mcp.MethodCancelTask: {modern: true, handle: cancelTask},
		},
		undeclared: errNeedsTasks, // tasks extension, "Capability Negotiation"
	}
}

// experimentalTasks reports whether tasks of 2025-11-25 are available. A replicated connection has
// none, because its next request may reach a server on which the task does not run.
func (e *era) experimentalTasks() bool {
	f, _ := mcp.FeaturesOf(e.revision)
	return f.ExperimentalTasks && !e.replicated
}

// errNeedsTasks is the error for a modern client that does not declare the tasks extension.
func errNeedsTasks() error {
	data, _ := mcp.Marshal(
		mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: mcp.ClientCapabilities{
			Extensions: map[string]json.RawMessage{mcp.ExtensionTasks: json.RawMessage(`{}`)},
		}})
	return &rpc.Error{Code: mcp.CodeMissingRequiredClientCapability,
		Message: "the client does not declare the extension " + mcp.ExtensionTasks, Data: data}
}

// ownerSession is the prefix of the owner of tasks that belong to a connection.
const ownerSession = "session "

// taskOwner returns the owner of the client's tasks. Tasks of one era do not exist in the other,
// because their results would have no meaning there.
func (r *request) taskOwner() string {
	c := r.conn
	switch {
	case r.era.modern:
		return "modern " + c.principal
	case c.principal != "":
		return "legacy " + c.principal
	}
	return ownerSession + c.sessionID()
}

// serviceSupport returns the task support of a tool with several operations. Only a call shows
// which of them it selects.
func (t *tasks) serviceSupport(s *service) mcp.TaskSupport {
	for _, op := range s.byAction {
		if isTask(t.support(op)) {
			return mcp.TaskOptional
		}
	}
	return mcp.TaskForbidden
}
