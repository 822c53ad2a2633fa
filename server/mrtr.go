package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/outgoing"
	"github.com/stdwire/stdwire/server/internal/sealed"
)

// An mrtr is the state of a request's multi round-trip (2026-07-28, basic/patterns/mrtr): the
// questions that the server asks the client while it handles the request. In the legacy era each
// question is a request to the client, and the handler waits for the response. In the modern era
// the request ends with the questions as its result, and the client repeats it with the answers.
// The request's mu guards the state.
type mrtr struct {
	request *request
	state   sealed.State      // the questions and answers of earlier rounds
	pending mcp.InputRequests // questions without an answer
	// answers to questions that the handler has not asked yet
	unsolicited map[string]json.RawMessage
	rerun       bool                 // the handler of a legacy client's request must run again
	onceCalls   map[string]*onceCall // calls of Once in progress, by key
	stopErr     error                // an *inputRequiredError if the handler cannot continue
}

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
	if !r.era.modern {
		return nil
	}
	state, err := r.text(paramRequestState)
	responses := r.param(paramInputResponses)
	if err != nil || state == nil && responses == nil {
		return err
	}
	x := &mrtr{request: r, unsolicited: map[string]json.RawMessage{}}
	if state != nil {
		if x.state, err = r.conn.server.sealer().OpenState(string(state), x.binding()); err != nil {
			return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: %v", err)
		}
	}
	if responses != nil && responses[0] != '{' {
		return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: inputResponses must be an object")
	}
	for token, answer := range jsonscan.Members(responses) {
		key, _ := jsonscan.Text(token)
		switch {
		case x.state.Answers[key] != nil:
			continue // answered in an earlier round
		case x.state.Questions[key] == nil:
			if state == nil && answer[0] == '{' {
				x.unsolicited[key] = answer
			}
			continue
		}
		if answer[0] != '{' {
			return rpc.Errorf(rpc.CodeInvalidParams,
				"Invalid params: the inputResponses to %.100q must be an object", key)
		}
		x.state.RecordAnswer(key, answer)
	}
	r.rounds = x
	return nil
}

// mrtr returns the request's round-trip state. It creates the state on first use. The caller holds
// mu.
func (r *request) mrtr() *mrtr {
	if r.rounds == nil {
		r.rounds = &mrtr{request: r}
	}
	return r.rounds
}

