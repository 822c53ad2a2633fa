package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/audit"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/inflight"
	"github.com/stdwire/stdwire/client/host/gateway/internal/resultcache"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// defaultMax is the default limit of arguments and results in bytes. Many servers and clients fail
// at messages of 10 MiB.
const defaultMax = 8 << 20

// A call is a client's tools/call, resources/read or prompts/get, or the reading of a directory.
// The limits and the audit log apply to all of them, the interceptors to all but directories.
type call struct {
	kind      mcp.Kind
	directory bool // it is a resources/directory/read
	target    target
	arguments json.RawMessage
	result    json.RawMessage        // nil until there is one
	resumed   bool                   // the request answers a question
	tool      *definition.Definition // of a tool
	cached    bool                   // the result is that of an earlier call
	composed  bool                   // a tool of the gateway's own has run, which makes other calls
	sent      *atomic.Bool           // set when the call is sent to the server; may be nil
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

// make makes a call and checks the size of its result.
func (c *call) make(ctx context.Context, g *Gateway) (err error) {
	if c.tool != nil && c.tool.Use != nil {
		c.composed = true
		c.result, err = c.tool.Use(ctx, c.arguments)
		return err
	}
	if key, ok := c.cacheKey(ctx); ok {
		c.result, c.cached, err = c.target.upstream.cache.Do(ctx, key,
			func() (json.RawMessage, error) { return g.forward(ctx, c) })
	} else {
		c.result, err = g.forward(ctx, c)
	}
	if large, ok := errors.AsType[*client.TooLargeError](err); ok {
		return c.refuse(byLimit, rpc.CodeInternalError,
			"the server sent a message of %d bytes or more, over the limit of %d: ask for less, or allow more with maxResult",
			large.Size, large.Limit)
	}
	if err != nil {
		return err
	}
	return c.checkResult()
}

// cacheKey returns the key by which the result of the call is cached. ok is false if it must not
// be: the tool may change something, or the result may depend on the client.
func (c *call) cacheKey(ctx context.Context) (key resultcache.Key, ok bool) {
	if c.target.upstream.cache == nil || c.tool == nil || !c.tool.ReadOnly || c.resumed ||
		c.target.upstream.sharing != host.Shared || c.target.answersQuestions {
		return key, false
	}
	for key := range c.target.meta { // the server may answer by it
		if key != mcp.MetaTraceparent && key != mcp.MetaTracestate && key != mcp.MetaBaggage {
			return resultcache.Key{}, false
		}
	}
	arguments := c.arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	return resultcache.KeyOf(principal(ctx), c.tool.Text, arguments)
}

func (c *call) checkArguments() error {
	what, n := "arguments", len(c.arguments)
	if extra := metaSize(c.target.meta); extra > 0 {
		what, n = "arguments and _meta", n+extra
	}
	if n > c.target.maxArguments {
		return c.refuse(byLimit, rpc.CodeInvalidParams,
			"its %s have %d bytes, and maxArguments allows %d: nothing was sent", what, n,
			c.target.maxArguments)
	}
	return nil
}

func (c *call) checkResult() error {
	if n := len(c.result); n > c.target.maxResult {
		return c.refuse(byLimit, rpc.CodeInternalError,
			"its result has %d bytes, and maxResult allows %d: ask for less of it", n,
			c.target.maxResult)
	}
	return nil
}

// refuse returns the error of a call that the gateway refuses. Its data contains by, so that
// clients know the reason.
func (c *call) refuse(by string, code int, format string, args ...any) error {
	reason := rpc.Errorf(code, "server %q: %s %q: %s", c.target.id, c.kind,
		cmp.Or(c.target.public, c.target.name), fmt.Sprintf(format, args...))
	reason.Data = append(jsonscan.AppendString([]byte(`{"refused_by":`), by), '}')
	return &refusedError{by: by, reason: reason}
}
