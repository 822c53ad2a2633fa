package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/elicitschema"
	"github.com/stdwire/stdwire/rpc"
)

// definitions maps the definitions in the schemas of the revisions and of the tasks extension to
// their Go types.
var definitions = map[string]any{
	"Annotations":          Annotations{},
	"AudioContent":         AudioContent{},
	"BlobResourceContents": ResourceContents{},
	"BooleanSchema":        elicitschema.Primitive{},
	"CacheableResult": struct {
		Result
		CacheHints
	}{},
	"CallToolRequestParams":       CallToolParams{},
	"CallToolResult":              CallToolResult{},
	"CancelledNotificationParams": cancelledParams{},
	"ClientCapabilities":          ClientCapabilities{},
	"CompleteRequestParams":       CompleteParams{},
	"CompleteResult":              CompleteResult{},
	"CreateMessageRequestParams":  CreateMessageParams{},
	"CreateMessageResult":         CreateMessageResult{},
	"DiscoverResult":              DiscoverResult{},
	"ElicitRequestFormParams":     ElicitParams{},
	"ElicitRequestURLParams":      ElicitParams{},
	"ElicitResult":                ElicitResult{},
	"EmbeddedResource":            EmbeddedResource{},
	"EmptyResult":                 Result{},
	"EnumSchema":                  elicitschema.Primitive{},
	"Error":                       rpc.Error{},
	"GetPromptRequestParams":      GetPromptParams{},
	"GetPromptResult":             GetPromptResult{},
	"Icon":                        Icon{},
	"ImageContent":                ImageContent{},
	"Implementation":              Implementation{},
	"InitializeRequestParams":     InitializeParams{},
	"InitializeResult":            InitializeResult{},
	"InputRequests":               InputRequests{},
	"InputRequiredResult":         InputRequiredResult{},
	"InputResponses":              InputResponses{},
	"InputResponseRequestParams": struct {
		Params
		InputAnswers
	}{},
	"LegacyTitledEnumSchema":                      elicitschema.Primitive{},
	"ListPromptsResult":                           ListPromptsResult{},
	"ListResourceTemplatesResult":                 ListResourceTemplatesResult{},
	"ListResourcesResult":                         ListResourcesResult{},
	"ListRootsResult":                             ListRootsResult{},
	"ListTasksResult":                             ListExperimentalTasksResult{},
	"ListToolsResult":                             ListToolsResult{},
	"LoggingMessageNotificationParams":            LoggingMessageParams{},
	"ModelHint":                                   ModelHint{},
	"ModelPreferences":                            ModelPreferences{},
	"NotificationParams":                          Params{},
	"NumberSchema":                                elicitschema.Primitive{},
	"PaginatedRequestParams":                      ListParams{},
	"ProgressNotificationParams":                  ProgressParams{},
	"Prompt":                                      Prompt{},
	"PromptArgument":                              PromptArgument{},
	"PromptMessage":                               PromptMessage{},
	"PromptReference":                             CompleteReference{},
	"ReadResourceRequestParams":                   ReadResourceParams{},
	"ReadResourceResult":                          ReadResourceResult{},
	"RelatedTaskMetadata":                         TaskParams{},
	"Resource":                                    Resource{},
	"ResourceContents":                            ResourceContents{},
	"ResourceLink":                                ResourceLink{},
	"ResourceReference":                           CompleteReference{},
	"ResourceRequestParams":                       ResourceParams{},
	"ResourceTemplate":                            ResourceTemplate{},
	"ResourceTemplateReference":                   CompleteReference{},
	"ResourceUpdatedNotificationParams":           ResourceParams{},
	"Root":                                        Root{},
	"SamplingMessage":                             SamplingMessage{},
	"ServerCapabilities":                          ServerCapabilities{},
	"SetLevelRequestParams":                       SetLevelParams{},
	"StringSchema":                                elicitschema.Primitive{},
	"SubscribeRequestParams":                      ResourceParams{},
	"SubscriptionFilter":                          SubscriptionFilter{},
	"SubscriptionsAcknowledgedNotificationParams": ListenParams{},
	"SubscriptionsListenRequestParams":            ListenParams{},
	"SubscriptionsListenResult":                   Result{},
	"TaskMetadata":                                TaskMetadata{},
	"TextContent":                                 TextContent{},
	"TextResourceContents":                        ResourceContents{},
	"TitledMultiSelectEnumSchema":                 elicitschema.Primitive{},
	"TitledSingleSelectEnumSchema":                elicitschema.Primitive{},
	"Tool":                                        Tool{},
	"ToolAnnotations":                             ToolAnnotations{},
	"ToolChoice":                                  ToolChoice{},
	"ToolExecution":                               ToolExecution{},
	"ToolResultContent":                           ToolResultContent{},
	"ToolUseContent":                              ToolUseContent{},
	"UnsubscribeRequestParams":                    ResourceParams{},
	"UntitledMultiSelectEnumSchema":               elicitschema.Primitive{},
	"UntitledSingleSelectEnumSchema":              elicitschema.Primitive{},

	// 2025-11-25
	"CreateTaskResult": CreateExperimentalTaskResult{},
	"Task":             ExperimentalTask{},

	// the tasks extension
	"CancelledTask":                             Task{},
	"CompletedTask":                             Task{},
	"FailedTask":                                Task{},
	"InputRequiredTask":                         Task{},
	"TaskSubscriptionNotifications":             SubscriptionFilter{},
	"TaskSubscriptionAcknowledgedNotifications": SubscriptionFilter{},
	"WorkingTask":                               Task{},
}

