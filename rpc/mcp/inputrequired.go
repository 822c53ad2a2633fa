package mcp

import "encoding/json"

// A modern server sends an InputRequiredResult to request something from the client. The result
// ends tools/call, prompts/get or resources/read, and the client sends the request again with a new
// id and [InputAnswers] (MCP 2026-07-28, Multi Round-Trip Requests). At least one of InputRequests
// and RequestState is present. Without InputRequests the client may retry at once.
type InputRequiredResult struct {
	Result                      // with ResultType ResultInputRequired
	InputRequests InputRequests `json:"inputRequests,omitzero"`
	// opaque to the client, which sends it back unchanged
	RequestState string `json:"requestState,omitempty"`
}

// InputRequests are requests to the client, each under a key that the server chose.
type InputRequests map[string]InputRequest

// An InputRequest is a request without an id: elicitation/create with [ElicitParams],
// sampling/createMessage with [CreateMessageParams] or roots/list with [EmptyParams].
type InputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty" null:"absent"`
	Extra  Extra           `json:"-" unknown:"keep"`
}

// NewInputRequest returns a request for method. If params is nil it has no params.
func NewInputRequest(method string, params any) (InputRequest, error) {
	r := InputRequest{Method: method}
	var err error
	if params != nil {
		r.Params, err = Marshal(params)
	}
	return r, err
}

// InputResponses are the results of [InputRequests], under the same keys: an [ElicitResult],
// [CreateMessageResult] or [ListRootsResult] according to the request.
type InputResponses map[string]json.RawMessage

// InputAnswers are the additional params of a request that is sent again after an
// [InputRequiredResult]. They come from the client, so a server must treat them, RequestState
// included, as untrusted.
type InputAnswers struct {
	InputResponses InputResponses `json:"inputResponses,omitzero"`
	// equal to that of the InputRequiredResult; absent if absent there
	RequestState string `json:"requestState,omitempty"`
}
