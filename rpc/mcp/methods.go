package mcp

import "iter"

// The methods of all revisions. [MethodAt] reports which ones a revision has.
const (
	MethodInitialize            = "initialize"
	MethodPing                  = "ping"
	MethodDiscover              = "server/discover"
	MethodListen                = "subscriptions/listen"
	MethodListTools             = "tools/list"
	MethodCallTool              = "tools/call"
	MethodListResources         = "resources/list"
	MethodListResourceTemplates = "resources/templates/list"
	MethodReadResource          = "resources/read"
	MethodSubscribe             = "resources/subscribe"
	MethodUnsubscribe           = "resources/unsubscribe"
	MethodListPrompts           = "prompts/list"
	MethodGetPrompt             = "prompts/get"
	MethodComplete              = "completion/complete"
	MethodListSkills            = "skills/list"
	MethodGetSkill              = "skills/get"
	MethodReadDirectory         = "resources/directory/read"
	MethodSetLevel              = "logging/setLevel"
	MethodCreateMessage         = "sampling/createMessage"
	MethodElicit                = "elicitation/create"
	MethodListRoots             = "roots/list"
	MethodGetTask               = "tasks/get"
	MethodUpdateTask            = "tasks/update"
	MethodCancelTask            = "tasks/cancel"
	MethodTaskResult            = "tasks/result"
	MethodListTasks             = "tasks/list"

	NotificationInitialized               = "notifications/initialized"
	NotificationCancelled                 = "notifications/cancelled"
	NotificationProgress                  = "notifications/progress"
	NotificationMessage                   = "notifications/message"
	NotificationToolListChanged           = "notifications/tools/list_changed"
	NotificationResourceListChanged       = "notifications/resources/list_changed"
	NotificationResourceUpdated           = "notifications/resources/updated"
	NotificationPromptListChanged         = "notifications/prompts/list_changed"
	NotificationRootsListChanged          = "notifications/roots/list_changed"
	NotificationElicitationComplete       = "notifications/elicitation/complete"
	NotificationSubscriptionsAcknowledged = "notifications/subscriptions/acknowledged"
	NotificationTaskStatus                = "notifications/tasks/status" // 2025-11-25
	NotificationTask                      = "notifications/tasks"        // the tasks extension
)

// ExtensionTasks is the id of the tasks extension in the extensions capability.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// A Sender is a set of ways to send a message.
type Sender uint8

const (
	ByClient Sender = 1 << iota // the client sends it
	ByServer                    // the server sends it
	AsInput                     // the server sends it only within an InputRequiredResult
)

// A Method describes a method in the revisions from Since to Until inclusive.
type Method struct {
	Name         string
	Notification bool
	Sender       Sender
	Since, Until Revision
	Extension    string // the extension that it is part of, if any
	// its result carries CacheHints (MCP 2026-07-28, Caching, "Cacheable Results")
	Cacheable bool
	// the request has no effect, so that a client may send it again if it is not known whether it
	// arrived (RFC 9110, section 9.2.2)
	Idempotent bool
	// the server may ask for input while it handles the request: with requests of its own if the
	// revision is legacy, else with an InputRequiredResult (MCP 2026-07-28, Multi Round-Trip
	// Requests, "Supported Requests")
	RequestsInput bool
	// the parameter that the header Mcp-Name repeats; "" if the revision has no such header (MCP
	// 2026-07-28, Streamable HTTP, "Standard Request Headers"; for tasks, the tasks extension)
	NameParam string
}

const (
	oldest = Rev20241105
	both   = ByClient | ByServer
)

