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

// A target is a tool, prompt or resource of one server, used on behalf of one client.
type target struct {
	id, name         string // the server's own name for it
	idempotent       bool
	perSession       bool             // the server is not shared
	session          string           // of a server with PerSession; "" if the client has none
	conn             *server.Conn     // the client's connection; nil for an operation
	owner            string           // the client that may resume the call
	answersQuestions bool             // OnElicit of the server's options answers questions
	level            mcp.LoggingLevel // lowest level that the server always logs at

	maxArguments, maxResult int // bytes
}

// clientKey identifies the client.Client that is used: the shared one or that of a session.
func (u *target) clientKey() string { return u.id + "\n" + u.session }

// isStateless reports whether several clients may share the client's connection.
func (u *target) isStateless() bool { return u.conn == nil || u.conn.Context().Done() == nil }

// ownerOf returns the session of the request in ctx, or the principal of an operation's call.
func ownerOf(ctx context.Context) string {
	if conn := server.ConnFrom(ctx); conn != nil {
		return conn.Session()
	}
	return "operations of " + principal(ctx)
}

// principal returns the principal of the request or operation call in ctx.
func principal(ctx context.Context) string {
	if call := dispatch.CallFrom(ctx); call != nil {
		return call.Principal
	}
	return dispatch.PrincipalFrom(ctx)
}

// askable reports whether the client of the request in ctx can be asked a question. The caller of
// an operation cannot answer, but its error lists the questions.
func askable(ctx context.Context) bool {
	can := server.CapabilitiesFrom(ctx)
	return can.Elicitation != nil || can.Sampling != nil || can.Roots != nil ||
		dispatch.CallFrom(ctx) != nil
}

// The state that a client carries for the gateway begins with what it is, and the server that has
// asked.
const (
	stateOfServer   = "s" // state of a modern server
	stateOfInflight = "f" // token of an in-flight call
)

func (u *target) state(what, rest string) string { return what + u.id + "\n" + rest }

// stateFrom returns the parts of the requestState that the client sent, or zero values if it sent
// none.
func stateFrom(ctx context.Context) (what, id, rest string) {
	if _, state := server.Inputs(ctx); state != "" {
		id, rest, _ = strings.Cut(state[1:], "\n")
		return state[:1], id, rest
	}
	return "", "", ""
}

// An upstreamFunc makes one request to a server.
type upstreamFunc[R any] func(ctx context.Context, c *client.Client, opts ...client.CallOption) (R,
	error)

// callTool calls a tool for the client of the request in ctx.
func (g *Gateway) callTool(ctx context.Context, u target,
	arguments json.RawMessage) (json.RawMessage, error) {
	c := &call{kind: kindTool, u: u, Event: Event{Arguments: arguments}}
	err := g.runCall(ctx, c, func() (json.RawMessage, error) {
		return forward(ctx, g, c,
			func(ctx context.Context, to *client.Client,
				opts ...client.CallOption) (json.RawMessage, error) {
				return to.CallToolRaw(ctx, u.name, c.Arguments, opts...)
			})
	})
	if err != nil {
		return nil, err
	}
	return c.Result, nil
}

// forwardTyped makes a request other than tools/call for the client of the request in ctx.
func forwardTyped[R any](ctx context.Context, g *Gateway, c *call, do upstreamFunc[R]) (result R,
	err error) {
	err = g.runCall(ctx, c, func() (json.RawMessage, error) {
		if result, err = forward(ctx, g, c, do); err != nil {
			return nil, err
		}
		return mcp.Marshal(result)
	})
	return result, err
}

var errNotResumable = rpc.Errorf(rpc.CodeInvalidParams,
	"The call that asked has ended meanwhile: make it again")

