package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// errCannotAsk is the answer to a legacy server's question when its client cannot be asked.
var errCannotAsk = rpc.Errorf(rpc.CodeMethodNotFound,
	"Method not found: the client of this call cannot be asked")

// errCallEnded is the answer to a question that came after its call had ended.
var errCallEnded = rpc.Errorf(rpc.CodeInvalidRequest, "the call that this question belongs to has ended")

// ask sends a question to the client and blocks until it answers or the call ends.
func (f *inflightCall) ask(ctx context.Context, method string, params any) (json.RawMessage,
	error) {
	encoded, err := mcp.Marshal(params)
	if err != nil {
		return nil, err
	}
	encoded = appuri.InMessage(f.target.id, encoded)
	answer := make(chan json.RawMessage, 1)
	f.mu.Lock()
	f.keys++
	key := "question" + strconv.Itoa(f.keys)
	f.answers[key] = answer
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.answers, key)
		f.mu.Unlock()
	}()
	select {
	case f.questions <- mcp.InputRequests{key: {Method: method, Params: encoded}}:
	case <-f.done:
		return nil, errCallEnded
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case raw, ok := <-answer:
		if !ok {
			return nil, errCannotAsk
		}
		return raw, nil
	case <-f.done:
		return nil, errCallEnded
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// setQuestionHandlers sets the handlers that relay elicitation and sampling requests of a legacy
// server.
func (g *Gateway) setQuestionHandlers(o *client.Options, id, session string) {
	from := (&target{id: id, session: session}).clientKey()
	if o.OnElicit == nil {
		o.ElicitModes = []string{mcp.ElicitForm, mcp.ElicitURL}
		o.OnElicit = func(ctx context.Context, params mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return relayQuestion[mcp.ElicitResult](ctx, g, id, from, mcp.MethodElicit, params)
		}
	}
	if o.OnSample == nil {
		o.SampleTools = true
		o.OnSample = func(ctx context.Context,
			params mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return relayQuestion[mcp.CreateMessageResult](ctx, g, id, from, mcp.MethodCreateMessage,
				params)
		}
	}
}

// relayQuestion sends a legacy server's question to the client whose call it belongs to.
func relayQuestion[R any](ctx context.Context, g *Gateway, id, from, method string, params any) (*R,
	error) {
	f, ok := g.requests.awaitInflight(ctx, from)
	if !ok {
		g.o.Logger.Warn(
			"gateway: a question is refused: the server does not say which call it belongs to",
			slog.String("server", id), slog.String("method", method))
	}
	if f == nil {
		return nil, errCannotAsk
	}
	raw, err := f.ask(ctx, method, params)
	if err != nil {
		return nil, err
	}
	result := new(R)
	return result, mcp.Unmarshal(raw, result)
}

// An inputRequired is the error that ends a request with a question for the client.
type inputRequired struct{ error }

func (q *inputRequired) Unwrap() error { return q.error }

// requireInput asks the client of the request in ctx. The error is an *inputRequired, or another
// error if the client cannot be asked.
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

// canAsk reports whether the client of the request in ctx can be asked a question. It is true for
// the caller of an operation, who cannot answer, because the caller's error lists the questions.
func canAsk(ctx context.Context) bool {
	can := server.CapabilitiesFrom(ctx)
	return can.Elicitation != nil || can.Sampling != nil || can.Roots != nil ||
		dispatch.CallFrom(ctx) != nil
}

// An inputUnavailableError is the error of an operation's call whose server asks a question.
type inputUnavailableError struct {
	questions mcp.InputRequests
	result    json.RawMessage // the server's result after the refusal; nil if there is none
}

func (u *inputUnavailableError) Error() string {
	return "the server asks a question (" + strings.Join(u.methods(), ", ") +
		"), and nobody can answer it here: call the tool at a terminal or from an MCP client"
}

func (u *inputUnavailableError) Unwrap() error { return errCannotAsk }

func (u *inputUnavailableError) methods() []string {
	methods := map[string]bool{}
	for _, question := range u.questions {
		methods[question.Method] = true
	}
	return slices.Sorted(maps.Keys(methods))
}
