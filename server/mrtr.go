package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An exchange is what the server asks the client while it answers one request. In the legacy era a question is a request of its own, and the
// answer is waited for. In the modern era the request ends, with the questions as its result, and the client sends it again with the answers.
// It is used with the request's mu.
type mrtr struct {
	request     *request
	state       requestState               // what was asked in the rounds before, and the answers to it
	pending     mcp.InputRequests          // questions without an answer
	unsolicited map[string]json.RawMessage // answers to what was not asked yet
	rerun       bool                       // the handler of a legacy client\'s request is to run again
	onceCalls   map[string]*onceCall       // in flight, by key
	stopErr     error                      // why the handler cannot go on, a *suspension
}

// A suspension ends a handler that cannot go on: the answer of the client is still to come, or cannot be had.
type inputRequiredError struct{ failure *rpc.Error } // nil: still to come

func (s *inputRequiredError) Error() string {
	if s.failure != nil {
		return "server: " + s.failure.Message
	}
	return "server: the client has not answered yet; return this error from the handler, which runs again with the answer"
}

// Is has it match [ErrAsked] if the answer is still to come.
func (s *inputRequiredError) Is(target error) bool { return target == ErrAsked && s.failure == nil }

// Unwrap has the dispatcher take it for something that need not be logged.
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

// readInputResponses reads what a modern client has sent along, if it has. A client that knows the questions may answer before it is asked; what it answers to
// those that are never asked is ignored.
func (r *request) readInputResponses() error {
	if !r.era.modern {
		return nil
	}
	sealed, err := r.text(paramRequestState)
	responses := r.param(paramInputResponses)
	if err != nil || sealed == nil && responses == nil {
		return err
	}
	x := &mrtr{request: r, unsolicited: map[string]json.RawMessage{}}
	if sealed != nil {
		if x.state, err = r.conn.server.sealer.open(string(sealed), x.binding()); err != nil {
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
			continue // it was answered before
		case x.state.Questions[key] == nil:
			if sealed == nil && answer[0] == '{' {
				x.unsolicited[key] = answer
			}
			continue
		}
		if answer[0] != '{' {
			return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: the inputResponses to %.100q must be an object", key)
		}
		x.recordAnswer(key, answer)
	}
	r.rounds = x
	return nil
}

// mrtr returns the request's, and makes it if there is none yet. With mu.
func (r *request) mrtr() *mrtr {
	if r.rounds == nil {
		r.rounds = &mrtr{request: r}
	}
	return r.rounds
}

func (x *mrtr) recordAnswer(key string, answer []byte) {
	if x.state.Answers == nil {
		x.state.Answers = map[string]json.RawMessage{}
	}
	x.state.Answers[key] = bytes.Clone(answer)
}

// binding is what a request state is good for: this request, but for what belongs to the round, made by whom it was made.
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
			rest = jsonscan.AppendString(append(rest, ","[:min(len(rest)-1, 1)]...), string(m.name))
			rest = append(append(rest, ':'), m.value...)
		}
	}
	add(canonicalJSON(append(rest, '}')))
	return h.Sum(nil)
}

// canonicalJSON is JSON in a form that does not depend on how it was written: a client may encode its request anew.
func canonicalJSON(value []byte) []byte {
	if value == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var decoded any
	if d.Decode(&decoded) != nil {
		return value
	}
	text, _ := json.Marshal(decoded) // what was decoded encodes
	return text
}

