package server

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An Interceptor wraps a handler, for example for audit, metrics, tracing, limits or authorization;
// see [Options].Interceptors.
type Interceptor func(next Handler) Handler

// A Handler runs a call and returns its result. Its error follows the rules of [Resource].Read; for
// a tool, an error that is or wraps a [*dispatch.Error] becomes a result with isError and the
// message of the error.
type Handler func(ctx context.Context, c *Call) (*Result, error)

// A Call is a client's tools/call, prompts/get or resources/read for an item that exists and that
// the client may see. Its arguments are not yet validated.
type Call struct {
	Kind      mcp.Kind        // mcp.KindTool, mcp.KindPrompt or mcp.KindResource
	Name      string          // the name of the tool or prompt, or the URI of the resource
	Operation string          // the operation of the catalog that the tool runs; "" for none
	Arguments json.RawMessage // of the tool or prompt, as the client sent them; nil for none
	Principal string          // the authenticated caller, as [dispatch.PrincipalFrom] returns it
	Session   string          // see [Conn.Session]
	Revision  mcp.Revision    // the revision of the client
	RequestID string          // the JSON text of the request's ID

	run Handler
}

// The errors about a faulty interceptor.
var (
	errNoCall    = errors.New("server: an interceptor called next without its Call or a copy of it")
	errNotJSON   = errors.New("server: an interceptor set arguments that are not JSON")
	errNotResult = errors.New("server: an interceptor returned a result that is not a JSON object")
)

// runCall is the innermost handler.
func runCall(ctx context.Context, c *Call) (*Result, error) {
	if c.run == nil {
		return nil, errNoCall
	}
	return c.run(ctx, c)
}

// interceptedBy returns runCall wrapped in the interceptors. The first is the outermost.
func interceptedBy(all []Interceptor) Handler {
	handle := Handler(runCall)
	for _, intercept := range slices.Backward(all) {
		handle = intercept(handle)
	}
	return handle
}

// A useFunc runs the call of an item with these arguments. ctx is the request or derives from it.
type useFunc func(ctx context.Context, r *request, arguments json.RawMessage) (*Result, error)

// use runs the call of an item within the interceptors, with the arguments as they have left them.
func (r *request) use(i *item, arguments json.RawMessage) (*Result, error) {
	if err := r.readInputResponses(); err != nil {
		return nil, err
	}
	if len(r.conn.server.o.Interceptors) == 0 {
		return i.use(r, r, arguments)
	}
	var (
		made    *Result // the last result of the item
		failure error   // its last error, which has been logged
	)
	c := &Call{Kind: i.kind, Name: i.key, Arguments: arguments,
		Principal: r.conn.principal, Session: r.conn.Session(), Revision: r.era.revision,
		RequestID: r.ID.String()}
	if i.tool != nil {
		c.Operation = nameOf(i.tool.operationFor(arguments))
	}
	c.run = func(ctx context.Context, c *Call) (*Result, error) {
		if !sameBytes(c.Arguments, arguments) && jsonscan.Valid(c.Arguments) != nil {
			return nil, errNotJSON
		}
		made, failure = r.repeat(
			func(r *request) (*Result, error) { return i.use(ctx, r, c.Arguments) })
		return made, failure
	}
	result, err := r.conn.server.intercepted(r, c)
	if err == nil {
		if result == nil || result != made && !result.isValid() {
			return nil, r.logError(errNotResult)
		}
		return result, nil
	}
	if err == failure {
		return nil, err
	}
	if e, ok := errors.AsType[*dispatch.Error](err); ok && i.kind == mcp.KindTool {
		return r.toolError(e.Message)
	}
	return r.handlerError(err)
}

// sameBytes reports whether a and b are the same memory.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
