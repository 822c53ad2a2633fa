package mcp

// ProgressParams are the params of notifications/progress (MCP 2026-07-28, Progress). Progress
// increases with every notification.
type ProgressParams struct {
	Params
	ProgressToken ProgressToken `json:"progressToken,omitzero"` // that of the request; required
	Progress      float64       `json:"progress"`
	Total         *float64      `json:"total,omitempty"`   // nil if unknown
	Message       string        `json:"message,omitempty"` // since 2025-03-26
}
