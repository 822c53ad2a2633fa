package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// The errors about a faulty interceptor.
var (
	errNotJSON   = errors.New("server: an interceptor set arguments that are not JSON")
	errNotResult = errors.New("server: an interceptor returned a result that is not a JSON object")
)

// A useFunc runs the call of an item with these arguments. ctx is the request or derives from it.
type useFunc func(ctx context.Context, r *request, arguments json.RawMessage) (*Result, error)

// use runs the call of an item within the interceptors, with the arguments as they have left them.
func (r *request) use(i *item, arguments json.RawMessage) (*Result, error) {
	if err := r.readInputResponses(); err != nil {
		return nil, err
	}
	chain := r.conn.server.interceptors
	if chain == nil {
		return r.run(r, i, arguments)
	}
	var (
		made    *Result // the last result of the item
		failure error   // its last error, which has been logged
	)
	call := &dispatch.Invocation{Kind: string(i.kind), Name: i.key, Arguments: arguments,
		Principal: r.conn.principal, RequestID: r.ID.String(), Surface: "mcp"}
	if i.tool != nil {
		call.Operation = i.tool.operationFor(arguments)
	}
	result, err := call.Run(r, chain,
		func(ctx context.Context, c *dispatch.Invocation) (dispatch.Result, error) {
			if !jsonscan.Same(c.Arguments, arguments) && jsonscan.Valid(c.Arguments) != nil {
				return nil, errNotJSON
			}
			if made, failure = r.repeat(func(r *request) (*Result, error) {
				return r.run(ctx, i, c.Arguments)
			}); failure != nil {
				return nil, failure
			}
			return made, nil
		})
	if err == nil {
		own, ok := result.(*Result)
		if !ok || own == nil || own != made && !own.isValid() {
			return nil, r.logError(errNotResult)
		}
		return own, nil
	}
	if err == failure {
		return nil, err
	}
	if e, ok := errors.AsType[*dispatch.Error](err); ok && i.kind == mcp.KindTool {
		return r.toolError(e.Message)
	}
	return r.handlerError(err)
}

// run runs an item, and asks the client the questions that are pending then if it has failed.
func (r *request) run(ctx context.Context, i *item, arguments json.RawMessage) (*Result, error) {
	result, err := i.use(ctx, r, arguments)
	if !r.hasHiddenQuestion(result, err) {
		return result, err
	}
	r.conn.server.log.Warn(
		"a handler has hidden the error of a question that it asked; the client is asked all the same, but wrap it with %w",
		"method", r.Method, "name", i.key, "error", err)
	return r.inputRequired()
}
