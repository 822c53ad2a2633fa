package mcp

import (
	"encoding/json"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

// Cancellation returns how MCP cancels a request on a stream: by notifications/cancelled. A
// cancelled request gets no response (2026-07-28, basic/patterns/cancellation). The initialize
// request may not be cancelled. Over HTTP, a modern client closes the response stream instead.
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
