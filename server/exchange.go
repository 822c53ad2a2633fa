package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An exchange is what the server asks the client while it answers one request. In the legacy era a question is a request of its own, and the
// answer is waited for. In the modern era the request ends, with the questions as its result, and the client sends it again with the answers.
type exchange struct {
	r     *request
	state requestState      // what was asked in the rounds before, and the answers to it
	open  mcp.InputRequests // questions without an answer
}

// errInputRequired says that there is a question to which the client has not sent the answer yet: see [exchange.result].
var errInputRequired = errors.New("server: input required")

var (
	paramInputResponses = []byte("inputResponses")
	paramRequestState   = []byte("requestState")
)

// newExchange reads what a modern client has sent along. What it answers to questions that were not asked is ignored.
func newExchange(r *request) (*exchange, error) {
	x := &exchange{r: r}
	sealed, err := r.text(paramRequestState)
	if err != nil || sealed == nil || !r.era.modern {
		return x, err
	}
	if x.state, err = r.conn.server.sealer.open(string(sealed), x.binding()); err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: %v", err)
	}
	responses := r.param(paramInputResponses)
	if responses != nil && responses[0] != '{' {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: inputResponses must be an object")
	}
	for token, answer := range jsonscan.Members(responses) {
		key, _ := jsonscan.Text(token)
		if x.state.Asked[key] == nil || x.state.Answers[key] != nil {
			continue // nobody asked, or there is an answer already
		}
		if answer[0] != '{' {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: the inputResponses to %.100q must be an object", key)
		}
		if x.state.Answers == nil {
			x.state.Answers = map[string]json.RawMessage{}
		}
		x.state.Answers[key] = bytes.Clone(answer)
	}
	return x, nil
}

// binding is what a request state is good for: this request, made by whom it was made.
func (x *exchange) binding() []byte {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(x.r.Method), canonical(x.r.param(paramName)), canonical(x.r.param(paramArguments))} {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	return h.Sum(nil)
}

// canonical is JSON in a form that does not depend on how it was written: a client may encode its request anew.
func canonical(value []byte) []byte {
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

// ask returns the client's result for a request to it. key is the question's name within this request. The error is errInputRequired, or that of a call.
// That the client can answer at all is for the caller to know.
func (x *exchange) ask(ctx context.Context, key, method string, params any) (json.RawMessage, error) {
	if !x.r.era.modern {
		var answer json.RawMessage
		err := x.r.Peer().Call(ctx, method, params, &answer)
		return answer, err
	}
	question, err := mcp.NewInputRequest(method, params)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(append([]byte(question.Method+"\n"), question.Params...))
	if answer := x.state.Answers[key]; answer != nil && bytes.Equal(x.state.Asked[key], digest[:]) {
		return answer, nil
	}
	if x.open == nil {
		x.open = mcp.InputRequests{}
	}
	if x.state.Asked == nil {
		x.state.Asked = map[string][]byte{}
	}
	x.open[key] = question
	x.state.Asked[key] = digest[:]
	delete(x.state.Answers, key) // it was to another question
	return nil, errInputRequired
}

// result is the result that asks the client what is open. The answers there are go with it, so that they come back.
func (x *exchange) result() (any, error) {
	s := x.r.conn.server
	sealed, err := s.sealer.seal(x.state, x.binding())
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInternalError, "Internal error: %v", err)
	}
	questions, err := mcp.Marshal(x.open)
	if err != nil {
		return nil, err
	}
	result := append([]byte(`{"inputRequests":`), questions...)
	result = jsonscan.AppendString(append(result, `,"requestState":`...), sealed)
	result = append(result, `,"resultType":"`+string(mcp.ResultInputRequired)+`","_meta":{"`+mcp.MetaServerInfo+`":`...)
	return encoded(append(append(result, s.info...), "}}"...)), nil
}
