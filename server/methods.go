package server

import (
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
)

// A method is a row of the method table. To add a method to the server, add a row.
type method struct {
	// the eras that have the method; in the method table, those of package mcp
	legacy, modern bool
	needs          func(declaredKinds) bool // what the server must declare; nil: nothing
	handle         func(r *request) (*Result, error)
}

func (m method) in(e *era.Era) bool { return e.Modern && m.modern || !e.Modern && m.legacy }

// methods is the method table. It is read only.
var methods = withEras(map[string]method{
	mcp.MethodDiscover:   {handle: discover},
	mcp.MethodInitialize: {handle: initialize},
	mcp.MethodPing:       {handle: ping},
	mcp.MethodSetLevel:   {handle: setLevel},
	mcp.MethodListen:     {handle: listen},

	mcp.MethodListTools: {handle: pages(mcp.KindTool)},
	mcp.MethodCallTool:  {handle: callTool},

	mcp.MethodListResources:         {needs: hasResources, handle: pages(mcp.KindResource)},
	mcp.MethodListResourceTemplates: {needs: hasResources, handle: pages(mcp.KindResourceTemplate)},
	mcp.MethodReadResource:          {needs: hasResources, handle: readResource},
	mcp.MethodSubscribe:             {needs: hasResources, handle: subscribe},
	mcp.MethodUnsubscribe:           {needs: hasResources, handle: unsubscribe},

	mcp.MethodListPrompts: {needs: hasPrompts, handle: pages(mcp.KindPrompt)},
	mcp.MethodGetPrompt:   {needs: hasPrompts, handle: getPrompt},

	// the experimental tasks of 2025-11-25; for the modern era see tasksExtension
	mcp.MethodGetTask:    {needs: hasTasks, handle: getTask},
	mcp.MethodCancelTask: {needs: hasTasks, handle: cancelTask},
	mcp.MethodTaskResult: {needs: hasTasks, handle: taskResult},
	mcp.MethodListTasks:  {needs: hasTasks, handle: listTasks},

	mcp.MethodComplete: {needs: hasCompletions, handle: complete},
})

// withEras returns a table with the eras in which package mcp has each method, those of extensions
// left out.
func withEras(table map[string]method) map[string]method {
	for _, revision := range mcp.Supported() {
		for defined := range mcp.Methods(revision) {
			m, ok := table[defined.Name]
			if !ok || defined.Extension != "" {
				continue
			}
			modern := mcp.EraOf(revision) == mcp.Modern
			m.modern, m.legacy = m.modern || modern, m.legacy || !modern
			table[defined.Name] = m
		}
	}
	return table
}

func hasResources(has declaredKinds) bool   { return has.resources }
func hasPrompts(has declaredKinds) bool     { return has.prompts }
func hasCompletions(has declaredKinds) bool { return has.completions }
func hasTasks(has declaredKinds) bool       { return has.tasks }

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

func methodNotFound(name string, e *era.Era) error {
	if m, ok := methods[name]; ok && m.legacy && e.Modern {
		return rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: %s is not part of revision %s",
			name, e.Revision)
	}
	return rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: %.100s", name)
}
