package mcp

// ProgressParams are the params of notifications/progress (MCP 2026-07-28, Progress). Progress grows with every notification.
type ProgressParams struct {
	Params
	ProgressToken ProgressToken `json:"progressToken"` // from the request's _meta
	Progress      float64       `json:"progress"`
	Total         *float64      `json:"total,omitempty"`   // nil if unknown
	Message       string        `json:"message,omitempty"` // since 2025-03-26
}

// CancelledParams are the params of notifications/cancelled (MCP 2026-07-28, Cancellation). In the modern era a server sends
// it only to end a subscriptions/listen stream on stdio.
type CancelledParams struct {
	Params
	RequestID RequestID `json:"requestId,omitzero"` // only 2025-11-25 lets it be absent
	Reason    string    `json:"reason,omitempty"`
}
