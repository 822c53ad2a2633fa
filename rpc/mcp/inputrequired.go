package mcp

import "encoding/json"

// An InputRequiredResult is how a modern server asks the client for something: it ends tools/call, prompts/get or
// resources/read, and the client sends the request again, with a new id and [InputAnswers] (MCP 2026-07-28, Multi Round-Trip
// Requests). One of InputRequests and RequestState is there; without InputRequests the client may try again at once.
type InputRequiredResult struct {
	Result                      // with ResultType ResultInputRequired
	InputRequests InputRequests `json:"inputRequests,omitzero"`
	RequestState  string        `json:"requestState,omitempty"` // for the server only; comes back as it is
}

// InputRequests are requests to the client, each under a name that the server chose.
type InputRequests map[string]InputRequest

// An InputRequest is a request without an id: elicitation/create with [ElicitParams], sampling/createMessage with
// [CreateMessageParams] or roots/list with [EmptyParams].
type InputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
	Extra  Extra           `json:"-"`
}

// NewInputRequest returns the request for the method with the params; without any if params is nil.
func NewInputRequest(method string, params any) (InputRequest, error) {
	r := InputRequest{Method: method}
	var err error
	if params != nil {
		r.Params, err = Marshal(params)
	}
	return r, err
}

// InputResponses are the answers to [InputRequests], under the same names: an [ElicitResult], [CreateMessageResult] or
// [ListRootsResult], whichever was asked for.
type InputResponses map[string]json.RawMessage

// InputAnswers are what a request has more when it is sent again after an [InputRequiredResult]. They come from the client: a
// server treats them as an attacker's, RequestState included.
type InputAnswers struct {
	InputResponses InputResponses `json:"inputResponses,omitzero"`
	RequestState   string         `json:"requestState,omitempty"` // as in the InputRequiredResult; absent if absent there
}
