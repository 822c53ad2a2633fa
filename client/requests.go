package client

import (
	"context"
	"log/slog"
	"sync"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// serve answers the requests of a legacy server, Options.Limits.MaxRunning of them at a time. A modern one must not send any; it gets an answer all the same, so
// that it does not wait for ever.
func (c *Client) serve(ctx context.Context, req *rpc.Request) (any, error) {
	if req.Method == mcp.MethodPing {
		return struct{}{}, nil
	}
	answer := c.inputHandlers[req.Method]
	if answer == nil {
		return nil, rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: this client does not serve %.100s", req.Method)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-c.closing: // the server may take its time to end
			cancel(rpc.ErrClosed)
		case <-ctx.Done():
		}
	})
	defer watching.Wait()
	defer cancel(nil)
	raw, err := answer(ctx, req.Params)
	switch err := err.(type) {
	case nil:
		return raw, nil
	case *invalidInputRequest:
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: %s", err.text)
	case *rpc.Error: // meant for the server; one that is wrapped is not
		return nil, err
	}
	if ctx.Err() == nil {
		c.warn("the server's question was not answered", slog.String("method", req.Method), slog.Any("error", err))
	}
	return nil, rpc.Errorf(rpc.CodeInternalError, "Internal error: the client could not answer")
}
