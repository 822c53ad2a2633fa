package gateway

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/stdwire/stdwire/client/host/gateway/internal/inflight"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

var errNotObject = errors.New("the interceptor left a value that is not a JSON object")

// An interception is a call that is made within the interceptors. One allocation has all of it.
type interception struct {
	*call
	g          *Gateway
	inFlight   bool // the invocation's InFlight, which an interceptor may have changed
	invocation dispatch.Invocation
	made       *server.Result // the last result of the server
	failure    error          // the last error of making the call
	by         string         // why the call is refused, if an interceptor returns another error
}

// run makes the call, when the innermost interceptor calls next.
func (x *interception) run(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
	if !x.inFlight && !jsonscan.Same(i.Arguments, x.arguments) {
		if !isObject(i.Arguments) {
			return nil, errNotObject
		}
		x.arguments = i.Arguments
		if x.failure = x.checkArguments(); x.failure != nil {
			return nil, x.failure
		}
	}
	x.by = byAfter
	x.sent, _ = ctx.Value(contextkey.Sent{}).(*atomic.Bool)
	if x.failure = x.make(ctx, x.g); x.failure != nil {
		return nil, x.failure
	}
	x.made = server.NewResult(x.result)
	return x.made, nil
}

// intercept makes the call within the interceptors.
func (c *call) intercept(ctx context.Context, g *Gateway, inFlight bool) error {
	x := &interception{call: c, g: g, inFlight: inFlight, by: byBefore}
	i := &x.invocation
	*i = dispatch.Invocation{Kind: string(c.kind), Name: c.target.name, Server: c.target.id,
		Arguments: c.arguments, Principal: principal(ctx), Surface: "mcp", InFlight: inFlight,
		RequestID: server.RequestIDFrom(ctx)}
	if c.tool != nil {
		i.Definition, i.Composite = c.tool.Passed, c.tool.Use != nil
	}
	if from := dispatch.CallFrom(ctx); from != nil {
		i.RequestID, i.Surface = from.RequestID, from.Surface
	}
	result, err := i.Run(ctx, g.interceptors, x.run)
	if err == nil && result != x.made {
		own, ok := result.(*server.Result)
		if ok && own != nil && isObject(own.JSON()) {
			c.result = own.JSON()
			return c.checkResult()
		}
		err = errNotObject
	}
	switch {
	case err == nil || x.failure != nil && errors.Is(err, x.failure):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, server.ErrAsked):
		return inflight.Asked(err)
	case x.by == byBefore && c.kind == mcp.KindResource && errors.Is(err, dispatch.NotFound):
		return &refusedError{x.by, rpc.Errorf(mcp.CodeResourceNotFound, "an interceptor hides it"),
			server.ResourceNotFound(c.target.name)}
	case x.by == byBefore && errors.Is(err, dispatch.TooManyRequests):
		return &refusedError{by: byRate, reason: err}
	case x.by == byBefore:
		return c.refuse(x.by, rpc.CodeInvalidParams, "refused before the call: %v", err)
	default:
		return c.refuse(x.by, rpc.CodeInternalError, "its result is refused: %v", err)
	}
}

// isObject reports whether text is a JSON object.
func isObject(text []byte) bool {
	return jsonscan.Valid(text) == nil && text[jsonscan.Space(text, 0)] == '{'
}
