package mcp

import (
	"encoding/json"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

// Cancellation is how MCP cancels a request on a stream: by notifications/cancelled, which is not answered, and neither is the request
// (2026-07-28, basic/patterns/cancellation). The initialize request may not be cancelled.
func Cancellation() *rpc.Cancellation {
	return &rpc.Cancellation{
		Method: NotificationCancelled,
		Params: func(method string, id rpc.ID, cause error) any {
			if method == MethodInitialize {
				return nil
			}
			return struct {
				RequestID rpc.ID `json:"requestId"`
				Reason    string `json:"reason,omitempty"`
			}{id, cause.Error()}
		},
		Target: func(params json.RawMessage) (rpc.ID, string, bool) {
			id, err := rpc.ParseID(jsonscan.Member(params, "requestId"))
			reason, _ := jsonscan.Unquote(jsonscan.Member(params, "reason"))
			return id, strings.ToValidUTF8(string(reason), ""), err == nil
		},
	}
}
