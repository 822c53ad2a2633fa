package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/mrtr"
	"github.com/stdwire/stdwire/server/internal/outgoing"
	"github.com/stdwire/stdwire/server/internal/sealed"
)

// ErrAsked matches the error of a handler that ends because it has asked its client and has no
// answer yet: see [Elicit] and [RequireInput]. If the handler returns another error then, or a
// result with isError, the client is asked all the same, and the mistake is logged. If it returns
// another result, that is sent, and a warning is logged.
var ErrAsked = errors.New("server: the client is being asked")

// An inputRequiredError ends a handler that cannot continue, because the client has not answered
// yet or cannot be asked.
type inputRequiredError struct{ failure *rpc.Error } // nil: the client has not answered yet

func (s *inputRequiredError) Error() string {
	if s.failure != nil {
		return "server: " + s.failure.Message
	}
	return "server: the client has not answered yet; return this error from the handler, which runs again with the answer"
}

// Is matches [ErrUnsupported] if the client cannot be asked, and otherwise [ErrAsked].
func (s *inputRequiredError) Is(target error) bool {
	if s.failure != nil {
		return target == ErrUnsupported
	}
	return target == ErrAsked
}

// Unwrap returns [dispatch.Cancelled] as well, so that the dispatcher does not log the error.
func (s *inputRequiredError) Unwrap() []error {
	if s.failure != nil {
		return []error{s.failure, dispatch.Cancelled}
	}
	return []error{dispatch.Cancelled}
}

var (
	paramInputResponses = []byte("inputResponses")
	paramRequestState   = []byte("requestState")
)

// readInputResponses reads the requestState and inputResponses of a modern client, if it has sent
// any. A client may answer a question before the handler asks it; answers to questions that are
// never asked are ignored.
func (r *request) readInputResponses() error {
	if !r.era.Modern {
		return nil
	}
	state, err := r.params.Text(paramRequestState)
	responses := r.params.Get(paramInputResponses)
	if err != nil || state == nil && responses == nil {
		return err
	}
	var opened *sealed.State
	if state != nil {
		if opened, err = r.conn.server.sealer().OpenState(string(state), r.binding()); err != nil {
			return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: %v", err)
		}
	}
	r.rounds, err = mrtr.Read(opened, responses)
	return err
}

// mrtr returns the request's round-trip state. It creates the state on first use. The caller holds
// mu.
func (r *request) mrtr() *mrtr.Rounds {
	if r.rounds == nil {
		r.rounds = new(mrtr.Rounds)
	}
	return r.rounds
}

// binding returns what a requestState of the request is valid for.
func (r *request) binding() []byte {
	return mrtr.Binding(r.Method, r.conn.principal, r.Params)
}

// decodeInto returns a function for [request.ask] that decodes each answer into result.
func decodeInto[T any](result *T) func([]byte) error {
	return func(answer []byte) error {
		*result = *new(T)
		return mcp.Unmarshal(answer, result)
	}
}

// keyConfirm is the key of the question whether a call is confirmed, in the modern era.
const keyConfirm = "confirm_operation"

// askableRequest returns the request that ctx belongs to. It fails if the client cannot be asked,
// or if the key is reserved.
func askableRequest(ctx context.Context, key string) (*request, error) {
	r := requestFrom(ctx)
	if r == nil {
		return nil, ErrNoRequest
	}
	method, _ := mcp.MethodAt(r.Method, r.era.Revision)
	switch {
	case !method.RequestsInput:
		return nil, ErrNoRequest
	case key == keyConfirm:
		return nil, fmt.Errorf(
			"server: the key %q is reserved for the confirmation of a call; use another key",
			key)
	}
	return r, nil
}

// missingCapability stops the handler. It returns the error for a client that does not declare a
// capability.
func (r *request) missingCapability(name string, capabilities mcp.ClientCapabilities) error {
	failure := &rpc.Error{Code: rpc.CodeInvalidParams,
		Message: "the client does not declare the capability " + name}
	if r.era.Modern {
		failure.Code = mcp.CodeMissingRequiredClientCapability
		failure.Data, _ = mcp.Marshal(
			mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: capabilities})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop(failure)
}

