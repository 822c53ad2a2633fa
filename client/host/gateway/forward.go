package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An upstream is something that a server has, for one client.
type upstream struct {
	id, name   string // the name is the server's own
	idempotent bool
	session    string // of a server that is not shared
	answered   bool   // what it asks, the options of its client answer

	maxArguments, maxResult int // bytes
}

// address is which of the clients that the gateway has it is called by.
func (u *upstream) address() string { return u.id + "\n" + u.session }

// The first character of the state that a client carries for the gateway says whose it is.
const (
	stateOfServer = "s" // the modern server's
	stateOfFlight = "f" // that of a call that goes on meanwhile
)

// call calls a tool for the client of the request that ctx belongs to.
func (g *Gateway) call(ctx context.Context, u upstream, arguments json.RawMessage) (json.RawMessage, error) {
	c := &call{kind: kindTool, u: u, Event: Event{Arguments: arguments}}
	err := g.pass(ctx, c, func() (json.RawMessage, error) { return g.forward(ctx, u, c.Arguments) })
	if err != nil {
		return nil, err
	}
	return c.Result, nil
}

// forward has a server call a tool, or go on with a call that has asked something.
func (g *Gateway) forward(ctx context.Context, u upstream, arguments json.RawMessage) (json.RawMessage, error) {
	answers, state := server.Inputs(ctx)
	if token, ok := strings.CutPrefix(state, stateOfFlight); ok {
		f := g.flights.resume(token, principal(ctx))
		if f == nil {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "The call that asked has ended meanwhile: call the tool again")
		}
		return f.ride(ctx, answers)
	}
	var result json.RawMessage
	flies := false
	err := g.manager.Use(ctx, u.id, u.session, u.idempotent, func(c *client.Client) (err error) {
		switch {
		case c.Era() == mcp.Modern:
			opts := carried(ctx)
			if !u.answered {
				opts = answering(ctx, answers, state)
			}
			result, err = c.CallToolRaw(ctx, u.name, arguments, opts...)
		case g.flights.walk(ctx, &u):
			defer g.flights.arrive(&u)
			result, err = c.CallToolRaw(ctx, u.name, arguments, carried(ctx)...)
		default:
			flies = true
		}
		return err
	})
	if flies {
		return g.takeOff(ctx, u, arguments).ride(ctx, nil)
	}
	return result, outcome(ctx, err)
}

// ask makes a call of another kind for the client of the request that ctx belongs to. What a modern server asks is passed on; a legacy one does not ask there.
func (g *Gateway) ask(ctx context.Context, c *call, do func(c *client.Client, opts []client.CallOption) (result any, err error)) error {
	answers, state := server.Inputs(ctx)
	opts := answering(ctx, answers, state)
	return g.pass(ctx, c, func() (json.RawMessage, error) {
		var result any
		err := g.manager.Use(ctx, c.u.id, c.u.session, c.u.idempotent, func(c *client.Client) (err error) {
			result, err = do(c, opts)
			return err
		})
		if err != nil {
			return nil, outcome(ctx, err)
		}
		return mcp.Marshal(result)
	})
}

// answering are the options of a call whose questions are the client's to answer, with the answers that it has given.
func answering(ctx context.Context, answers mcp.InputResponses, state string) []client.CallOption {
	opts := append(carried(ctx), client.ByHand())
	if own, ok := strings.CutPrefix(state, stateOfServer); ok {
		opts = append(opts, client.Answers(mcp.InputAnswers{InputResponses: answers, RequestState: own}))
	}
	return opts
}

// outcome is the error that a client gets: the questions of a modern server, or what it may be told.
func outcome(ctx context.Context, err error) error {
	if asked, ok := errors.AsType[*client.InputRequiredError](err); ok {
		return require(ctx, asked.Result.InputRequests, stateOfServer+asked.Result.RequestState)
	}
	return told(err)
}

// A question is the error with which a client is asked something.
type question struct{ error }

func (q *question) Unwrap() error { return q.error }

// require asks the client: the error is a *question, or an *rpc.Error if it cannot be asked that.
func require(ctx context.Context, questions mcp.InputRequests, state string) error {
	err := server.RequireInput(ctx, questions, state)
	if err == server.ErrNoRequest {
		return &unasked{questions: questions}
	}
	if _, refused := errors.AsType[*rpc.Error](err); refused {
		return err
	}
	return &question{err}
}

// carried is what goes through beside arguments and result.
func carried(ctx context.Context) []client.CallOption {
	return append(trace(ctx), client.OnProgress(func(p mcp.ProgressParams) { report(ctx, p) }))
}

// trace has the server hear of the trace that the client's request belongs to, if it belongs to one.
func trace(ctx context.Context) []client.CallOption {
	trace := server.TraceFrom(ctx)
	if trace == (server.Trace{}) {
		return nil
	}
	meta := mcp.Meta{}
	for key, value := range map[string]string{mcp.MetaTraceparent: trace.Traceparent, mcp.MetaTracestate: trace.Tracestate, mcp.MetaBaggage: trace.Baggage} {
		if value != "" {
			_ = meta.Set(key, value) // a string
		}
	}
	return []client.CallOption{client.Meta(meta)}
}

// report tells who has sent the request, or made the call of an operation, that ctx belongs to how far it has come.
func report(ctx context.Context, p mcp.ProgressParams) {
	total := 0.0
	if p.Total != nil {
		total = *p.Total
	}
	if call := dispatch.CallFrom(ctx); call != nil {
		dispatch.Progress(ctx, p.Progress, total, p.Message)
		return
	}
	server.Progress(ctx, p.Progress, total, p.Message)
}

// A reply is an error that the client may be told, and what it is made of.
type reply struct {
	told  *rpc.Error
	cause error
}

func (r *reply) Error() string   { return r.told.Error() }
func (r *reply) Unwrap() []error { return []error{r.told, r.cause} }

// told makes an error that the client may be told: what the server itself has answered, and what has become of the server.
func told(err error) error {
	if err == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*rpc.Error](err); ok {
		return &reply{refusal, err}
	}
	_, call := errors.AsType[*client.CallError](err)
	_, unavailable := errors.AsType[*host.UnavailableError](err)
	if call || unavailable || errors.Is(err, host.ErrDisabled) || errors.Is(err, host.ErrUnknown) {
		return &reply{rpc.Errorf(rpc.CodeInternalError, "%s", err), err}
	}
	return fmt.Errorf("gateway: %w", err)
}
