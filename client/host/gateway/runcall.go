package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/client/host/gateway/internal/audit"
	"github.com/stdwire/stdwire/client/host/gateway/internal/inflight"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server"
)

// call makes a call for the client of the request in ctx, and returns its result with the public
// URIs of apps and the public names of invalid arguments.
func (g *Gateway) call(ctx context.Context, c *call) (json.RawMessage, error) {
	if err := g.runCall(ctx, c); err != nil {
		return nil, c.target.publicError(err)
	}
	if c.tool != nil && c.tool.Use != nil {
		return c.result, nil // of other calls, so it is public already
	}
	return appuri.InMessage(c.target.id, c.target.arguments.Result(c.result)), nil
}

// publicError returns the error of a call with the public names of invalid arguments.
func (t *target) publicError(err error) error {
	reply, ok := errors.AsType[*clientReply](err)
	if !ok || t.arguments == nil {
		return err
	}
	public := *reply.public
	public.Data = t.arguments.Data(public.Data)
	return &clientReply{&public, reply.cause}
}

// errCallPanicked is the error of a call that panicked.
var errCallPanicked = errors.New("a panic")

// runCall makes a call and adds it to the audit log.
func (g *Gateway) runCall(ctx context.Context, c *call) (err error) {
	stateKind, _, _ := stateFrom(ctx)
	c.resumed = stateKind != ""
	if g.audit != nil {
		err = errCallPanicked // if it panics
		defer func(began time.Time) {
			if !c.composed { // else the log has what it has read
				c.record(ctx, g.audit, began, err)
			}
		}(time.Now())
	}
	err = c.runWithinLimits(ctx, g, stateKind == stateOfInflight)
	if err != nil && (errors.Is(context.Cause(ctx), rpc.ErrShutdown) ||
		errors.Is(err, host.ErrClosed)) {
		err = &clientReply{errShuttingDown, err}
	}
	return err
}

// errShuttingDown is the error of a call that the gateway does not finish because it ends.
var errShuttingDown = rpc.Errorf(rpc.CodeBusy, "the gateway is shutting down")

// runWithinLimits makes a call within the limits and the interceptors.
func (c *call) runWithinLimits(ctx context.Context, g *Gateway, inFlight bool) error {
	own, err := c.target.arguments.Own(c.arguments)
	if err != nil {
		return c.refuse(byOverride, rpc.CodeInvalidParams, "%v", err)
	}
	c.arguments = own
	if err := c.checkArguments(); err != nil {
		return err
	}
	if g.interceptors != nil && !c.directory {
		return c.intercept(ctx, g, inFlight)
	}
	return c.make(ctx, g)
}

// record adds a call that has ended with err to the audit log.
func (c *call) record(ctx context.Context, log *audit.Log, began time.Time, err error) {
	from := server.ClientFrom(ctx)
	log.Record(&audit.Call{Began: began, Principal: principal(ctx),
		Client: audit.Client{Name: from.Name, Version: from.Version}, Session: from.Session,
		Server: c.target.id,
		Kind:   c.kind, Name: c.target.name, Public: c.target.public, Resumed: c.resumed,
		Cached: c.cached, Arguments: c.arguments, Result: c.result,
		Outcome: outcomeOf(ctx, c.result, err)})
}

// outcomeOf returns how a call ended.
func outcomeOf(ctx context.Context, result json.RawMessage, err error) audit.Outcome {
	if err == nil {
		if string(jsonscan.Member(result, "isError")) == "true" {
			return audit.Outcome{Text: audit.ToolError}
		}
		return audit.Outcome{Text: audit.OK}
	}
	if r, ok := errors.AsType[*refusedError](err); ok {
		return audit.Outcome{Text: audit.Refused, RefusedBy: r.by}
	}
	if ctx.Err() != nil {
		return audit.Outcome{Text: audit.Cancelled}
	}
	if _, ok := errors.AsType[*inflight.QuestionError](err); ok {
		return audit.Outcome{Text: audit.Asked}
	}
	code := rpc.CodeInternalError
	if failure, ok := errors.AsType[*rpc.Error](err); ok {
		code = failure.Code
	}
	return audit.Outcome{Text: audit.Error, Code: code}
}
