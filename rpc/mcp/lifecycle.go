package mcp

import "encoding/json"

// An Implementation is the name and version of a program, for display and logs. It is not
// authenticated.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"` // since 2025-06-18
	Version     string `json:"version"`
	Description string `json:"description,omitempty"` // since 2025-11-25
	WebsiteURL  string `json:"websiteUrl,omitempty"`  // since 2025-11-25
	Icons       []Icon `json:"icons,omitzero"`        // since 2025-11-25
	Extra       Extra  `json:"-" unknown:"keep"`
}

// InitializeParams are the params of the legacy request initialize (MCP 2025-11-25, Lifecycle,
// "Initialization").
type InitializeParams struct {
	Params
	// the newest that the client supports
	ProtocolVersion Revision           `json:"protocolVersion"`
	Capabilities    ClientCapabilities `json:"capabilities"`
	ClientInfo      Implementation     `json:"clientInfo"`
}

// InitializeResult is the result of initialize. A client that does not support ProtocolVersion
// disconnects.
type InitializeResult struct {
	Result
	ProtocolVersion Revision           `json:"protocolVersion"`
	Capabilities    ServerCapabilities `json:"capabilities"`
	ServerInfo      Implementation     `json:"serverInfo"`
	// for the model: how to use the server
	Instructions string `json:"instructions,omitempty"`
}

// DiscoverResult is the result of server/discover (MCP 2026-07-28, Discovery). The server's name is
// in its _meta; see [Meta.ServerInfo].
type DiscoverResult struct {
	Result
	SupportedVersions []string           `json:"supportedVersions"`
	Capabilities      ServerCapabilities `json:"capabilities"`
	// for the model: how to use the server
	Instructions string `json:"instructions,omitempty"`
	CacheHints
}

// ClientCapabilities lists what a client supports. It is sent in initialize, or in every modern
// request. An absent capability is not supported.
type ClientCapabilities struct {
	Experimental map[string]json.RawMessage `json:"experimental,omitzero"`
	Roots        *ListCapability            `json:"roots,omitempty"`
	Sampling     *SamplingCapability        `json:"sampling,omitempty"`
	Elicitation  *ElicitationCapability     `json:"elicitation,omitempty"` // since 2025-06-18
	Tasks        *TasksCapability           `json:"tasks,omitempty"`       // 2025-11-25
	// since 2026-07-28: settings, objects
	Extensions map[string]json.RawMessage `json:"extensions,omitzero"`
	Extra      Extra                      `json:"-" unknown:"keep"`
}

// SamplingCapability means that the client responds to sampling/createMessage.
type SamplingCapability struct {
	Context *Object `json:"context,omitempty"` // with any CreateMessageParams.IncludeContext
	Tools   *Object `json:"tools,omitempty"`   // with CreateMessageParams.Tools and ToolChoice
	Extra   Extra   `json:"-" unknown:"keep"`
}

// ElicitationCapability means that the client responds to elicitation/create.
type ElicitationCapability struct {
	Form  *Object `json:"form,omitempty"`
	URL   *Object `json:"url,omitempty"`
	Extra Extra   `json:"-" unknown:"keep"`
}

// SupportsForm reports whether the client supports form mode: it says so or names no mode. It
// returns false for a nil pointer.
func (c *ElicitationCapability) SupportsForm() bool {
	return c != nil && (c.Form != nil || c.URL == nil)
}

// SupportsURL reports whether the client supports URL mode. It returns false for a nil pointer.
func (c *ElicitationCapability) SupportsURL() bool { return c != nil && c.URL != nil }

// ServerCapabilities lists what a server supports. A client does not send requests for an absent
// capability.
type ServerCapabilities struct {
	Experimental map[string]json.RawMessage `json:"experimental,omitzero"`
	Logging      *Object                    `json:"logging,omitempty"`
	Completions  *Object                    `json:"completions,omitempty"` // since 2025-03-26
	Prompts      *ListCapability            `json:"prompts,omitempty"`
	Resources    *ListCapability            `json:"resources,omitempty"`
	Tools        *ListCapability            `json:"tools,omitempty"`
	Tasks        *TasksCapability           `json:"tasks,omitempty"` // 2025-11-25
	// settings, objects; in older revisions by SEP-2133
	Extensions map[string]json.RawMessage `json:"extensions,omitzero"`
	Extra      Extra                      `json:"-" unknown:"keep"`
}

// ListCapability means that a server has tools, prompts or resources, or that a client responds to
// roots/list.
type ListCapability struct {
	// of resources: legacy clients can subscribe to single ones
	Subscribe bool `json:"subscribe,omitempty"`
	// the side with the list sends notifications of its changes; of roots, only in legacy revisions
	ListChanged bool  `json:"listChanged,omitempty"`
	Extra       Extra `json:"-" unknown:"keep"`
}

// TasksCapability means that the peer runs requests as 2025-11-25 tasks (Tasks, "Capabilities").
type TasksCapability struct {
	List   *Object `json:"list,omitempty"`
	Cancel *Object `json:"cancel,omitempty"`
	// the requests, by the two parts of their methods: {"tools":{"call":{}}} stands for tools/call
	Requests map[string]json.RawMessage `json:"requests,omitzero"`
	Extra    Extra                      `json:"-" unknown:"keep"`
}
