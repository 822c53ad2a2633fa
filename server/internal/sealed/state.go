package sealed

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"
)

const (
	stateLifetime = 15 * time.Minute // enough time for a person to answer
	maxState      = 256 << 10        // bytes of the encrypted state
)

var errState = errors.New(
	"requestState was not made for this request, or has expired; repeat the request without it")

// A State is the state that the server needs when a modern client repeats its request (2026-07-28,
// basic/patterns/mrtr): the questions and answers so far. The client carries it, so it is
// encrypted, and bound to the principal and the request. It may be used again until it expires: the
// server does not record which states it has received.
type State struct {
	Expires      int64                      `json:"e"` // Unix time, seconds
	Questions    map[string][]byte          `json:"q"` // digests of the questions asked, by key
	Answers      map[string]json.RawMessage `json:"a,omitempty"`
	HandlerState string                     `json:"s,omitempty"` // the state argument of RequireInput
}

// Answer returns the answer to the question with this key and digest from an earlier round, or nil.
func (state *State) Answer(key string, digest []byte) json.RawMessage {
	if !bytes.Equal(state.Questions[key], digest) {
		return nil
	}
	return state.Answers[key]
}

// RecordQuestion records the question for a key.
func (state *State) RecordQuestion(key string, digest []byte) {
	if state.Questions == nil {
		state.Questions = map[string][]byte{}
	}
	state.Questions[key] = digest
}

// RecordAnswer records a copy of the answer.
func (state *State) RecordAnswer(key string, answer []byte) {
	if state.Answers == nil {
		state.Answers = map[string]json.RawMessage{}
	}
	state.Answers[key] = bytes.Clone(answer)
}

// State sets the expiry of the state and encrypts it.
func (s Sealer) State(state State, binding []byte) (string, error) {
	state.Expires = time.Now().Add(stateLifetime).Unix()
	text, err := s.seal(state, binding)
	if err == nil && len(text) > maxState {
		return "", errors.New("the client's answers are too large for requestState")
	}
	return text, err
}

// OpenState decrypts a state. Its error is always the same, so that it reveals nothing to an
// attacker.
func (s Sealer) OpenState(text string, binding []byte) (*State, error) {
	state := new(State)
	if len(text) > maxState || !s.open(text, binding, state) ||
		time.Now().Unix() >= state.Expires {
		return nil, errState
	}
	return state, nil
}
