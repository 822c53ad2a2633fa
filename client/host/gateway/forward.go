package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	perSession bool             // the server is not shared
	session    string           // of such a server; "" where there is none
	conn       *server.Conn     // the client's; nil where an operation is called
	owner      string           // who may go on with the call
	answered   bool             // what it asks, the options of its client answer
	level      mcp.LoggingLevel // from which on the server is to log anyway

	maxArguments, maxResult int // bytes
}

// address is which of the clients that the gateway has it is called by.
func (u *upstream) address() string { return u.id + "\n" + u.session }

// stateless reports whether any number of clients may come the way that the client comes.
func (u *upstream) stateless() bool { return u.conn == nil || u.conn.Context().Done() == nil }

// ownerOf names the client of the request, or who makes the call of an operation, that ctx belongs to.
func ownerOf(ctx context.Context) string {
	if conn := server.ConnFrom(ctx); conn != nil {
		return conn.Session()
	}
	return "operations of " + principal(ctx)
}

// principal is who has sent the request, or makes the call of an operation, that ctx belongs to.
func principal(ctx context.Context) string {
	if call := dispatch.CallFrom(ctx); call != nil {
		return call.Principal
	}
	return server.PrincipalFrom(ctx)
}

// askable reports whether the client of the request that ctx belongs to can be asked anything within it. Who calls an operation cannot, but is told what was asked.
func askable(ctx context.Context) bool {
	can := server.CapabilitiesFrom(ctx)
	return can.Elicitation != nil || can.Sampling != nil || can.Roots != nil || dispatch.CallFrom(ctx) != nil
}

// The state that a client carries for the gateway begins with what it is, and the server that has asked.
const (
	stateOfServer = "s" // the modern server's
	stateOfFlight = "f" // that of a call that goes on meanwhile
)

func (u *upstream) state(what, rest string) string { return what + u.id + "\n" + rest }

// stateFrom returns the parts of what the client has carried; nothing if it has not been asked.
func stateFrom(ctx context.Context) (what, id, rest string) {
	if _, state := server.Inputs(ctx); state != "" {
		id, rest, _ = strings.Cut(state[1:], "\n")
		return state[:1], id, rest
	}
	return "", "", ""
}

// A deed has a server do what a client wants.
type deed[R any] func(ctx context.Context, c *client.Client, opts ...client.CallOption) (R, error)

// call calls a tool for the client of the request that ctx belongs to.
func (g *Gateway) call(ctx context.Context, u upstream, arguments json.RawMessage) (json.RawMessage, error) {
	c := &call{kind: kindTool, u: u, Event: Event{Arguments: arguments}}
	err := g.pass(ctx, c, func() (json.RawMessage, error) {
		return forward(ctx, g, c, func(ctx context.Context, to *client.Client, opts ...client.CallOption) (json.RawMessage, error) {
			return to.CallToolRaw(ctx, u.name, c.Arguments, opts...)
		})
	})
	if err != nil {
		return nil, err
	}
	return c.Result, nil
}

// ask makes a call of another kind for the client of the request that ctx belongs to.
func ask[R any](ctx context.Context, g *Gateway, c *call, do deed[R]) (result R, err error) {
	err = g.pass(ctx, c, func() (json.RawMessage, error) {
		if result, err = forward(ctx, g, c, do); err != nil {
			return nil, err
		}
		return mcp.Marshal(result)
	})
	return result, err
}

var errOver = rpc.Errorf(rpc.CodeInvalidParams, "The call that asked has ended meanwhile: make it again")

// forward has a server do something, or go on with what has asked something. What it asks is passed on. A legacy server's call has to fly for that.
func forward[R any](ctx context.Context, g *Gateway, c *call, do deed[R]) (result R, err error) {
	what, id, token := stateFrom(ctx)
	if what != "" && id != c.u.id { // the name has become another server's, who must not have the answer
		return result, errOver
	}
	var f *flight
	if what == stateOfFlight {
		if f = g.flights.resume(token, c.u.owner); f == nil {
			return result, errOver
		}
	} else {
		flies, askable := false, askable(ctx)
		err = g.converse(ctx, &c.u, !askable, func(to *client.Client, opts []client.CallOption) (err error) {
			if flies = askable && to.Era() == mcp.Legacy; flies {
				return nil
			}
			result, err = do(ctx, to, opts...)
			return err
		})
		if !flies {
			return result, err
		}
		f = g.takeOff(ctx, c, func(ctx context.Context, to *client.Client, opts ...client.CallOption) (any, error) {
			return do(ctx, to, opts...)
		})
	}
	landed, err := f.ride(ctx)
	if err != nil {
		return result, err
	}
	return landed.(R), nil // the state that a client carries is good for the same request only
}

