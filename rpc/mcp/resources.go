package mcp

// A Resource is data that a server lets the client read (MCP 2026-07-28, Resources, "Resource").
type Resource struct {
	URI         string       `json:"uri"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitempty"` // since 2025-06-18
	Description string       `json:"description,omitempty"`
	MIMEType    string       `json:"mimeType,omitempty"`
	Annotations *Annotations `json:"annotations,omitempty"`
	Size        *int64       `json:"size,omitempty"` // in bytes
	Icons       []Icon       `json:"icons,omitzero"` // since 2025-11-25
	Meta        Meta         `json:"_meta,omitzero"`
	Extra       Extra        `json:"-" unknown:"keep"`
}

// A ResourceTemplate describes a set of resources (MCP 2026-07-28, Resources, "Resource
// Templates").
type ResourceTemplate struct {
	URITemplate string `json:"uriTemplate"` // RFC 6570
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"` // since 2025-06-18
	Description string `json:"description,omitempty"`
	// if all resources of the template have the same
	MIMEType    string       `json:"mimeType,omitempty"`
	Annotations *Annotations `json:"annotations,omitempty"`
	Icons       []Icon       `json:"icons,omitzero"` // since 2025-11-25
	Meta        Meta         `json:"_meta,omitzero"`
	Extra       Extra        `json:"-" unknown:"keep"`
}

// ResourceContents are the contents of a resource: bytes if Blob is not nil, else text. Empty bytes
// are []byte{}.
type ResourceContents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text" unless:"Blob"`
	Blob     []byte `json:"blob,omitzero"` // base64 in JSON
	Meta     Meta   `json:"_meta,omitzero"`
	Extra    Extra  `json:"-" unknown:"keep"`
}

// ListResourcesResult is the result of resources/list, whose params are [ListParams], and, without
// CacheHints, that of resources/directory/read: the direct children of a directory.
type ListResourcesResult struct {
	Result
	Resources  []*Resource `json:"resources"`
	NextCursor string      `json:"nextCursor,omitempty"`
	CacheHints
}

// ListResourceTemplatesResult is the result of resources/templates/list; the params are
// [ListParams].
type ListResourceTemplatesResult struct {
	Result
	ResourceTemplates []*ResourceTemplate `json:"resourceTemplates"`
	NextCursor        string              `json:"nextCursor,omitempty"`
	CacheHints
}

// ReadResourceParams are the params of resources/read.
type ReadResourceParams struct {
	Params
	URI string `json:"uri"`
	InputAnswers
}

// ReadResourceResult is the result of resources/read if its Type is [ResultComplete]. Otherwise see
// [InputRequiredResult]. A resource that is a directory may have several contents with their own
// URIs.
type ReadResourceResult struct {
	Result
	Contents []ResourceContents `json:"contents"`
	CacheHints
}

// ResourceParams are the params of messages about one resource: the legacy requests
// resources/subscribe and resources/unsubscribe, in whose place the modern era has
// [SubscriptionFilter]; notifications/resources/updated, whose URI may be that of a subresource of
// the one subscribed to; and skills/get, with the URI of a SKILL.md.
type ResourceParams struct {
	Params
	URI string `json:"uri"`
}
