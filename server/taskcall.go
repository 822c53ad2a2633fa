package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/items"
	"github.com/stdwire/stdwire/server/internal/subscriptions"
	"github.com/stdwire/stdwire/server/internal/task"
)

var (
	paramTask   = []byte("task")
	paramTaskID = []byte("taskId")
)

// BecomeTask turns the call of a [RawTool] with TaskLater into a task: the client gets its response
// now, and the handler continues with ctx. Before that, requests to the client work as in any call,
// and the handler may run several times. Afterwards they are input requests of the task, and the
// handler does not run again. BecomeTask does nothing if the call is a task already or the client
// cannot have tasks.
//
// It returns an error if there are too many tasks, or if the client has disconnected or has not
// responded yet. The handler must return this error. Call BecomeTask before the handler returns. It
// is safe for concurrent use.
func BecomeTask(ctx context.Context) error {
	if r := requestFrom(ctx); r != nil && r.task != nil {
		return r.task.Create()
	}
	return nil
}

// Close ends all running tasks as failed and waits until their handlers have returned or ctx ends.
// If ctx ends first, the error says how many handlers still run. Afterwards no task can be created.
// Close does not close connections. It may be called more than once.
func (s *Server) Close(ctx context.Context) error {
	return s.tasks.Close(ctx)
}

// callToolOrTask handles tools/call if the server has tasks. In the modern era the server decides
// whether the call becomes a task, if the client supports tasks. In 2025-11-25 the client decides,
// as far as the tool permits.
func (r *request) callToolOrTask(found *item) (*Result, error) {
	all := &r.conn.server.tasks
	support := found.taskSupport(r.params.Get(paramArguments), all)
	var wanted bool
	ttl := all.TTL
	switch {
	case r.era.Modern:
		wanted = items.IsTask(support) && r.negotiated(mcp.ExtensionTasks)
		if support == mcp.TaskRequired && !wanted {
			return nil, errNeedsTasks()
		}
	case !r.era.ExperimentalTasks():
		if support == mcp.TaskRequired {
			return nil, rpc.Errorf(rpc.CodeMethodNotFound,
				"Method not found: %s runs as a task only, which revision %s does not have here",
				found.Key, r.era.Revision)
		}
	default:
		requested := r.params.Get(paramTask)
		wanted = requested != nil
		switch {
		case wanted && !items.IsTask(support):
			return nil, rpc.Errorf(rpc.CodeMethodNotFound,
				"Method not found: %s does not run as a task", found.Key)
		case !wanted && support == mcp.TaskRequired:
			return nil, rpc.Errorf(rpc.CodeMethodNotFound,
				"Method not found: %s runs as a task only; add task to the params", found.Key)
		case wanted:
			var err error
			if ttl, err = task.RequestedTTL(requested, all.TTL); err != nil {
				return nil, err
			}
		}
	}
	if !wanted {
		return r.use(found, r.params.Get(paramArguments))
	}

	t, err := r.newTask(found.Key, ttl, found.tool.taskLater && r.era.Modern)
	if err != nil {
		return nil, err
	}
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		t.runAsTask(found)
	}()
	select {
	case <-t.task.Created():
	case <-returned:
		if o := t.task.Outcome(); !t.task.IsTask() {
			if o.Failure != nil {
				return nil, o.Failure
			}
			return NewResult(o.Result), nil
		}
	}
	initial := t.task.Initial()
	if !r.era.Modern {
		result := &mcp.CreateExperimentalTaskResult{Task: task.Experimental(&initial)}
		return r.encodeResult(result, &result.Result)
	}
	text, err := mcp.Marshal(&mcp.TaskResult{
		Result: mcp.Result{ResultType: mcp.ResultTask,
			Meta: mcp.Meta{mcp.MetaServerInfo: r.conn.server.results.Info}}, Task: initial,
	})
	return NewResult(text), err
}

// taskSupport says whether a call with these arguments may be a task.
func (i *item) taskSupport(arguments json.RawMessage, all *tasks) mcp.TaskSupport {
	if i.tool.service == nil {
		return i.Tasks
	}
	if op := i.tool.operationFor(arguments); op != nil {
		return all.support(op)
	}
	return mcp.TaskForbidden
}

