package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// The state that a client carries for the gateway begins with what it is, and the server that has
// asked.
const (
	stateOfServer   = "s" // state of a modern server
	stateOfInflight = "f" // token of an in-flight call
)

func (t *target) state(stateKind, rest string) string { return stateKind + t.id + "\n" + rest }

// stateFrom returns the parts of the requestState that the client sent, or zero values if it sent
// none.
func stateFrom(ctx context.Context) (stateKind, id, rest string) {
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
func (g *Gateway) callTool(ctx context.Context, t target,
	arguments json.RawMessage) (json.RawMessage, error) {
	c := &call{kind: kindTool, target: t, Event: Event{Arguments: arguments}}
	err := g.runCall(ctx, c, func() (json.RawMessage, error) {
		return forward(ctx, g, c,
			func(ctx context.Context, to *client.Client,
				opts ...client.CallOption) (json.RawMessage, error) {
				return to.CallToolRaw(ctx, t.name, c.Arguments, opts...)
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
	stateKind, id, token := stateFrom(ctx)
	if stateKind != "" && id != c.target.id {
		// the name has become another server's, who must not have the answer
		return result, errNotResumable
	}
	var f *inflightCall
	if stateKind == stateOfInflight {
		if f = g.inflight.resume(token, c.target.owner); f == nil {
			return result, errNotResumable
		}
	} else {
		inflight, askable := false, askable(ctx)
		err = g.converse(ctx, &c.target, !askable,
			func(to *client.Client, opts []client.CallOption) (err error) {
				if inflight = askable && to.Era() == mcp.Legacy; inflight {
					return nil
				}
				result, err = do(ctx, to, opts...)
				return err
			})
		if !inflight {
			return result, err
		}
		f = g.startInflight(ctx, c,
			func(ctx context.Context, to *client.Client, opts ...client.CallOption) (any, error) {
				return do(ctx, to, opts...)
			})
	}
	value, err := f.wait(ctx)
	if err != nil {
		return result, err
	}
	return value.(R), nil // the state that a client carries is good for the same request only
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
func (g *Gateway) converse(ctx context.Context, t *target, isCall bool,
	do func(c *client.Client, opts []client.CallOption) error) error {
	var answers mcp.InputAnswers
	if stateKind, _, own := stateFrom(ctx); stateKind == stateOfServer {
		var a asked
		if err := json.Unmarshal([]byte(own), &a); err != nil {
			return err // it was sealed, so it is the gateway's own
		}
		given, _ := server.Inputs(ctx)
		answers = mcp.InputAnswers{InputResponses: maps.Clone(given), RequestState: a.State}
		addEmptyRoots(&answers, a.Roots)
	}
	for range maxRounds {
		err := g.use(ctx, t, isCall, func(c *client.Client) error {
			opts := append(metaOption(meta(ctx, t, c)),
				client.OnProgress(func(p mcp.ProgressParams) { report(ctx, p) }))
			if !t.answersQuestions {
				opts = append(opts, client.ByHand(), client.Answers(answers))
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
			return requireInput(ctx, questions, t.state(stateOfServer, string(state)))
		}
		answers = mcp.InputAnswers{RequestState: required.Result.RequestState}
		addEmptyRoots(&answers, roots)
	}
	return rpc.Errorf(rpc.CodeInternalError,
		"server %q asks for the client's roots again and again, although there are none", t.id)
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
