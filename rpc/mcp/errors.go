package mcp

// The error codes that MCP adds to those of JSON-RPC. Codes from -32020 to -32099 are reserved for
// the specification; a modern peer must not send others in that range (MCP 2026-07-28, Base
// Protocol, "Error Codes").
const (
	// CodeHeaderMismatch means that an HTTP header is missing, malformed or contradicts the body.
	// HTTP status 400.
	CodeHeaderMismatch = -32020
	// CodeMissingRequiredClientCapability means that the request needs a capability that its _meta
	// does not declare. The data are [MissingRequiredClientCapabilityData]. HTTP status 400.
	CodeMissingRequiredClientCapability = -32021
	// CodeUnsupportedProtocolVersion means that the server does not support the revision of the
	// request. The data are [UnsupportedProtocolVersionData]. HTTP status 400.
	CodeUnsupportedProtocolVersion = -32022

	// CodeResourceNotFound is legacy only; the modern era has invalid params (-32602) instead. The
	// data of both are an object whose member uri is the URI.
	CodeResourceNotFound = -32002
	// CodeURLElicitationRequired is 2025-11-25 only; the modern era has input_required instead. The
	// data are [URLElicitationRequiredData].
	CodeURLElicitationRequired = -32042
)

// IsModernError reports whether only a modern server sends errors with this code. A client that
// probes a server with a modern request and gets any other error continues with initialize (MCP
// 2026-07-28, Versioning, "Backward Compatibility").
func IsModernError(code int64) bool {
	return code == CodeHeaderMismatch || code == CodeMissingRequiredClientCapability ||
		code == CodeUnsupportedProtocolVersion
}

// MissingRequiredClientCapabilityData is the data of [CodeMissingRequiredClientCapability].
type MissingRequiredClientCapabilityData struct {
	RequiredCapabilities ClientCapabilities `json:"requiredCapabilities"` // the missing capabilities
}

// UnsupportedProtocolVersionData is the data of [CodeUnsupportedProtocolVersion]. The client
// selects a revision from Supported and tries again.
type UnsupportedProtocolVersionData struct {
	Supported []string `json:"supported"`
	Requested string   `json:"requested"`
}

// URLElicitationRequiredData is the data of [CodeURLElicitationRequired]: the elicitations that the
// user must complete before the request can succeed. Each of them is in URL mode and has an id.
type URLElicitationRequiredData struct {
	Elicitations []ElicitParams `json:"elicitations"`
}
