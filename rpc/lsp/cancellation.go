package lsp

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

// Cancellation returns how LSP cancels a request: by $/cancelRequest. A cancelled request whose
// handler returns an error is answered with [CodeRequestCancelled] (LSP 3.17, "Cancellation
// Support").
func Cancellation() *rpc.Cancellation {
	return &rpc.Cancellation{
		Method: "$/cancelRequest",
		Params: func(_ string, id rpc.ID, _ error) any {
			return struct {
				ID rpc.ID `json:"id"`
			}{id}
		},
		Target: func(params json.RawMessage) (id rpc.ID, reason string, ok bool) {
			id, err := rpc.ParseID(jsonscan.Member(params, "id"))
			return id, "", err == nil
		},
		Reply: rpc.Errorf(CodeRequestCancelled, "Request cancelled"),
	}
}