// binding returns a digest of the principal and of the request without the members that change from
// round to round. A requestState is valid only for this digest.
func (x *mrtr) binding() []byte {
	h := sha256.New()
	add := func(part []byte) {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	add([]byte(x.request.Method))
	add([]byte(x.request.conn.principal))
	rest := []byte{'{'}
	for _, m := range x.request.members {
		switch string(m.name) {
		case "_meta", "inputResponses", "requestState":
		default:
			rest = jsonscan.AppendMember(rest, jsonscan.AppendString(nil, m.name), m.value)
		}
	}
	add(canonicalJSON(append(rest, '}')))
	return h.Sum(nil)
}

// canonicalJSON returns JSON in a form that does not depend on white space, escapes and the order
// of members, because a client may encode its request differently when it repeats it.
func canonicalJSON(value []byte) []byte {
	text, err := jsondiff.Canonical(value)
	if err != nil { // nothing, a member that occurs twice, or very deep nesting
		return value
	}
	return text
}

// ask sends the client a question, a request of the server. key names the question within r. decode
// stores the client's result, and returns an error for one that does not answer the question; a
// modern client is then asked again. An answer is valid for all runs of r's handler, which may run
// more than once in either era: see [request.confirm]. The error is an *inputRequiredError, or the
// error of the call.
func (r *request) ask(ctx context.Context, key, method string, params any,
	decode func(answer []byte) error) error {
	question, err := mcp.NewInputRequest(method, params)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(append([]byte(question.Method+"\n"), question.Params...))
	r.mu.Lock()
	if r.task.IsTask() {
		r.mu.Unlock()
		return r.task.Ask(ctx, key, question, digest[:], decode)
	}
	answered, err := r.mrtr().answerOrAsk(key, question, digest[:], decode)
	r.mu.Unlock()
	if answered || err != nil {
		return err
	}
	var answer json.RawMessage
	if err := r.link.Call(ctx, method, outgoing.Params(r.traced(question).Params).OrNil(),
		&answer); err != nil {
		return err
	}
	if err := decode(answer); err != nil {
		return fmt.Errorf("server: the client's answer to %s: %w", method, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rounds.state.RecordAnswer(key, answer)
	return nil
}

// answerOrAsk decodes the answer to a question if there is one. Otherwise it returns the error that
// makes a modern client answer it, or false and nil if a legacy client must be called.
func (x *mrtr) answerOrAsk(key string, question mcp.InputRequest, digest []byte,
	decode func(answer []byte) error) (answered bool, err error) {
	if answer := x.state.Answer(key, digest); answer != nil && decode(answer) == nil {
		return true, nil
	}
	x.state.RecordQuestion(key, digest)
	// A client may answer a question before it is asked, but not a confirmation, which it must read
	// first.
	if answer := x.unsolicited[key]; answer != nil && key != keyConfirm && decode(answer) == nil {
		x.state.RecordAnswer(key, answer)
		return true, nil
	}
	delete(x.state.Answers, key) // an answer to another question
	if !x.request.era.modern {
		return false, nil
	}
	if x.pending == nil {
		x.pending = mcp.InputRequests{}
	}
	x.pending[key] = x.request.traced(question)
	return false, x.stop(nil)
}

// stop calls [mrtr.stop] with mu held.
func (r *request) stop(failure *rpc.Error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mrtr().stop(failure)
}

// stopErr returns the error of a handler that cannot continue, or nil if it can.
func (r *request) stopErr() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rounds == nil {
		return nil
	}
	return r.rounds.stopErr
}

// stop records that the handler cannot continue, and returns the reason as an error.
func (x *mrtr) stop(failure *rpc.Error) error {
	stopped := &inputRequiredError{failure}
	if !x.request.task.IsTask() { // other goroutines of a task may continue
		x.stopErr = stopped
	}
	return stopped
}

// hasHiddenQuestion reports whether a modern client must be asked although the handler has failed
// with an error that does not match [ErrAsked].
func (r *request) hasHiddenQuestion(result *Result, err error) bool {
	r.mu.Lock()
	pending := r.rounds != nil && len(r.rounds.pending) > 0 && !r.task.IsTask()
	r.mu.Unlock()
	return pending && (err != nil || result.IsError()) && r.Err() == nil
}

// inputRequired returns the response to a request whose handler has ended with stopErr.
func (r *request) inputRequired() (*Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rounds.rerun {
		return nil, nil // repeat runs the handler again
	}
	if s := r.rounds.stopErr.(*inputRequiredError); s.failure != nil && len(r.rounds.pending) == 0 {
		return nil, s.failure
	}
	return r.rounds.inputRequiredResult()
}

// inputRequiredResult returns the InputRequiredResult with the pending questions. Its requestState
// carries the answers so far.
func (x *mrtr) inputRequiredResult() (*Result, error) {
	s := x.request.conn.server
	state, err := s.sealer().State(x.state, x.binding())
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInternalError, "Internal error: %v", err)
	}
	result := []byte{'{'}
	if len(x.pending) > 0 {
		questions, err := mcp.Marshal(x.pending)
		if err != nil {
			return nil, err
		}
		result = append(append(append(result, `"inputRequests":`...), questions...), ',')
	}
	result = jsonscan.AppendString(append(result, `"requestState":`...), state)
	result = append(result, `,"resultType":"`+string(mcp.ResultInputRequired)+`","_meta":{"`+
		mcp.MetaServerInfo+`":`...)
	return NewResult(append(append(result, s.info...), "}}"...)), nil
}

// ErrAsked matches the error of a handler that ends because it has asked its client and has no
// answer yet: see [Elicit] and [RequireInput]. If the handler returns another error then, or a
// result with isError, the client is asked all the same, and the mistake is logged.
var ErrAsked = errors.New("server: the client is being asked")

// repeat runs a handler. It runs the handler again each time a legacy client has answered the
// questions of [RequireInput].
func (r *request) repeat(handle func(r *request) (*Result, error)) (*Result, error) {
	for range maxRounds {
		if result, err := handle(r); !r.takeRerun() {
			return result, err
		}
	}
	return nil, r.logError(errTooManyRounds)
}

// takeRerun reports whether the handler must run again because a legacy client has answered its
// questions. It clears that state.
func (r *request) takeRerun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rounds == nil || !r.rounds.rerun {
		return false
	}
	r.rounds.rerun, r.rounds.stopErr = false, nil
	return true
}

const maxRounds = 10 // runs of one handler that calls RequireInput, for a legacy client

var errTooManyRounds = errors.New(
	"server: a handler has asked its client too many times, and never answered")
