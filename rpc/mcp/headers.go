package mcp

// The headers of Streamable HTTP, in the canonical form of net/http (MCP 2026-07-28, Streamable
// HTTP, "Request Metadata"; Mcp-Session-Id: 2025-11-25, Transports, "Session Management").
const (
	HeaderProtocolVersion = "Mcp-Protocol-Version"
	HeaderMethod          = "Mcp-Method"
	HeaderName            = "Mcp-Name"
	HeaderSessionID       = "Mcp-Session-Id"
)
