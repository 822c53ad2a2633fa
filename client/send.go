package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Call sends a request of any method, or takes its result from the cache, and returns the result as
// the server wrote it. Params must encode as a JSON object; nil means no params. Call adds the
// _meta members that the revision requires. The callbacks in [Options] answer the server's input
// requests; see the package comment.
//
// Call blocks until the response arrives, the call times out (see [Options]) or ctx ends. In the
// last two cases it sends notifications/cancelled. The error is a [*CallError].
func (c *Client) Call(ctx context.Context, method string, params any,
	opts ...CallOption) (json.RawMessage, error) {
	r := &call{method: method, params: params}
	r.decode = r.keep
	err := c.do(ctx, r, opts)
	return r.kept, err
}

// Ping reports whether the server answers: it sends ping to a legacy server (2025-11-25, Ping), and
// server/discover to a modern one, which has no ping. It blocks as [Client.Call] does and returns
// its errors.
func (c *Client) Ping(ctx context.Context, opts ...CallOption) error {
	method := mcp.MethodPing
	if c.Era() == mcp.Modern {
		method = mcp.MethodDiscover
	}
	_, err := c.Call(ctx, method, nil, opts...)
	return err
}

// do applies the options and makes a call. It is the common path of all methods that call the
// server.
func (c *Client) do(ctx context.Context, r *call, opts []CallOption) error {
	r.meta, r.hasResultType, r.startedAt = c.meta.Load(), c.session.Load().features.ResultType,
		time.Now()
	for _, option := range opts {
		option(r)
	}
	if r.timeout = cmp.Or(r.timeout, c.o.CallTimeout); r.timeout >= 0 {
		r.expires = r.startedAt.Add(r.timeout)
	}
	if r.onProgress != nil {
		r.progress = c.calls.Open()
		defer c.calls.Close(r.progress)
	}
	if r.method == mcp.MethodListTools && c.needsToolList() {
		decode := r.decode
		r.decode = func(result []byte) error {
			c.learnTools(result)
			return decode(result)
		}
	}
	hit, fetch := c.lookUp(ctx, r)
	if hit {
		return nil
	}
	var err error
	if fetch != nil {
		defer func() { fetch.Finish(err, r.startedAt) }()
	}
	if err = c.callWithInput(ctx, r); err != nil {
		return &CallError{Server: c.o.Name, Method: r.method, Tool: r.tool, Name: r.name, Err: err}
	}
	return nil
}

// request makes a call that needs a capability.
func (c *Client) request(ctx context.Context, needed capability, r *call, opts []CallOption) error {
	if err := c.require(needed, r.method, r.name); err != nil {
		return err
	}
	return c.do(ctx, r, opts)
}

// send sends the request of a call, waits for the response and decodes it. If the server rejected
// the request without processing it, and the reason can be fixed, it sends the request once more.
func (c *Client) send(ctx context.Context, r *call) error {
	for retried := false; ; retried = true {
		if err := ctx.Err(); err != nil {
			return c.abortError(err, r) // a request would only be cancelled
		}
		if c.isClosing() {
			return errClosed
		}
		session := c.session.Load()
		var err error
		if c.outgoing != nil {
			err = c.sendOutgoing(ctx, r)
		} else if _, err = c.exchange(ctx, r, r.method, r, r); err == nil {
			err = r.codecErr
		}
		switch {
		case err == nil:
			return nil
		case retried && errors.Is(err, ErrSessionLost):
			return fmt.Errorf("%w, and the next one too", ErrSessionLost)
		case retried:
			return err
		}
		if err = c.prepareRetry(ctx, r, session, err); err != nil {
			return err
		}
	}
}

// prepareRetry removes the reason for which the server rejected a request: it renews the session or
// lists the tools for their headers, before the deadline of the call. It returns nil if the request
// can be sent again, and err if it cannot.
func (c *Client) prepareRetry(ctx context.Context, r *call, lost *session, err error) error {
	refusal, _ := err.(*rpc.Error)
	headers := refusal != nil && refusal.Code == mcp.CodeHeaderMismatch && c.headerTools != nil &&
		r.tool != ""
	doubtful := errors.Is(err, ErrSessionRefused)
	if !headers && !doubtful && !errors.Is(err, ErrSessionLost) {
		return err
	}
	cause := err
	limited := ctx
	if !r.expires.IsZero() {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, r.expires)
		defer cancel()
	}
	if headers {
		err = c.refreshHeaderTools(limited, r.tool, refusal)
	} else {
		err = c.renewSession(limited, lost, doubtful)
	}
	switch {
	case err != nil && limited.Err() != nil:
		return c.abortError(limited.Err(), r)
	case err != nil && doubtful:
		return cause
	}
	return err
}
