package inflight

import (
	"context"
	"encoding/json"
	"errors"
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

// ErrCannotAsk is the answer to a legacy server's question when its client cannot be asked.
var ErrCannotAsk = rpc.Errorf(rpc.CodeMethodNotFound,
	"Method not found: the client of this call cannot be asked")

// ErrCallEnded is the answer to a question that came after its call had ended.
var ErrCallEnded = rpc.Errorf(rpc.CodeInvalidRequest, "the call that this question belongs to has ended")

// Ask sends a question to the client and blocks until it answers or the call ends.
func (f *Call) Ask(ctx context.Context, method string, params any) (json.RawMessage,
	error) {
	encoded, err := mcp.Marshal(params)
	if err != nil {
		return nil, err
	}
	encoded = appuri.InMessage(f.Server, encoded)
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
		return nil, ErrCallEnded
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case raw, ok := <-answer:
		if !ok {
			return nil, ErrCannotAsk
		}
		return raw, nil
	case <-f.done:
		return nil, ErrCallEnded
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// SetHandlers sets the handlers that relay elicitation and sampling requests of a legacy server
// with this key. refused is called for a question that is refused because it is ambiguous.
func (rs *Requests) SetHandlers(o *client.Options, key string, refused func(method string)) {
	if o.OnElicit == nil {
		o.ElicitModes = []string{mcp.ElicitForm, mcp.ElicitURL}
		o.OnElicit = func(ctx context.Context, params mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return relay[mcp.ElicitResult](ctx, rs, key, refused, mcp.MethodElicit, params)
		}
	}
	if o.OnSample == nil {
		o.SampleTools = true
		o.OnSample = func(ctx context.Context,
			params mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return relay[mcp.CreateMessageResult](ctx, rs, key, refused,
				mcp.MethodCreateMessage, params)
		}
	}
}

// relay sends a legacy server's question to the client whose call it belongs to.
func relay[R any](ctx context.Context, rs *Requests, key string, refused func(method string),
	method string, params any) (*R, error) {
	f, ok := rs.AwaitCall(ctx, key)
	if !ok {
		refused(method)
	}
	if f == nil {
		return nil, ErrCannotAsk
	}
	raw, err := f.Ask(ctx, method, params)
	if err != nil {
		return nil, err
	}
	result := new(R)
	return result, mcp.Unmarshal(raw, result)
}

// A QuestionError is the error that ends a request with a question for the client.
type QuestionError struct{ error }

func (q *QuestionError) Unwrap() error { return q.error }

// RequireInput asks the client of the request in ctx. The error is an *QuestionError, or another
// error if the client cannot be asked.
func RequireInput(ctx context.Context, questions mcp.InputRequests, state string) error {
	err := server.RequireInput(ctx, questions, state)
	if err == server.ErrNoRequest {
		return &UnavailableError{questions: questions}
	}
	if !errors.Is(err, server.ErrAsked) {
		return err
	}
	return Asked(err)
}

// Asked returns the QuestionError of an error that matches [server.ErrAsked].
func Asked(err error) error { return &QuestionError{err} }

// CanAsk reports whether the client of the request in ctx can be asked a question. It is true for
// the caller of an operation, who cannot answer, because the caller's error lists the questions.
func CanAsk(ctx context.Context) bool {
	can := server.CapabilitiesFrom(ctx)
	return can.Elicitation != nil || can.Sampling != nil || can.Roots != nil ||
		dispatch.CallFrom(ctx) != nil
}

// An UnavailableError is the error of an operation's call whose server asks a question.
type UnavailableError struct {
	Result json.RawMessage // the server's result after the refusal; nil if there is none

	questions mcp.InputRequests
}

func (u *UnavailableError) Error() string {
	return "the server asks a question (" + strings.Join(u.Methods(), ", ") +
		"), and nobody can answer it here: call the tool at a terminal or from an MCP client"
}

func (u *UnavailableError) Unwrap() error { return ErrCannotAsk }

// Methods returns the methods of the questions.
func (u *UnavailableError) Methods() []string {
	methods := map[string]bool{}
	for _, question := range u.questions {
		methods[question.Method] = true
	}
	return slices.Sorted(maps.Keys(methods))
}
