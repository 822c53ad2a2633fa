package mcp

import "encoding/json"

// An Implementation is the name and version of a program. Nobody has verified it: it is for display and logs.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"` // since 2025-06-18
	Version     string `json:"version"`
	Description string `json:"description,omitempty"` // since 2025-11-25
	WebsiteURL  string `json:"websiteUrl,omitempty"`  // since 2025-11-25
	Icons       []Icon `json:"icons,omitzero"`        // since 2025-11-25
	Extra       Extra  `json:"-"`
}

// InitializeParams are the params of the legacy request initialize (MCP 2025-11-25, Lifecycle, "Initialization").
type InitializeParams struct {
	Params
	ProtocolVersion Revision           `json:"protocolVersion"` // the newest that the client speaks
	Capabilities    ClientCapabilities `json:"capabilities"`
	ClientInfo      Implementation     `json:"clientInfo"`
}

// InitializeResult is the result of initialize. If the client does not speak ProtocolVersion it hangs up.
type InitializeResult struct {
	Result
	ProtocolVersion Revision           `json:"protocolVersion"` // see Negotiate
	Capabilities    ServerCapabilities `json:"capabilities"`
	ServerInfo      Implementation     `json:"serverInfo"`
	Instructions    string             `json:"instructions,omitempty"` // for the model: how to use the server
}

// DiscoverResult is the result of server/discover (MCP 2026-07-28, Discovery). The server's name is in its _meta, see
// [Meta.ServerInfo].
type DiscoverResult struct {
	Result
	SupportedVersions []string           `json:"supportedVersions"` // see NewestCommon
	Capabilities      ServerCapabilities `json:"capabilities"`
	Instructions      string             `json:"instructions,omitempty"` // for the model: how to use the server
	CacheHints
}

// ClientCapabilities are what a client can do: said once in initialize, or in every modern request. What is not there, it
// cannot.
type ClientCapabilities struct {
	Experimental map[string]json.RawMessage `json:"experimental,omitzero"`
	Roots        *RootsCapability           `json:"roots,omitempty"`
	Sampling     *SamplingCapability        `json:"sampling,omitempty"`
	Elicitation  *ElicitationCapability     `json:"elicitation,omitempty"` // since 2025-06-18
	Tasks        *TasksCapability           `json:"tasks,omitempty"`       // 2025-11-25
	Extensions   map[string]json.RawMessage `json:"extensions,omitzero"`   // since 2026-07-28: settings, objects; see CheckExtensionID
	Extra        Extra                      `json:"-"`
}

// RootsCapability: the client answers roots/list.
type RootsCapability struct {
	ListChanged bool  `json:"listChanged,omitempty"` // legacy: it sends notifications/roots/list_changed
	Extra       Extra `json:"-"`
}

// SamplingCapability: the client answers sampling/createMessage.
type SamplingCapability struct {
	Context *Object `json:"context,omitempty"` // with any CreateMessageParams.IncludeContext
	Tools   *Object `json:"tools,omitempty"`   // with CreateMessageParams.Tools and ToolChoice
	Extra   Extra   `json:"-"`
}

// ElicitationCapability: the client answers elicitation/create.
type ElicitationCapability struct {
	Form  *Object `json:"form,omitempty"`
	URL   *Object `json:"url,omitempty"`
	Extra Extra   `json:"-"`
}

// SupportsForm reports whether the client shows forms: if it says so, or says nothing about modes. A nil pointer will do.
func (c *ElicitationCapability) SupportsForm() bool {
	return c != nil && (c.Form != nil || c.URL == nil)
}

// SupportsURL reports whether the client opens URLs. A nil pointer will do.
func (c *ElicitationCapability) SupportsURL() bool { return c != nil && c.URL != nil }

// ServerCapabilities are what a server can do. A client does not ask for what is not there.
type ServerCapabilities struct {
	Experimental map[string]json.RawMessage `json:"experimental,omitzero"`
	Logging      *Object                    `json:"logging,omitempty"`
	Completions  *Object                    `json:"completions,omitempty"` // since 2025-03-26
	Prompts      *ListCapability            `json:"prompts,omitempty"`
	Resources    *ResourcesCapability       `json:"resources,omitempty"`
	Tools        *ListCapability            `json:"tools,omitempty"`
	Tasks        *TasksCapability           `json:"tasks,omitempty"`     // 2025-11-25
	Extensions   map[string]json.RawMessage `json:"extensions,omitzero"` // settings, objects; see CheckExtensionID; in older revisions by SEP-2133
	Extra        Extra                      `json:"-"`
}

// ListCapability: the server has tools, or prompts.
type ListCapability struct {
	ListChanged bool  `json:"listChanged,omitempty"` // it tells when the list changes
	Extra       Extra `json:"-"`
}

// ResourcesCapability: the server has resources.
type ResourcesCapability struct {
	Subscribe   bool  `json:"subscribe,omitempty"`   // it tells when a resource changes
	ListChanged bool  `json:"listChanged,omitempty"` // it tells when the list changes
	Extra       Extra `json:"-"`
}

// TasksCapability: the peer runs requests as tasks, as 2025-11-25 has it (Tasks, "Capabilities").
type TasksCapability struct {
	List     *Object       `json:"list,omitempty"`
	Cancel   *Object       `json:"cancel,omitempty"`
	Requests *TaskRequests `json:"requests,omitempty"`
	Extra    Extra         `json:"-"`
}

// TaskRequests are the requests that a peer runs as tasks: a server tools/call, a client the others.
type TaskRequests struct {
	Tools       *ToolTasks        `json:"tools,omitempty"`
	Sampling    *SamplingTasks    `json:"sampling,omitempty"`
	Elicitation *ElicitationTasks `json:"elicitation,omitempty"`
	Extra       Extra             `json:"-"`
}

// ToolTasks: Call stands for tools/call.
type ToolTasks struct {
	Call  *Object `json:"call,omitempty"`
	Extra Extra   `json:"-"`
}

// SamplingTasks: CreateMessage stands for sampling/createMessage.
type SamplingTasks struct {
	CreateMessage *Object `json:"createMessage,omitempty"`
	Extra         Extra   `json:"-"`
}

// ElicitationTasks: Create stands for elicitation/create.
type ElicitationTasks struct {
	Create *Object `json:"create,omitempty"`
	Extra  Extra   `json:"-"`
}