// newTask returns the request of a tool's handler that does not depend on the client's request, r.
// It is a task, or becomes one later.
func (r *request) newTask(tool string, ttl time.Duration, later bool) (*request, error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context))
	link := task.NewLink(r.link)
	own := &request{Context: ctx, Request: &rpc.Request{ID: r.ID, Method: r.Method,
		Params: bytes.Clone(r.Params)}, conn: r.conn, link: link, era: r.era}
	call := task.Call{
		Tasks: r.conn.server.tasks.Tasks, Modern: r.era.Modern, Owner: r.taskOwner(), Tool: tool,
		QuotaOwner: r.quotaOwner(), TTL: ttl, Link: link, Context: own, Cancel: cancel,
		Mutex: &own.mu, Stopped: func() error { return own.mrtr().Stopped },
		Retain:   func(bytes int) error { return own.account().Take(countedBytes(bytes)) },
		LogError: own.taskStoreError, Notify: own.notifyTask,
	}
	switch {
	case r.era.Modern:
	case r.conn.session == SessionShared: // there may be other connections of the session
		call.Session = r.conn.sessionID()
	case strings.HasPrefix(call.Owner, task.OwnerSession):
		call.Conn = r.conn.ctx
	}
	own.task = call.New()
	err := own.beginTask(later)
	if err != nil {
		own.close()
		cancel(err)
		return nil, err
	}
	if later {
		own.task.Detach = context.AfterFunc(r.Context, func() { cancel(context.Cause(r.Context)) })
	}
	return own, nil
}

// beginTask reads the request of a task, and creates the task unless that happens later.
func (r *request) beginTask(later bool) error {
	if r.task.Retain(len(r.Params)+len(r.ID.String())) != nil { // until close
		return task.ErrNoRoom
	}
	err := r.params.Read(r.Params)
	if err == nil && r.era.Modern {
		r.era, err = era.Modern(&r.params.Meta) // a copy, because an era has slices of the params
	}
	if err != nil {
		return err
	}
	r.beginProgress()
	if later {
		return nil
	}
	return r.task.Create()
}

// notifyTask notifies the client of the status of a task.
func (r *request) notifyTask(id string) {
	if r.era.Modern {
		r.conn.server.notifyChange(subscriptions.Change{Method: mcp.NotificationTask, Subject: id})
	} else {
		r.conn.notifyChange(subscriptions.Change{
			Method: mcp.NotificationTaskStatus, Subject: id})
	}
	if shared := r.conn.server.tasks.Shared(); shared != nil {
		shared.Tell(id, r.task.Session)
	}
}

// runAsTask runs a tool to its end, and then ends its task.
func (r *request) runAsTask(found *item) {
	o := task.Outcome{Failure: rpc.ErrInternal.(*rpc.Error)}
	defer r.close()
	defer func() {
		r.progress.End()
		r.task.Returned(o)
	}()
	text, err := rpc.AppendResponse(r, nil, func(context.Context, *rpc.Request) (any, error) {
		return r.use(found, r.params.Get(paramArguments))
	}, r.Request)
	if p, ok := errors.AsType[*rpc.PanicError](err); ok {
		r.conn.server.o.Hooks.Safe().Panic(p.Method, p.Value, p.Stack)
	}
	if m, err := rpc.ParseMessage(text); err != nil {
		_ = r.logError(err) // the client gets an internal error
	} else {
		o = task.Outcome{Result: m.Result, Failure: m.Error}
	}
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

// taskOwner returns the owner of the client's tasks. Tasks of one era do not exist in the other,
// because their results would have no meaning there.
func (r *request) taskOwner() string {
	c := r.conn
	switch {
	case r.era.Modern:
		return "modern " + c.principal
	case c.principal != "":
		return "legacy " + c.principal
	}
	return task.OwnerSession + c.sessionID()
}

// taskStoreError returns the error of a request for which the store of tasks could not be used. A
// client may try again what a store that servers share did not answer.
func (r *request) taskStoreError(err error) error {
	if !errors.Is(err, task.ErrUnavailable) {
		return r.logError(err)
	}
	r.conn.server.log.Warn("the store of tasks cannot be used", "error", err)
	return &rpc.Error{Code: rpc.CodeBusy, Message: "what this server shares with others cannot be " +
		"reached now, so nothing can be said or done about tasks; try again in a moment",
		Data: json.RawMessage(`{"retryAfterMs":1000}`)}
}