// maxRounds is how many times in a row a server asks for the roots of a client that has none.
const maxRounds = 10

// asked is what a client carries for the gateway when a modern server has asked it something.
type asked struct {
	State string   `json:"state,omitempty"` // of the server
	Roots []string `json:"roots,omitempty"` // what it asks beside, which the gateway answers
}

// converse makes a call, with the answers that the client has given. What a modern server asks is the client's to answer, and the error; but for the roots of one that has none.
// With walks, what a legacy server asks meanwhile nobody can answer.
func (g *Gateway) converse(ctx context.Context, u *upstream, walks bool, do func(c *client.Client, opts []client.CallOption) error) error {
	var answers mcp.InputAnswers
	if what, _, own := stateFrom(ctx); what == stateOfServer {
		var a asked
		if err := json.Unmarshal([]byte(own), &a); err != nil {
			return err // it was sealed, so it is the gateway's own
		}
		given, _ := server.Inputs(ctx)
		answers = mcp.InputAnswers{InputResponses: maps.Clone(given), RequestState: a.State}
		noRootsFor(&answers, a.Roots)
	}
	for range maxRounds {
		err := g.use(ctx, u, walks, func(c *client.Client) error {
			opts := append(carried(meta(ctx, u, c)), client.OnProgress(func(p mcp.ProgressParams) { report(ctx, p) }))
			if !u.answered {
				opts = append(opts, client.ByHand(), client.Answers(answers))
			}
			return do(c, opts)
		})
		required, ok := errors.AsType[*client.InputRequiredError](err)
		if !ok {
			return told(err)
		}
		questions, roots := withoutRoots(ctx, required.Result.InputRequests)
		if len(questions) > 0 || len(roots) == 0 {
			state, err := json.Marshal(asked{required.Result.RequestState, roots})
			if err != nil {
				return err
			}
			return require(ctx, questions, u.state(stateOfServer, string(state)))
		}
		answers = mcp.InputAnswers{RequestState: required.Result.RequestState}
		noRootsFor(&answers, roots)
	}
	return rpc.Errorf(rpc.CodeInternalError, "server %q asks for the client's roots again and again, although there are none", u.id)
}

// A question is the error with which a client is asked something.
type question struct{ error }

func (q *question) Unwrap() error { return q.error }

// require asks the client: the error is a *question, or what is wrong if it cannot be asked that.
func require(ctx context.Context, questions mcp.InputRequests, state string) error {
	err := server.RequireInput(ctx, questions, state)
	if err == server.ErrNoRequest {
		return &unasked{questions: questions}
	}
	if !errors.Is(err, server.ErrAsked) {
		return err
	}
	return &question{err}
}

// carried is the option of a call that has a _meta, if there is anything in that.
func carried(m mcp.Meta) []client.CallOption {
	if len(m) == 0 {
		return nil
	}
	return []client.CallOption{client.Meta(m)}
}

// meta is what of the client's request goes on to the server: the trace, and to a modern one from which level on the client wants to hear of log messages.
func meta(ctx context.Context, u *upstream, c *client.Client) mcp.Meta {
	m := traceOf(ctx)
	if level := talkative(server.LogLevelFrom(ctx), u.level); level != "" && c.Era() == mcp.Modern {
		if m == nil {
			m = mcp.Meta{}
		}
		_ = m.Set(mcp.MetaLogLevel, level) // a string
	}
	return m
}

// traceOf is what says to which trace the client's request belongs, nil if it belongs to none.
func traceOf(ctx context.Context) mcp.Meta {
	trace := server.TraceFrom(ctx)
	if trace == (server.Trace{}) {
		return nil
	}
	m := mcp.Meta{}
	for key, value := range map[string]string{mcp.MetaTraceparent: trace.Traceparent, mcp.MetaTracestate: trace.Tracestate, mcp.MetaBaggage: trace.Baggage} {
		if value != "" {
			_ = m.Set(key, value) // a string
		}
	}
	return m
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
	if call || unavailable || errors.Is(err, host.ErrDisabled) || errors.Is(err, host.ErrUnknown) || errors.Is(err, host.ErrTooManySessions) || errors.Is(err, ErrNoSession) {
		return &reply{rpc.Errorf(rpc.CodeInternalError, "%s", err), err}
	}
	return fmt.Errorf("gateway: %w", err)
}
