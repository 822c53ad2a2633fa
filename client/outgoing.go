package client

import (
	"context"
	"encoding/json"

	"github.com/stdwire/stdwire/client/internal/object"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An outgoingContext is the context of a message that passes Options.Outgoing.
type outgoingContext struct {
	context.Context
	c    *Client
	call *call // of a request; nil for a notification
}

type outgoingKey struct{}

func (o *outgoingContext) Value(key any) any {
	switch key {
	case outgoingKey{}:
		return o
	case contextkey.Connection{}:
		return connection{o.c}
	}
	return o.Context.Value(key)
}

// An incomingContext is the context of the requests of the server.
type incomingContext struct {
	context.Context
	c *Client
}

func (i *incomingContext) Value(key any) any {
	if key == (contextkey.Connection{}) {
		return connection{i.c}
	}
	return i.Context.Value(key)
}

// A connection is a client as a messagecontext.Connection.
type connection struct{ c *Client }

func (c connection) Revision() mcp.Revision {
	if s := c.c.session.Load(); s != nil {
		return s.revision
	}
	return ""
}

func (c connection) Context() context.Context { return c.c.ctx }

// chainOutgoing returns a handler that sends messages through Options.Outgoing, or nil without any.
func (c *Client) chainOutgoing() rpc.Handler {
	if len(c.o.Outgoing) == 0 {
		return nil
	}
	return rpc.Chain(func(ctx context.Context, req *rpc.Request) (any, error) {
		var params any // a nil RawMessage would be sent
		if req.Params != nil {
			params = req.Params
		}
		o := ctx.Value(outgoingKey{}).(*outgoingContext)
		if o.call == nil {
			return nil, c.peer.Notify(ctx, req.Method, params)
		}
		var result json.RawMessage
		id, err := c.exchange(ctx, o.call, req.Method, params, &result)
		req.ID = id
		return result, err
	}, c.o.Outgoing...)
}

// pass passes a message to the middleware. A panic of it becomes an error. A runtime.Goexit ends
// the goroutine only if it is that of a call, which defers its cleanup.
func (c *Client) pass(ctx context.Context, r *call, method string,
	params []byte) (result any, err error) {
	contained := contain.Call
	if r == nil {
		contained = contain.Run
	}
	failure := contained(func() {
		result, err = c.outgoing(&outgoingContext{ctx, c, r},
			&rpc.Request{Method: method, Params: params})
	})
	if failure != nil {
		c.logCallbackPanic("Outgoing", failure)
		return nil, failure
	}
	return result, err
}

// sendOutgoing sends the request of a call through Options.Outgoing and decodes the result that it
// returns.
func (c *Client) sendOutgoing(ctx context.Context, r *call) error {
	params, err := r.AppendJSON(nil)
	if err != nil {
		return err
	}
	result, err := c.pass(ctx, r, r.method, params)
	if err != nil {
		return err
	}
	raw, ok := result.(json.RawMessage)
	if !ok { // the middleware has made a result of its own
		if raw, err = object.AppendValue(nil, result); err != nil {
			return err
		}
	}
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	_ = r.UnmarshalJSON(raw) // the error is codecErr
	return r.codecErr
}

// notify sends a notification, through Options.Outgoing if there is any.
func (c *Client) notify(ctx context.Context, method string, params rpc.Appender) error {
	if c.outgoing == nil {
		if params == nil {
			return c.peer.Notify(ctx, method, nil)
		}
		return c.peer.Notify(ctx, method, params)
	}
	var encoded []byte
	if params != nil {
		var err error
		if encoded, err = params.AppendJSON(nil); err != nil {
			return err
		}
	}
	_, err := c.pass(ctx, nil, method, encoded)
	return err
}
