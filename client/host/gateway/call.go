package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc"
)

// defaultMax is of arguments and results: many servers, and clients, end when they get a message of 10 MiB.
const defaultMax = 8 << 20

// A call is what a client wants of a server: a tool called, a resource read, a prompt. All of them stay within the limits and are written down; those of tools pass the interceptors.
type call struct {
	Event
	kind    string
	u       upstream
	resumed bool // it has asked something, and this is the answer
}

// errPanicked is what has become of a call of which nothing else is known.
var errPanicked = errors.New("a panic")

// pass makes a call. The result of do counts for the limits, the interceptors and the audit log.
func (g *Gateway) pass(ctx context.Context, c *call, do func() (json.RawMessage, error)) (err error) {
	c.Server, c.Tool, c.Principal = c.u.id, c.u.name, principal(ctx)
	what, _, _ := stateFrom(ctx)
	c.resumed = what != ""
	if g.audit != nil {
		err = errPanicked // unless something is returned
		defer func(began time.Time) { g.audit.record(ctx, c, began, err) }(time.Now())
	}
	err = c.through(ctx, g, what == stateOfFlight, do)
	return err
}

// through makes a call within the limits and past the interceptors. Those before it do not see what a flight is told, which has its arguments already.
func (c *call) through(ctx context.Context, g *Gateway, flying bool, do func() (json.RawMessage, error)) (err error) {
	if err := c.checkArguments(); err != nil {
		return err
	}
	if c.kind == kindTool && !flying && len(g.o.Before) > 0 {
		if err := c.intercept(ctx, byBefore, g.o.Before); err != nil {
			return err
		}
		if err := c.checkArguments(); err != nil {
			return err
		}
	}
	result, err := do()
	if large, ok := errors.AsType[*client.TooLargeError](err); ok {
		return c.refuse(byLimit, rpc.CodeInternalError, "the server sent a message of %d bytes or more, over the limit of %d: ask for less, or allow more with maxResult", large.Size, large.Limit)
	}
	if err != nil {
		return err
	}
	c.Result = result
	if err := c.checkResult(); err != nil || c.kind != kindTool || len(g.o.After) == 0 {
		return err
	}
	if err := c.intercept(ctx, byAfter, g.o.After); err != nil {
		return err
	}
	return c.checkResult()
}

func (c *call) checkArguments() error {
	if n := len(c.Arguments); n > c.u.maxArguments {
		return c.refuse(byLimit, rpc.CodeInvalidParams, "its arguments have %d bytes, and maxArguments allows %d: nothing was sent", n, c.u.maxArguments)
	}
	return nil
}

func (c *call) checkResult() error {
	if n := len(c.Result); n > c.u.maxResult {
		return c.refuse(byLimit, rpc.CodeInternalError, "its result has %d bytes, and maxResult allows %d: ask for less of it", n, c.u.maxResult)
	}
	return nil
}

func (c *call) refuse(by string, code int, format string, args ...any) error {
	return &refusal{by, rpc.Errorf(code, "server %q: %s %q: %s", c.u.id, c.kind, c.u.name, fmt.Sprintf(format, args...))}
}
