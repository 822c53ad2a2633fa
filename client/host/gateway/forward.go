package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An upstream is a tool of a server, for one client.
type upstream struct {
	id, tool   string
	idempotent bool
	session    string // of a server that is not shared
}

// address is which of the clients that the gateway has it is called by.
func (u *upstream) address() string { return u.id + "\n" + u.session }

// The first character of the state that a client carries for the gateway says whose it is.
const (
	stateOfServer = "s" // the modern server's
	stateOfFlight = "f" // that of a call that goes on meanwhile
)

// forward calls a tool for the client of the request that ctx belongs to.
func (g *Gateway) forward(ctx context.Context, u upstream, arguments json.RawMessage) (json.RawMessage, error) {
	answers, state := server.Inputs(ctx)
	if token, ok := strings.CutPrefix(state, stateOfFlight); ok {
		f := g.flights.resume(token, server.PrincipalFrom(ctx))
		if f == nil {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "The call that asked has ended meanwhile: call the tool again")
		}
		return f.ride(ctx, answers)
	}
	var result json.RawMessage
	legacy := false
	err := g.manager.Use(ctx, u.id, u.session, u.idempotent, func(c *client.Client) (err error) {
		if legacy = c.Era() == mcp.Legacy; legacy {
			return nil
		}
		opts := append(callOptions(ctx), client.ByHand())
		if own, ok := strings.CutPrefix(state, stateOfServer); ok {
			opts = append(opts, client.Answers(mcp.InputAnswers{InputResponses: answers, RequestState: own}))
		}
		result, err = c.CallToolRaw(ctx, u.tool, arguments, opts...)
		return err
	})
	if legacy {
		return g.takeOff(ctx, u, arguments).ride(ctx, nil)
	}
	if asked, ok := errors.AsType[*client.InputRequiredError](err); ok {
		return nil, server.RequireInput(ctx, asked.Result.InputRequests, stateOfServer+asked.Result.RequestState)
	}
	return result, told(err)
}

// callOptions are what of the client's request goes on to the server.
func callOptions(ctx context.Context) []client.CallOption {
	opts := []client.CallOption{client.OnProgress(func(p mcp.ProgressParams) {
		total := 0.0
		if p.Total != nil {
			total = *p.Total
		}
		server.Progress(ctx, p.Progress, total, p.Message)
	})}
	meta := mcp.Meta{}
	trace := server.TraceFrom(ctx)
	for key, value := range map[string]string{mcp.MetaTraceparent: trace.Traceparent, mcp.MetaTracestate: trace.Tracestate, mcp.MetaBaggage: trace.Baggage} {
		if value != "" {
			_ = meta.Set(key, value) // a string
		}
	}
	return append(opts, client.Meta(meta))
}

// told makes an error that the client may be told: what the server itself has answered, and what has become of the server.
func told(err error) error {
	if err == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*rpc.Error](err); ok {
		return refusal
	}
	_, call := errors.AsType[*client.CallError](err)
	_, unavailable := errors.AsType[*host.UnavailableError](err)
	if call || unavailable || errors.Is(err, host.ErrDisabled) || errors.Is(err, host.ErrUnknown) {
		return rpc.Errorf(rpc.CodeInternalError, "%s", err)
	}
	return fmt.Errorf("gateway: %w", err)
}
