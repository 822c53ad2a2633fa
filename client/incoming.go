package client

import (
	"bytes"
	"context"
	"log/slog"
	"sync"

	"github.com/stdwire/stdwire/client/internal/changes"
	"github.com/stdwire/stdwire/client/internal/queue"
	"github.com/stdwire/stdwire/client/internal/stray"
	"github.com/stdwire/stdwire/client/internal/urlelicitation"
	"github.com/stdwire/stdwire/internal/jsonscan"
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
		c.routes[l.Notification] = func([]byte) { l.MarkChanged() }
	}
	c.routeExtensions()
	if c.o.OnResourceUpdated != nil {
		c.updates = changes.NewUpdates(c.background, c.deliverUpdates)
		c.routes[mcp.NotificationResourceUpdated] = c.updates.Put
	}
	if c.o.OnElicit != nil && c.o.elicits(mcp.ElicitURL) {
		var deliver *ondemand.Task
		if c.o.OnElicitComplete != nil {
			deliver = &ondemand.Task{Start: c.background, Do: c.deliverElicitCompletions}
		}
		c.urlElicitations = urlelicitation.NewTable(deliver)
		c.routes[mcp.NotificationElicitationComplete] = c.urlElicitations.Put
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

const maxSamples = 10 // of junk

// stray handles, on the reader's goroutine, frames that the peer rejects. If only the Unicode of a
// message is invalid, it returns the repaired message, which is to be read next: JavaScript's slice
// can split a surrogate pair, and the call must still end.
func (c *Client) stray(frame []byte, reason string) (repaired []byte) {
	if hook := c.o.Hooks.Safe().Stray; hook != nil {
		hook(frame, reason)
	}
	valid := jsonscan.Valid(frame) == nil
	if !valid {
		if fixed := stray.Repair(frame); jsonscan.Valid(fixed) == nil {
			c.stats.count(func(n *Stats) { n.Repaired++ })
			return fixed
		}
	}
	if valid && jsonscan.Member(frame, "jsonrpc") != nil {
		late := c.lateResponse(frame)
		c.stats.count(func(n *Stats) {
			if late {
				n.Late++
			} else {
				n.Unmatched++
			}
		})
		return nil
	}
	c.stats.count(func(n *Stats) {
		n.Junk++
		if len(n.Samples) < maxSamples {
			n.Samples = append(n.Samples, stray.Sample(frame))
		}
	})
	return nil
}

// countOtherID is the hook of the peer.
func (c *Client) countOtherID(frame []byte) {
	if hook := c.o.Hooks.Safe().OtherID; hook != nil {
		hook(frame)
	}
	c.stats.count(func(n *Stats) { n.OtherIDs++ })
}

// lateResponse handles a response to no request that waits, on the reader's goroutine, and reports
// whether its request was cancelled. If the response creates a task, the task is cancelled.
func (c *Client) lateResponse(frame []byte) bool {
	m, err := rpc.ParseMessage(frame)
	if err != nil || !m.IsResponse() {
		return false
	}
	id, ok := m.ID.Integer()
	if !ok {
		return false
	}
	method := c.cancelled.Take(id)
	if method == mcp.MethodCallTool && m.Error == nil {
		c.cancelLateTask(m)
	}
	return method != ""
}

func (c *Client) cancelLateTask(m rpc.Message) {
	err := decodeExperimentalTaskCreated(m.Result)
	if c.session.Load().features.ResultType {
		err = checkResultType(m.Result)
	}
	if p, ok := err.(*createdTaskError); ok {
		c.cancelAbandonedTask(&Task{c: c, id: p.task.TaskID, confirmed: true})
	}
}
