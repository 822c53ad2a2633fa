package server

import (
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A method is a row of the method table. To add a method to the server, add a row.
type method struct {
	legacy, modern bool                     // the eras that have the method
	needs          func(declaredKinds) bool // what the server must declare; nil: nothing
	handle         func(r *request) (*Result, error)
}

func (m method) in(e *era) bool { return e.modern && m.modern || !e.modern && m.legacy }

// methods is the method table. It is read only.
var methods = map[string]method{
	mcp.MethodDiscover:   {modern: true, handle: discover},
	mcp.MethodInitialize: {legacy: true, handle: initialize},
	mcp.MethodPing:       {legacy: true, handle: ping},
	mcp.MethodSetLevel:   {legacy: true, handle: setLevel},
	mcp.MethodListen:     {modern: true, handle: listen},

	mcp.MethodListTools: {legacy: true, modern: true, handle: lists(mcp.KindTool)},
	mcp.MethodCallTool:  {legacy: true, modern: true, handle: callTool},

	mcp.MethodListResources: {legacy: true, modern: true, needs: hasResources,
		handle: lists(mcp.KindResource)},
	mcp.MethodListResourceTemplates: {legacy: true, modern: true, needs: hasResources,
		handle: lists(mcp.KindResourceTemplate)},
	mcp.MethodReadResource: {legacy: true, modern: true, needs: hasResources, handle: readResource},
	mcp.MethodSubscribe:    {legacy: true, needs: hasResources, handle: subscribe},
	mcp.MethodUnsubscribe:  {legacy: true, needs: hasResources, handle: unsubscribe},

	mcp.MethodListPrompts: {legacy: true, modern: true, needs: hasPrompts,
		handle: lists(mcp.KindPrompt)},
	mcp.MethodGetPrompt: {legacy: true, modern: true, needs: hasPrompts, handle: getPrompt},

	// the experimental tasks of 2025-11-25; for the modern era see tasksExtension
	mcp.MethodGetTask:    {legacy: true, needs: hasTasks, handle: getTask},
	mcp.MethodCancelTask: {legacy: true, needs: hasTasks, handle: cancelTask},
	mcp.MethodTaskResult: {legacy: true, needs: hasTasks, handle: taskResult},
	mcp.MethodListTasks:  {legacy: true, needs: hasTasks, handle: listTasks},

	mcp.MethodComplete: {legacy: true, modern: true, needs: func(has declaredKinds) bool {
		return has.completions
	}, handle: complete},
}

func hasResources(has declaredKinds) bool { return has.resources }
func hasPrompts(has declaredKinds) bool   { return has.prompts }

// notifications maps methods to the handlers of notifications. It is read only. Unknown
// notifications are ignored, as JSON-RPC requires; package rpc handles notifications/cancelled.
var notifications = map[string]func(*Conn, *rpc.Request){
	mcp.NotificationInitialized:      initialized,
	mcp.NotificationRootsListChanged: rootsChanged,
}

// row returns the row of the method table for a request, or the error for a method that does not
// exist for its client.
func (r *request) row() (method, error) {
	m, ok := methods[r.Method]
	if ok && m.in(r.era) && (m.needs == nil || m.needs(r.conn.server.declaredKinds())) {
		return m, nil
	}
	m, ok, err := r.extensionMethod()
	switch {
	case err != nil:
		return m, r.modernError(err)
	case !ok:
		return m, methodNotFound(r.Method, r.era)
	}
	return m, nil
}

func methodNotFound(name string, e *era) error {
	if m, ok := methods[name]; ok && m.legacy && e.modern {
		return rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: %s is not part of revision %s",
			name, e.revision)
	}
	return rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: %.100s", name)
}
