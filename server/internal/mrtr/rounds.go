// Package mrtr keeps the state of a request's multi round-trip (2026-07-28, basic/patterns/mrtr):
// the questions that a server asks its client while it handles the request. In the legacy era each
// question is a request to the client, and the handler waits for the response. In the modern era
// the request ends with the questions as its result, and the client repeats it with the answers.
package mrtr

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/sealed"
)

// Rounds is the state of a request. It is not safe for concurrent use.
type Rounds struct {
	sealed.State                   // the questions and answers of earlier rounds
	Pending      mcp.InputRequests // questions without an answer
	Rerun        bool              // the handler of a legacy client's request must run again
	Stopped      error             // why the handler cannot continue, or nil
	// answers to questions that the handler has not asked yet
	unsolicited map[string]json.RawMessage
	calls       map[string]*Call // calls of Once in progress, by key
}

// Read returns the state of a repeated request with these inputResponses. A client may answer a
// question before the handler asks it, if it sends no state; answers to questions that are never
// asked are ignored.
func Read(state *sealed.State, responses json.RawMessage) (*Rounds, error) {
	x := &Rounds{unsolicited: map[string]json.RawMessage{}}
	if state != nil {
		x.State = *state
	}
	if responses != nil && responses[0] != '{' {
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: inputResponses must be an object")
	}
	for token, answer := range jsonscan.Members(responses) {
		key, _ := jsonscan.Text(token)
		switch {
		case x.Answers[key] != nil:
			continue // answered in an earlier round
		case x.Questions[key] == nil:
			if state == nil && answer[0] == '{' {
				x.unsolicited[key] = answer
			}
			continue
		}
		if answer[0] != '{' {
			return nil, rpc.Errorf(rpc.CodeInvalidParams,
				"Invalid params: the inputResponses to %.100q must be an object", key)
		}
		x.RecordAnswer(key, answer)
	}
	return x, nil
}

// Digest returns the digest of a question.
func Digest(question mcp.InputRequest) []byte {
	digest := sha256.Sum256(append([]byte(question.Method+"\n"), question.Params...))
	return digest[:]
}

// Answered reports whether decode accepts an answer to a question. Otherwise it records that the
// question is asked. unasked says whether an answer counts that the client has sent before it was
// asked.
func (x *Rounds) Answered(key string, digest []byte, unasked bool,
	decode func(answer []byte) error) bool {
	if answer := x.Answer(key, digest); answer != nil && decode(answer) == nil {
		return true
	}
	x.RecordQuestion(key, digest)
	if answer := x.unsolicited[key]; answer != nil && unasked && decode(answer) == nil {
		x.RecordAnswer(key, answer)
		return true
	}
	delete(x.Answers, key) // an answer to another question
	return false
}

// Ask adds a question to the result of the request.
func (x *Rounds) Ask(key string, question mcp.InputRequest) {
	if x.Pending == nil {
		x.Pending = mcp.InputRequests{}
	}
	x.Pending[key] = question
}

// Result returns the InputRequiredResult with the pending questions. state is the encrypted state,
// and info the name of the server in JSON.
func (x *Rounds) Result(state string, info []byte) (json.RawMessage, error) {
	result := []byte{'{'}
	if len(x.Pending) > 0 {
		questions, err := mcp.Marshal(x.Pending)
		if err != nil {
			return nil, err
		}
		result = append(append(append(result, `"inputRequests":`...), questions...), ',')
	}
	result = jsonscan.AppendString(append(result, `"requestState":`...), state)
	result = append(result, `,"resultType":"`+string(mcp.ResultInputRequired)+`","_meta":{"`+
		mcp.MetaServerInfo+`":`...)
	return append(append(result, info...), "}}"...), nil
}
