package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"log/slog"
	"sync"

	"github.com/stdwire/stdwire/client/internal/queue"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/ondemand"
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

// route fills the table of notification handlers. They run on the reader's goroutine and only store
// data; other goroutines process it. So memory stays bounded however fast the server sends.
func (c *Client) route() {
	c.routes = map[string]func(params []byte){mcp.NotificationProgress: c.calls.Put}
	if c.o.OnLog != nil {
		c.logs = queue.New(func(params []byte) int { return len(params) }, c.background,
			c.deliverLogs)
	}
	if c.o.OnLog != nil || c.o.OnRawLog != nil {
		c.routes[mcp.NotificationMessage] = c.logged
	}
	for _, l := range c.lists {
		c.routes[l.notification] = func([]byte) { c.markChanged(l) }
	}
	c.routeExtensions()
	if c.o.OnResourceUpdated != nil {
		c.updates = &updateQueue{seen: make(map[string]bool),
			task: ondemand.Task{Start: c.background, Do: c.deliverUpdates}}
		c.routes[mcp.NotificationResourceUpdated] = c.updates.put
	}
	if c.o.OnElicit != nil && c.o.elicits(mcp.ElicitURL) {
		c.urlElicitations.all = make(map[[sha256.Size]byte]*urlElicitation)
		c.routes[mcp.NotificationElicitationComplete] = c.urlElicitations.put
		if c.o.OnElicitComplete != nil {
			c.urlElicitations.deliver = &ondemand.Task{Start: c.background,
				Do: c.deliverElicitCompletions}
		}
	}
	if len(c.lists) > 0 || c.updates != nil {
		c.routes[mcp.NotificationSubscriptionsAcknowledged] = c.acknowledged
	}
}

// handleNotification consumes all notifications. Those without a handler and without
// Options.OnNotification are dropped.
func (c *Client) handleNotification(req *rpc.Request) bool {
	c.o.Cache.results.Invalidate(req.Method, req.Params)
	if f := c.routes[req.Method]; f != nil {
		f(req.Params)
	} else if c.o.OnNotification != nil {
		c.extensions.Put(extensionNotification{nil, req.Method, bytes.Clone(req.Params)})
	}
	return true
}

// runCallback runs a callback of the application and logs a panic.
func (c *Client) runCallback(callback string, f func()) {
	if failure := contain.Run(f); failure != nil {
		c.logCallbackPanic(callback, failure)
	}
}

// logCallbackPanic logs a callback that panicked.
func (c *Client) logCallbackPanic(callback string, failure *contain.PanicError) {
	c.warn("a callback panicked", slog.String("callback", callback),
		slog.String("panic", failure.String()),
		slog.String("stack", string(failure.Stack)))
}

// warn logs a warning that no error reports.
func (c *Client) warn(what string, attrs ...slog.Attr) {
	c.o.Logger.LogAttrs(context.Background(), slog.LevelWarn, "mcp client: "+what,
		append(attrs, slog.String("server", c.o.Name))...)
}
