package mcp

// A SubscriptionFilter selects the notifications of a subscriptions/listen stream (MCP 2026-07-28,
// Subscriptions, "Notification Filter").
type SubscriptionFilter struct {
	ToolsListChanged     bool `json:"toolsListChanged,omitempty"`
	PromptsListChanged   bool `json:"promptsListChanged,omitempty"`
	ResourcesListChanged bool `json:"resourcesListChanged,omitempty"`
	// URIs for notifications/resources/updated
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitzero"`
	// the tasks extension: for notifications/tasks
	TaskIDs []string `json:"taskIds,omitzero"`
	Extra   Extra    `json:"-" unknown:"keep"`
}

// ListenParams are the params of subscriptions/listen, a request that lasts as long as the
// subscription, and of notifications/subscriptions/acknowledged, the first message of its stream,
// which has the part of the filter that the server supports. If the server ends the request
// regularly, its result is a [Result] with [MetaSubscriptionID].
type ListenParams struct {
	Params
	Notifications SubscriptionFilter `json:"notifications"`
}
