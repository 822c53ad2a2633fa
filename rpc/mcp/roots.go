package mcp

// A Root is a directory or file that the client lets the server work on (MCP 2026-07-28, Roots).
type Root struct {
	URI   string `json:"uri"` // a file: URI
	Name  string `json:"name,omitempty"`
	Meta  Meta   `json:"_meta,omitzero"`
	Extra Extra  `json:"-" unknown:"keep"`
}

// ListRootsResult is the result of roots/list; the params are [EmptyParams].
type ListRootsResult struct {
	Result
	Roots []Root `json:"roots"`
}
