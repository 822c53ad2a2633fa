package mcp

import "slices"

// A Revision is a version of the specification, named by its date. Compare revisions with < and >.
type Revision string

// The revisions, newest first.
const (
	Rev20260728 Revision = "2026-07-28"
	Rev20251125 Revision = "2025-11-25"
	Rev20250618 Revision = "2025-06-18"
	Rev20250326 Revision = "2025-03-26"
	Rev20241105 Revision = "2024-11-05"

	Latest       = Rev20260728 // the newest revision
	LatestLegacy = Rev20251125 // the newest that begins with initialize
	LatestModern = Rev20260728 // the newest that does not
)

// An Era is one of the two forms of MCP (MCP 2026-07-28, Versioning, "Terminology").
type Era uint8

const (
	Legacy Era = iota + 1 // initialize, then a session
	Modern                // stateless; every request is self-contained by its _meta
)

func (e Era) String() string {
	switch e {
	case Legacy:
		return "legacy"
	case Modern:
		return "modern"
	}
	return "unknown era"
}

// Features lists the features of a revision. A peer must not be sent anything that its revision
// does not have.
type Features struct {
	Revision Revision
	Era      Era

	Batch            bool // only 2025-03-26
	ToolAnnotations  bool // Tool.Annotations
	Audio            bool // AudioContent
	Completions      bool // the completions capability (completion/complete is older than it)
	ProgressMessage  bool // ProgressParams.Message
	StructuredOutput bool // Tool.OutputSchema and CallToolResult.StructuredContent
	ResourceLinks    bool // ResourceLink
	Title            bool // Title beside Name
	// Meta on tools, resources, prompts, roots and content, not only on params and results
	ObjectMeta            bool
	LastModified          bool // Annotations.LastModified
	CompletionContext     bool // CompleteParams.Context
	Elicitation           bool // elicitation/create, form mode
	ProtocolVersionHeader bool // the MCP-Protocol-Version header of HTTP requests
	Icons                 bool // Icons; also Implementation.Description and WebsiteURL
	URLElicitation        bool // elicitation/create, URL mode
	// ElicitParams.ElicitationID, notifications/elicitation/complete, CodeURLElicitationRequired
	ElicitationComplete bool
	EnumSchemas         bool // titled and multiple choice in elicitation, defaults for every type
	// CreateMessageParams.Tools, tool_use and tool_result blocks, several blocks in a message
	SamplingTools     bool
	ExperimentalTasks bool // the task field and tasks/… of 2025-11-25

	// initialize, ping, logging/setLevel, resources/subscribe; the server sends requests
	Sessions            bool
	RequestMeta         bool // revision, capabilities and log level in each request's _meta
	Discover            bool // server/discover
	ResultType          bool // every result has a resultType
	InputRequired       bool // InputRequiredResult
	Listen              bool // subscriptions/listen
	CacheHints          bool // ttlMs and cacheScope are required on cacheable results
	Extensions          bool // the extensions capability
	AnyStructuredOutput bool // structured content of any JSON type; before, an object
	// CodeHeaderMismatch, CodeMissingRequiredClientCapability, CodeUnsupportedProtocolVersion; a
	// missing resource is invalid params, not CodeResourceNotFound
	StandardErrorCodes bool
}

var revisionTable = func() [5]Features {
	f := Features{Revision: Rev20241105, Era: Legacy, Sessions: true}
	v20241105 := f

	f.Revision = Rev20250326
	f.Batch, f.ToolAnnotations, f.Audio, f.Completions, f.ProgressMessage = true, true, true, true,
		true
	v20250326 := f

	f.Revision, f.Batch = Rev20250618, false
	f.StructuredOutput, f.ResourceLinks, f.Title, f.ObjectMeta, f.LastModified = true, true, true,
		true, true
	f.CompletionContext, f.Elicitation, f.ProtocolVersionHeader = true, true, true
	v20250618 := f

	f.Revision = Rev20251125
	f.Icons, f.URLElicitation, f.ElicitationComplete, f.EnumSchemas, f.SamplingTools = true, true,
		true, true, true
	f.ExperimentalTasks = true
	v20251125 := f

	f.Revision, f.Era = Rev20260728, Modern
	f.ElicitationComplete, f.ExperimentalTasks, f.Sessions = false, false, false
	f.RequestMeta, f.Discover, f.ResultType, f.InputRequired, f.Listen = true, true, true, true,
		true
	f.CacheHints, f.Extensions, f.AnyStructuredOutput, f.StandardErrorCodes = true, true, true, true
	return [5]Features{f, v20251125, v20250618, v20250326, v20241105}
}()

// FeaturesOf returns the features of r; false if r is not a known revision.
func FeaturesOf(r Revision) (f Features, ok bool) {
	for i := range revisionTable {
		if revisionTable[i].Revision == r {
			return revisionTable[i], true
		}
	}
	return Features{}, false
}

// EraOf returns the era of r; zero if r is not a known revision.
func EraOf(r Revision) Era {
	f, _ := FeaturesOf(r)
	return f.Era
}

// Supported returns the known revisions of the given eras, or of both without an argument, newest
// first. The caller owns the slice.
func Supported(eras ...Era) []Revision {
	var list []Revision
	for _, f := range revisionTable {
		if len(eras) == 0 || slices.Contains(eras, f.Era) {
			list = append(list, f.Revision)
		}
	}
	return list
}