// ask returns the client's result for a request to it. key is the question's name within this request. valid says whether a result is an answer at all: where it
// is not, a modern client is asked again. What was answered once holds for the request, whose handler may run twice in either era: see [request.confirm]. The
// error is a *suspension, or that of a call.
func (r *request) ask(ctx context.Context, key, method string, params any, valid func(answer []byte) error) (json.RawMessage, error) {
	question, err := mcp.NewInputRequest(method, params)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(append([]byte(question.Method+"\n"), question.Params...))
	r.mu.Lock()
	if r.task.created() {
		r.mu.Unlock()
		return r.task.ask(ctx, key, question, digest[:], valid)
	}
	answer, err := r.mrtr().answerOrAsk(key, question, digest[:], valid)
	r.mu.Unlock()
	if answer != nil || err != nil {
		return answer, err
	}
	if err := r.link.Call(ctx, method, rawJSON(r.traced(question).Params).orNil(), &answer); err != nil {
		return nil, err
	}
	if err := valid(answer); err != nil {
		return nil, fmt.Errorf("server: the client's answer to %s: %w", method, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rounds.recordAnswer(key, answer)
	return answer, nil
}

// answerOrAsk returns the answer to a question if there is one, or the error with which a modern client is asked; neither if a legacy client is to be called.
func (x *mrtr) answerOrAsk(key string, question mcp.InputRequest, digest []byte, valid func(answer []byte) error) (json.RawMessage, error) {
	if answer := x.storedAnswer(key, digest); answer != nil && valid(answer) == nil {
		return answer, nil
	}
	x.recordQuestion(key, digest)
	// An answer is the client's, asked or not. Only what is confirmed must have been read before.
	if answer := x.unsolicited[key]; answer != nil && key != keyConfirm && valid(answer) == nil {
		x.recordAnswer(key, answer)
		return answer, nil
	}
	delete(x.state.Answers, key) // it was to another question
	if !x.request.era.modern {
		return nil, nil
	}
	if x.pending == nil {
		x.pending = mcp.InputRequests{}
	}
	x.pending[key] = x.request.traced(question)
	return nil, x.stop(nil)
}

// storedAnswer returns the answer to a question of the rounds before; nil if there is none.
func (x *mrtr) storedAnswer(key string, digest []byte) json.RawMessage {
	if !bytes.Equal(x.state.Questions[key], digest) {
		return nil
	}
	return x.state.Answers[key]
}

// recordQuestion notes what a key stands for.
func (x *mrtr) recordQuestion(key string, digest []byte) {
	if x.state.Questions == nil {
		x.state.Questions = map[string][]byte{}
	}
	x.state.Questions[key] = digest
}

// stop is [exchange.stop] for who has not mu.
func (r *request) stop(failure *rpc.Error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mrtr().stop(failure)
}

// stopErr returns why the handler cannot go on; nil if it can.
func (r *request) stopErr() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rounds == nil {
		return nil
	}
	return r.rounds.stopErr
}

// stop notes that the handler cannot go on, and returns why.
func (x *mrtr) stop(failure *rpc.Error) error {
	stopped := &inputRequiredError{failure}
	if !x.request.task.created() { // several goroutines of a task may be asking
		x.stopErr = stopped
	}
	return stopped
}

// inputRequired is the answer to a request whose handler could not go on.
func (r *request) inputRequired() (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rounds.rerun {
		return nil, nil // see [request.handle]
	}
	if s := r.rounds.stopErr.(*inputRequiredError); s.failure != nil && len(r.rounds.pending) == 0 {
		return nil, s.failure
	}
	return r.rounds.inputRequiredResult()
}

// inputRequiredResult is the result that asks the client what is open. The answers there are go with it, so that they come back.
func (x *mrtr) inputRequiredResult() (any, error) {
	s := x.request.conn.server
	sealed, err := s.sealer.seal(x.state, x.binding())
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
	result = jsonscan.AppendString(append(result, `"requestState":`...), sealed)
	result = append(result, `,"resultType":"`+string(mcp.ResultInputRequired)+`","_meta":{"`+mcp.MetaServerInfo+`":`...)
	return rawJSON(append(append(result, s.info...), "}}"...)), nil
}

// ErrAsked matches the error with which a handler ends because its client is asked something, and has not answered yet: see [Elicit] and [RequireInput].
var ErrAsked = errors.New("server: the client is being asked")

// takeRerun reports whether the handler is to run again, as a legacy client has answered what it has asked by hand.
func (r *request) takeRerun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rounds == nil || !r.rounds.rerun {
		return false
	}
	r.rounds.rerun, r.rounds.stopErr = false, nil
	return true
}

const maxRounds = 10 // of questions that are asked by hand, of a legacy client

var errTooManyRounds = errors.New("server: a handler has asked its client too many times, and never answered")
