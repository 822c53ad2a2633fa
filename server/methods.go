package server

import (
	"context"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A method is one row of the table: adding a method to the server is adding a row.
type method struct {
	legacy, modern bool // in which era it exists
	handle         func(ctx context.Context, r *request) (any, error)
}

func (m method) in(e *era) bool { return e.modern && m.modern || !e.modern && m.legacy }

// methods is read only.
var methods = map[string]method{
	mcp.MethodDiscover:   {modern: true, handle: discover},
	mcp.MethodInitialize: {legacy: true, handle: initialize},
	mcp.MethodPing:       {legacy: true, handle: ping},
	mcp.MethodListTools:  {legacy: true, modern: true, handle: listTools},
	mcp.MethodCallTool:   {legacy: true, modern: true, handle: callTool},
	mcp.MethodSetLevel:   {legacy: true, handle: setLevel},
	mcp.MethodListen:     {modern: true, handle: listen},
}

// notifications is read only. What is not in it is ignored, as JSON-RPC has it; notifications/cancelled is the rpc peer's.
var notifications = map[string]func(*conn, *rpc.Request){
	mcp.NotificationInitialized: initialized,
}

func methodNotFound(name string, e *era) error {
	if m, ok := methods[name]; ok && m.legacy && e.modern {
		return rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: %s is not part of revision %s", name, e.revision)
	}
	return rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: %.100s", name)
}
