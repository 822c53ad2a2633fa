package mcp

// Params holds the members that the params of every request and notification may have. Types of
// params embed it. It is the type of params without other members, such as those of ping.
type Params struct {
	Meta  Meta  `json:"_meta,omitzero"` // required in modern requests
	Extra Extra `json:"-" unknown:"keep"`
}

// ListParams are the params of the requests that return a list in pages: tools/list,
// resources/list, resources/templates/list, prompts/list and tasks/list (MCP 2026-07-28,
// Pagination).
type ListParams struct {
	Params
	// NextCursor of the previous page; "" requests the first
	Cursor string `json:"cursor,omitempty"`
}

// A ResultType is the kind of a modern result (MCP 2026-07-28, Base Protocol, "ResultType"). A
// client treats an unknown type as an error.
type ResultType string

const (
	ResultComplete      ResultType = "complete"       // the result of the request
	ResultInputRequired ResultType = "input_required" // an InputRequiredResult
	ResultTask          ResultType = "task"           // a TaskResult of the tasks extension
)

// Result holds the members that every result may have. Types of results embed it. It is the type of
// a result without other members, such as that of ping.
type Result struct {
	Meta       Meta       `json:"_meta,omitzero"`
	ResultType ResultType `json:"resultType,omitempty"` // required in modern results; "": complete
	Extra      Extra      `json:"-" unknown:"keep"`
}

// A CacheScope says who may be served a cached result.
type CacheScope string

const (
	CachePrivate CacheScope = "private" // only requests with the same authorization
	CachePublic  CacheScope = "public"  // anyone
)

// CacheHints are part of the results that a client may cache: of server/discover, the four lists,
// and resources/read (MCP 2026-07-28, Caching). A modern server must send both.
type CacheHints struct {
	TTLMs      *int64     `json:"ttlMs,omitempty"` // how long the result is fresh, in milliseconds
	CacheScope CacheScope `json:"cacheScope,omitempty"`
}

// An Icon is a picture for a user interface (since 2025-11-25; MCP 2026-07-28, Base Protocol,
// "icons"). Treat it as untrusted.
type Icon struct {
	Src      string   `json:"src"` // an https: or data: URI
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitzero"` // "48x48" or "any"; empty means any
	// the background it suits: "light" or "dark"; "" means any
	Theme string `json:"theme,omitempty"`
	Extra Extra  `json:"-" unknown:"keep"`
}

// A Role is the sender of a message in a conversation.
type Role string

const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Annotations are hints to the client about content and resources.
type Annotations struct {
	Audience     []Role   `json:"audience,omitzero"`
	Priority     *float64 `json:"priority,omitempty"`     // from 0, optional, to 1, required
	LastModified string   `json:"lastModified,omitempty"` // ISO 8601; since 2025-06-18
	Extra        Extra    `json:"-" unknown:"keep"`
}

// An Object is a JSON object whose presence alone has a meaning. Its members, if any, are in Extra.
type Object struct {
	Extra Extra `json:"-" unknown:"keep"`
}