// forward makes a request to a server, or resumes one that asked a question, and relays what the
// server asks. A legacy server is called through an inflightCall.
func forward[R any](ctx context.Context, g *Gateway, c *call, do upstreamFunc[R]) (result R,
	err error) {
	what, id, token := stateFrom(ctx)
	if what != "" && id != c.u.id {
		// the name has become another server's, who must not have the answer
		return result, errNotResumable
	}
	var f *inflightCall
	if what == stateOfInflight {
		if f = g.inflight.resume(token, c.u.owner); f == nil {
			return result, errNotResumable
		}
	} else {
		flies, askable := false, askable(ctx)
		err = g.converse(ctx, &c.u, !askable,
			func(to *client.Client, opts []client.CallOption) (err error) {
				if flies = askable && to.Era() == mcp.Legacy; flies {
					return nil
				}
				result, err = do(ctx, to, opts...)
				return err
			})
		if !flies {
			return result, err
		}
		f = g.startInflight(ctx, c,
			func(ctx context.Context, to *client.Client, opts ...client.CallOption) (any, error) {
				return do(ctx, to, opts...)
			})
	}
	landed, err := f.wait(ctx)
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

// converse makes a call, with the answers that the client has given. What a modern server asks is
// the client's to answer, and the error; but for the roots of one that has none. With walks, what a
// legacy server asks meanwhile nobody can answer.
func (g *Gateway) converse(ctx context.Context, u *target, walks bool,
	do func(c *client.Client, opts []client.CallOption) error) error {
	var answers mcp.InputAnswers
	if what, _, own := stateFrom(ctx); what == stateOfServer {
		var a asked
		if err := json.Unmarshal([]byte(own), &a); err != nil {
			return err // it was sealed, so it is the gateway's own
		}
		given, _ := server.Inputs(ctx)
		answers = mcp.InputAnswers{InputResponses: maps.Clone(given), RequestState: a.State}
		addEmptyRoots(&answers, a.Roots)
	}
	for range maxRounds {
		err := g.use(ctx, u, walks, func(c *client.Client) error {
			opts := append(metaOption(meta(ctx, u, c)),
				client.OnProgress(func(p mcp.ProgressParams) { report(ctx, p) }))
			if !u.answersQuestions {
				opts = append(opts, client.ReturnInputRequests(), client.Answers(answers))
			}
			return do(c, opts)
		})
		required, ok := errors.AsType[*client.InputRequiredError](err)
		if !ok {
			return clientError(err)
		}
		questions, roots := withoutRoots(ctx, required.Result.InputRequests)
		if len(questions) > 0 || len(roots) == 0 {
			state, err := json.Marshal(asked{required.Result.RequestState, roots})
			if err != nil {
				return err
			}
			return requireInput(ctx, questions, u.state(stateOfServer, string(state)))
		}
		answers = mcp.InputAnswers{RequestState: required.Result.RequestState}
		addEmptyRoots(&answers, roots)
	}
	return rpc.Errorf(rpc.CodeInternalError,
		"server %q asks for the client's roots again and again, although there are none", u.id)
}

// inputRequired is the error that ends a request with a question for the client.
type inputRequired struct{ error }

func (q *inputRequired) Unwrap() error { return q.error }

// requireInput asks the client. The error is an *inputRequired, or the reason why the client cannot
// be asked.
func requireInput(ctx context.Context, questions mcp.InputRequests, state string) error {
	err := server.RequireInput(ctx, questions, state)
	if err == server.ErrNoRequest {
		return &inputUnavailableError{questions: questions}
	}
	if !errors.Is(err, server.ErrAsked) {
		return err
	}
	return &inputRequired{err}
}

// metaOption returns the call option that sends m as _meta, or nil if m is empty.
func metaOption(m mcp.Meta) []client.CallOption {
	if len(m) == 0 {
		return nil
	}
	return []client.CallOption{client.Meta(m)}
}

// meta returns the _meta to forward: the trace context and, to a modern server, the log level that
// the client wants.
func meta(ctx context.Context, u *target, c *client.Client) mcp.Meta {
	m := traceOf(ctx)
	if level := moreVerbose(server.LogLevelFrom(ctx), u.level); level != "" &&
		c.Era() == mcp.Modern {
		if m == nil {
			m = mcp.Meta{}
		}
		_ = m.Set(mcp.MetaLogLevel, level) // a string
	}
	return m
}

// traceOf returns the trace context of the client's request as _meta, or nil if it has none.
func traceOf(ctx context.Context) mcp.Meta {
	trace := server.TraceFrom(ctx)
	if trace == (server.Trace{}) {
		return nil
	}
	m := mcp.Meta{}
	for key, value := range map[string]string{mcp.MetaTraceparent: trace.Traceparent,
		mcp.MetaTracestate: trace.Tracestate, mcp.MetaBaggage: trace.Baggage} {
		if value != "" {
			_ = m.Set(key, value) // a string
		}
	}
	return m
}

// report sends progress to the client or to the caller of an operation in ctx.
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

// A clientReply is an error that the client may see, together with its cause.
type clientReply struct {
	public *rpc.Error
	cause  error
}

func (r *clientReply) Error() string   { return r.public.Error() }
func (r *clientReply) Unwrap() []error { return []error{r.public, r.cause} }

// clientError turns an error into one that the client may see: the server's own error or the state
// of the server.
func clientError(err error) error {
	if err == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*rpc.Error](err); ok {
		return &clientReply{refusal, err}
	}
	_, call := errors.AsType[*client.CallError](err)
	_, unavailable := errors.AsType[*host.UnavailableError](err)
	if call || unavailable || errors.Is(err, host.ErrDisabled) || errors.Is(err, host.ErrUnknown) ||
		errors.Is(err, host.ErrTooManySessions) || errors.Is(err, ErrNoSession) {
		return &clientReply{rpc.Errorf(rpc.CodeInternalError, "%s", err), err}
	}
	return fmt.Errorf("gateway: %w", err)
}