// paramsOf has the type of the params of each method.
var paramsOf = map[string]any{
	MethodInitialize:            InitializeParams{},
	MethodPing:                  Params{},
	MethodDiscover:              Params{},
	MethodListen:                ListenParams{},
	MethodListTools:             ListParams{},
	MethodCallTool:              CallToolParams{},
	MethodListResources:         ListParams{},
	MethodListResourceTemplates: ListParams{},
	MethodReadResource:          ReadResourceParams{},
	MethodSubscribe:             ResourceParams{},
	MethodUnsubscribe:           ResourceParams{},
	MethodListPrompts:           ListParams{},
	MethodGetPrompt:             GetPromptParams{},
	MethodComplete:              CompleteParams{},
	MethodSetLevel:              SetLevelParams{},
	MethodCreateMessage:         CreateMessageParams{},
	MethodElicit:                ElicitParams{},
	MethodListRoots:             Params{},
	MethodGetTask:               TaskParams{},
	MethodUpdateTask:            UpdateTaskParams{},
	MethodCancelTask:            TaskParams{},
	MethodTaskResult:            TaskParams{},
	MethodListTasks:             ListParams{},
	MethodListSkills:            ListParams{},
	MethodGetSkill:              ResourceParams{},
	MethodReadDirectory:         readDirectoryParams,

	NotificationInitialized:               Params{},
	NotificationCancelled:                 cancelledParams{},
	NotificationProgress:                  ProgressParams{},
	NotificationMessage:                   LoggingMessageParams{},
	NotificationToolListChanged:           Params{},
	NotificationResourceListChanged:       Params{},
	NotificationResourceUpdated:           ResourceParams{},
	NotificationPromptListChanged:         Params{},
	NotificationRootsListChanged:          Params{},
	NotificationElicitationComplete:       elicitationCompleteParams,
	NotificationSubscriptionsAcknowledged: ListenParams{},
	NotificationTaskStatus:                taskStatusParams,
	NotificationTask:                      taskNotificationParams,
}

// The params of messages that no code of this module makes or reads as a whole.
var (
	readDirectoryParams struct {
		ListParams
		URI string `json:"uri"`
	}
	taskStatusParams struct {
		Params
		ExperimentalTask
	}
	taskNotificationParams struct {
		Params
		Task
	}
	elicitationCompleteParams struct {
		Params
		ElicitationID string `json:"elicitationId"`
	}
)

type cancelledParams struct {
	Params
	RequestID rpc.ID `json:"requestId,omitzero"` // optional in 2025-11-25 only
	Reason    string `json:"reason,omitempty"`
}

// others are the messages that have no definition of their own in the schemas.
var others = []any{TaskResult{}, ExperimentalTaskResult{},
	elicitschema.Schema{}, ListSkillsResult{},
	SkillsSettings{}, Skill{},
	SkillResource{}, SkillResources{},
	UnknownContent{Kind: "x", Raw: json.RawMessage(`{"type":"x"}`)}}

var errorData = map[string]any{
	"MissingRequiredClientCapabilityError": MissingRequiredClientCapabilityData{},
	"UnsupportedProtocolVersionError":      UnsupportedProtocolVersionData{},
}

// suite returns the folder of the MCP schemas. It skips the test if there is none.
func suite(t *testing.T) string {
	root := os.Getenv("STDWIRE_SUITES")
	if root == "" {
		t.Skip("STDWIRE_SUITES is not set: the schemas and examples of the specification are not tested")
	}
	return filepath.Join(root, "mcp-schema")
}

// roundTrip decodes data into the type of zero, encodes that, and compares the JSON. It returns the
// decoded value.
func roundTrip(t *testing.T, zero any, data []byte) any {
	t.Helper()
	v := reflect.New(reflect.TypeOf(zero))
	assert.NilError(t, Unmarshal(data, v.Interface()))
	otherMarshal, otherUnmarshal := otherCodec(zero)
	for name, marshal := range map[string]func(any) ([]byte, error){"Marshal": Marshal,
		"the other": otherMarshal} {
		got, err := marshal(v.Elem().Interface())
		assert.NilError(t, err, name)
		assert.DeepEqual(t, tree(t, got), tree(t, data))
	}
	again := reflect.New(v.Elem().Type())
	if _, ok := zero.(Content); !ok {
		assert.NilError(t, otherUnmarshal(data, again.Interface()))
		assert.Assert(t, reflect.DeepEqual(again.Interface(), v.Interface()),
			"Unmarshal and the other function differ")
	}
	return v.Elem().Interface()
}

// tree returns data as a tree, without members that are false by default and so may be absent.
func tree(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	assert.NilError(t, json.Unmarshal(data, &v), "%s", data)
	var prune func(v any)
	prune = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range []string{"isError", "listChanged", "subscribe", "required",
				"hasMore"} {
				if v[name] == false {
					delete(v, name)
				}
			}
			for _, member := range v {
				prune(member)
			}
		case []any:
			for _, element := range v {
				prune(element)
			}
		}
	}
	prune(v)
	return v
}
