package client

import (
	"context"
	"log/slog"
	"sync"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// serve answers the requests of a legacy server, Options.Limits.MaxRunning at a time. A modern
// server must not send requests; it is answered nevertheless, so that it does not wait forever.
func (c *Client) serve(ctx context.Context, req *rpc.Request) (any, error) {
	if req.Method == mcp.MethodPing {
		return struct{}{}, nil
	}
	answer := c.inputHandlers[req.Method]
	if answer == nil {
		answer = c.extensionHandler(req.Method)
	}
	if answer == nil {
		return nil, rpc.Errorf(rpc.CodeMethodNotFound,
			"Method not found: this client does not serve %.100s", req.Method)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-c.closing: // the process may need time to end
			cancel(rpc.ErrClosed)
		case <-ctx.Done():
		}
	})
	defer watching.Wait()
	defer cancel(nil)
	c.calls.Await(ctx)
	raw, err := answer(ctx, req.Params)
	switch err := err.(type) {
	case nil:
		return raw, nil
	case *invalidInputRequest:
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: %s", err.text)
	case *rpc.Error: // for the server; a wrapped one is not
		return nil, err
	}
	if ctx.Err() == nil {
		c.warn("the server's question was not answered", slog.String("method", req.Method),
			slog.Any("error", err))
	}
	return nil, rpc.Errorf(rpc.CodeInternalError, "Internal error: the client could not answer")
}
