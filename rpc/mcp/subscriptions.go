package mcp

// A SubscriptionFilter names the notifications that are to flow on a subscriptions/listen stream (MCP 2026-07-28,
// Subscriptions, "Notification Filter").
type SubscriptionFilter struct {
	ToolsListChanged      bool     `json:"toolsListChanged,omitempty"`
	PromptsListChanged    bool     `json:"promptsListChanged,omitempty"`
	ResourcesListChanged  bool     `json:"resourcesListChanged,omitempty"`
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitzero"` // URIs for notifications/resources/updated
	TaskIDs               []string `json:"taskIds,omitzero"`               // the tasks extension: for notifications/tasks
	Extra                 Extra    `json:"-"`
}

// ListenParams are the params of subscriptions/listen, a request that lasts as long as the subscription. Its result, if the
// server ends it in good order, is an [EmptyResult] with [MetaSubscriptionID].
type ListenParams struct {
	Params
	Notifications SubscriptionFilter `json:"notifications"`
}

// SubscriptionsAcknowledgedParams are the params of notifications/subscriptions/acknowledged, the first message on the stream:
// the part of the filter that the server will serve.
type SubscriptionsAcknowledgedParams struct {
	Params
	Notifications SubscriptionFilter `json:"notifications"`
}