// A method has a row for each range of revisions with the same properties.
var methodTable = [...]Method{
	{Name: MethodInitialize, Sender: ByClient, Since: oldest, Until: LatestLegacy},
	{Name: MethodPing, Sender: both, Since: oldest, Until: LatestLegacy, Idempotent: true},
	{Name: MethodDiscover, Sender: ByClient, Since: Rev20260728, Until: Latest, Cacheable: true,
		Idempotent: true},
	{Name: MethodListen, Sender: ByClient, Since: Rev20260728, Until: Latest},

	{Name: MethodListTools, Sender: ByClient, Since: oldest, Until: LatestLegacy, Idempotent: true},
	{Name: MethodListTools, Sender: ByClient, Since: Rev20260728, Until: Latest, Cacheable: true,
		Idempotent: true},
	{Name: MethodCallTool, Sender: ByClient, Since: oldest, Until: LatestLegacy,
		RequestsInput: true},
	{Name: MethodCallTool, Sender: ByClient, Since: Rev20260728, Until: Latest,
		RequestsInput: true, NameParam: "name"},
	{Name: MethodListResources, Sender: ByClient, Since: oldest, Until: LatestLegacy,
		Idempotent: true},
	{Name: MethodListResources, Sender: ByClient, Since: Rev20260728, Until: Latest,
		Cacheable: true, Idempotent: true},
	{Name: MethodListResourceTemplates, Sender: ByClient, Since: oldest, Until: LatestLegacy,
		Idempotent: true},
	{Name: MethodListResourceTemplates, Sender: ByClient, Since: Rev20260728, Until: Latest,
		Cacheable: true, Idempotent: true},
	{Name: MethodReadResource, Sender: ByClient, Since: oldest, Until: LatestLegacy,
		RequestsInput: true, Idempotent: true},
	{Name: MethodReadResource, Sender: ByClient, Since: Rev20260728, Until: Latest,
		Cacheable: true, RequestsInput: true, NameParam: "uri", Idempotent: true},
	{Name: MethodSubscribe, Sender: ByClient, Since: oldest, Until: LatestLegacy},
	{Name: MethodUnsubscribe, Sender: ByClient, Since: oldest, Until: LatestLegacy},
	{Name: MethodListPrompts, Sender: ByClient, Since: oldest, Until: LatestLegacy,
		Idempotent: true},
	{Name: MethodListPrompts, Sender: ByClient, Since: Rev20260728, Until: Latest, Cacheable: true,
		Idempotent: true},
	{Name: MethodGetPrompt, Sender: ByClient, Since: oldest, Until: LatestLegacy,
		RequestsInput: true, Idempotent: true},
	{Name: MethodGetPrompt, Sender: ByClient, Since: Rev20260728, Until: Latest,
		RequestsInput: true, NameParam: "name", Idempotent: true},
	{Name: MethodComplete, Sender: ByClient, Since: oldest, Until: Latest, Idempotent: true},
	{Name: MethodSetLevel, Sender: ByClient, Since: oldest, Until: LatestLegacy},

	{Name: MethodCreateMessage, Sender: ByServer, Since: oldest, Until: LatestLegacy},
	{Name: MethodCreateMessage, Sender: AsInput, Since: Rev20260728, Until: Latest},
	{Name: MethodElicit, Sender: ByServer, Since: Rev20250618, Until: LatestLegacy},
	{Name: MethodElicit, Sender: AsInput, Since: Rev20260728, Until: Latest},
	{Name: MethodListRoots, Sender: ByServer, Since: oldest, Until: LatestLegacy},
	{Name: MethodListRoots, Sender: AsInput, Since: Rev20260728, Until: Latest},

	{Name: MethodGetTask, Sender: both, Since: Rev20251125, Until: Rev20251125, Idempotent: true},
	{Name: MethodGetTask, Sender: ByClient, Since: Rev20260728, Until: Latest,
		Extension: ExtensionTasks, NameParam: "taskId", Idempotent: true},
	{Name: MethodUpdateTask, Sender: ByClient, Since: Rev20260728, Until: Latest,
		Extension: ExtensionTasks, NameParam: "taskId"},
	{Name: MethodCancelTask, Sender: both, Since: Rev20251125, Until: Rev20251125},
	{Name: MethodCancelTask, Sender: ByClient, Since: Rev20260728, Until: Latest,
		Extension: ExtensionTasks, NameParam: "taskId"},
	{Name: MethodListSkills, Sender: ByClient, Since: Rev20260728, Until: Latest,
		Extension: ExtensionSkills, Cacheable: true, Idempotent: true},
	{Name: MethodGetSkill, Sender: ByClient, Since: Rev20260728, Until: Latest,
		Extension: ExtensionSkills, Cacheable: true, Idempotent: true},
	{Name: MethodReadDirectory, Sender: ByClient, Since: Rev20260728, Until: Latest,
		Extension: ExtensionSkills, Idempotent: true},
	{Name: MethodTaskResult, Sender: both, Since: Rev20251125, Until: Rev20251125},
	{Name: MethodListTasks, Sender: both, Since: Rev20251125, Until: Rev20251125},

	{Name: NotificationInitialized, Notification: true, Sender: ByClient, Since: oldest,
		Until: LatestLegacy},
	{Name: NotificationCancelled, Notification: true, Sender: both, Since: oldest, Until: Latest},
	{Name: NotificationProgress, Notification: true, Sender: both, Since: oldest,
		Until: LatestLegacy},
	{Name: NotificationProgress, Notification: true, Sender: ByServer, Since: Rev20260728,
		Until: Latest},
	{Name: NotificationMessage, Notification: true, Sender: ByServer, Since: oldest, Until: Latest},
	{Name: NotificationToolListChanged, Notification: true, Sender: ByServer, Since: oldest,
		Until: Latest},
	{Name: NotificationResourceListChanged, Notification: true, Sender: ByServer, Since: oldest,
		Until: Latest},
	{Name: NotificationResourceUpdated, Notification: true, Sender: ByServer, Since: oldest,
		Until: Latest},
	{Name: NotificationPromptListChanged, Notification: true, Sender: ByServer, Since: oldest,
		Until: Latest},
	{Name: NotificationRootsListChanged, Notification: true, Sender: ByClient, Since: oldest,
		Until: LatestLegacy},
	{Name: NotificationElicitationComplete, Notification: true, Sender: ByServer,
		Since: Rev20251125, Until: Rev20251125},
	{Name: NotificationSubscriptionsAcknowledged, Notification: true, Sender: ByServer,
		Since: Rev20260728, Until: Latest},
	{Name: NotificationTaskStatus, Notification: true, Sender: both, Since: Rev20251125,
		Until: Rev20251125},
	{Name: NotificationTask, Notification: true, Sender: ByServer, Since: Rev20260728,
		Until: Latest, Extension: ExtensionTasks},
}

// MethodAt returns the method of that name in revision r; false if r does not have it. A request
// for such a method is answered with method not found, even if another revision has it.
func MethodAt(name string, r Revision) (m Method, ok bool) {
	for i := range methodTable {
		if m := &methodTable[i]; m.Name == name && m.Since <= r && r <= m.Until {
			return *m, true
		}
	}
	return Method{}, false
}

// Methods yields every method of revision r once, including those of extensions.
func Methods(r Revision) iter.Seq[Method] {
	return func(yield func(Method) bool) {
		for _, m := range methodTable {
			if m.Since <= r && r <= m.Until && !yield(m) {
				return
			}
		}
	}
}