// ask sends the client a question, a request of the server. key names the question within r. decode
// stores the client's result, and returns an error for one that does not answer the question; a
// modern client is then asked again. An answer is valid for all runs of r's handler, which may run
// more than once in either era: see [operationTool.confirm]. The error is an *inputRequiredError,
// or the error of the call.
func (r *request) ask(ctx context.Context, key, method string, params any,
	decode func(answer []byte) error) error {
	question, err := mcp.NewInputRequest(method, params)
	if err != nil {
		return err
	}
	digest := mrtr.Digest(question)
	r.mu.Lock()
	if r.task.IsTask() {
		r.mu.Unlock()
		return r.task.Ask(ctx, key, question, digest, decode)
	}
	answered, err := r.answerOrAsk(key, question, digest, decode)
	r.mu.Unlock()
	if answered || err != nil {
		return err
	}
	answer, err := r.callClient(ctx, question)
	if err != nil {
		return err
	}
	if err := decode(answer); err != nil {
		return fmt.Errorf("server: the client's answer to %s: %w", method, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rounds.RecordAnswer(key, answer)
	return nil
}

// callClient sends a question to a legacy client, and waits for the answer.
func (r *request) callClient(ctx context.Context,
	question mcp.InputRequest) (answer json.RawMessage, err error) {
	question = mrtr.Traced(question, &r.params.Meta)
	err = r.link.Call(ctx, question.Method, outgoing.Params(question.Params).OrNil(), &answer)
	return answer, err
}

// answerOrAsk decodes the answer to a question if there is one. Otherwise it returns the error that
// makes a modern client answer it, or false and nil if a legacy client must be called. The caller
// holds mu.
func (r *request) answerOrAsk(key string, question mcp.InputRequest, digest []byte,
	decode func(answer []byte) error) (answered bool, err error) {
	x := r.mrtr()
	// A client may answer a question before it is asked, but not one that it must read first.
	mustRead := key == keyConfirm || strings.HasPrefix(key, "stdwire/")
	if x.Answered(key, digest, !mustRead, decode) {
		return true, nil
	}
	if !r.era.Modern {
		return false, nil
	}
	x.Ask(key, mrtr.Traced(question, &r.params.Meta))
	return false, r.stop(nil)
}

// stopErr returns the error of a handler that cannot continue, or nil if it can.
func (r *request) stopErr() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rounds == nil {
		return nil
	}
	return r.rounds.Stopped
}

// stop records that the handler cannot continue, and returns the reason as an error. The caller
// holds mu.
func (r *request) stop(failure *rpc.Error) error {
	stopped := &inputRequiredError{failure}
	if !r.task.IsTask() { // other goroutines of a task may continue
		r.mrtr().Stopped = stopped
	}
	return stopped
}

// asks reports whether questions to a modern client are pending, which an error of the handler does
// not prevent from being asked.
func (r *request) asks() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rounds != nil && len(r.rounds.Pending) > 0 && !r.task.IsTask() && r.Err() == nil
}

// inputRequired returns the response to a request whose handler has ended with stopErr: the pending
// questions, with a requestState that carries the answers so far.
func (r *request) inputRequired() (*Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rounds.Rerun {
		return nil, nil // repeat runs the handler again
	}
	if s := r.rounds.Stopped.(*inputRequiredError); s.failure != nil && len(r.rounds.Pending) == 0 {
		return nil, s.failure
	}
	s := r.conn.server
	state, err := s.sealer().State(r.rounds.State, r.binding())
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInternalError, "Internal error: %v", err)
	}
	result, err := r.rounds.Result(state, s.results.Info)
	return NewResult(result), err
}

// repeat runs a handler. It runs the handler again each time a legacy client has answered the
// questions of [RequireInput].
func (r *request) repeat(handle func(r *request) (*Result, error)) (*Result, error) {
	for range maxRounds {
		if result, err := handle(r); !r.takeRerun() {
			return result, err
		}
	}
	return nil, r.logError(errors.New(
		"server: a handler has asked its client too many times, and never answered"))
}

// takeRerun reports whether the handler must run again because a legacy client has answered its
// questions. It clears that state.
func (r *request) takeRerun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rounds == nil || !r.rounds.Rerun {
		return false
	}
	r.rounds.Rerun, r.rounds.Stopped = false, nil
	return true
}

const maxRounds = 10 // runs of one handler that calls RequireInput, for a legacy client

// errOnceFailed is the error for goroutines that wait for a call of fn that did not return.
var errOnceFailed = errors.New(
	"server: Once: the function panicked or ended its goroutine, in another goroutine")

// Once runs fn once for a request, even if the handler runs more than once: later calls return the
// result of the first. A handler runs again when its client has answered, see [Elicit]. If several
// goroutines call Once with the same key at the same time, one of them runs fn, and the others wait
// and return the same result or error.
//
// The result is encoded as JSON. A modern client carries it in requestState until the request is
// done, so it should be small. An error is not stored. key must not also be the key of a question,
// and fn must not call Once with the same key.
//
// Once does not protect against a client that repeats a request deliberately. A client may use a
// requestState again until it expires, 15 minutes after it was made, and fn runs again if the
// requestState is older than the call of Once. An action that must never be repeated, such as a
// payment, needs its own record.
func Once[T any](ctx context.Context, key string, fn func(context.Context) (T, error)) (value T,
	err error) {
	r, err := askableRequest(ctx, key)
	if err != nil {
		return value, err
	}
	r.mu.Lock()
	call, first := r.mrtr().Once(key)
	r.mu.Unlock()
	if first {
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.mrtr().Finish(key, call)
		}()
		call.Err = errOnceFailed // unless fn returns
		if value, err = fn(ctx); err == nil {
			if call.Result, err = mcp.Marshal(value); err != nil {
				err = fmt.Errorf("server: Once %q: %w", key, err)
			}
		}
		call.Err = err
		return value, err
	}
	select {
	case <-call.Done:
	case <-ctx.Done():
		return value, context.Cause(ctx)
	}
	if call.Err != nil {
		return value, call.Err
	}
	return value, mcp.Unmarshal(call.Result, &value)
}
