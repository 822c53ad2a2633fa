package mcp

// Every type with a field Extra implements json.Marshaler and json.Unmarshaler by [Marshal] and
// [Unmarshal], so that encoding/json gives the same result.

func (v EmptyParams) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v ListParams) MarshalJSON() ([]byte, error)  { return Marshal(v) }
func (v EmptyResult) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v Icon) MarshalJSON() ([]byte, error)        { return Marshal(v) }
func (v Annotations) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v Object) MarshalJSON() ([]byte, error)      { return Marshal(v) }

func (v Implementation) MarshalJSON() ([]byte, error)        { return Marshal(v) }
func (v InitializeParams) MarshalJSON() ([]byte, error)      { return Marshal(v) }
func (v InitializeResult) MarshalJSON() ([]byte, error)      { return Marshal(v) }
func (v DiscoverResult) MarshalJSON() ([]byte, error)        { return Marshal(v) }
func (v ClientCapabilities) MarshalJSON() ([]byte, error)    { return Marshal(v) }
func (v RootsCapability) MarshalJSON() ([]byte, error)       { return Marshal(v) }
func (v SamplingCapability) MarshalJSON() ([]byte, error)    { return Marshal(v) }
func (v ElicitationCapability) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v ServerCapabilities) MarshalJSON() ([]byte, error)    { return Marshal(v) }
func (v ListCapability) MarshalJSON() ([]byte, error)        { return Marshal(v) }
func (v ResourcesCapability) MarshalJSON() ([]byte, error)   { return Marshal(v) }
func (v TasksCapability) MarshalJSON() ([]byte, error)       { return Marshal(v) }
func (v TaskRequests) MarshalJSON() ([]byte, error)          { return Marshal(v) }
func (v ToolTasks) MarshalJSON() ([]byte, error)             { return Marshal(v) }
func (v SamplingTasks) MarshalJSON() ([]byte, error)         { return Marshal(v) }
func (v ElicitationTasks) MarshalJSON() ([]byte, error)      { return Marshal(v) }

func (v Tool) MarshalJSON() ([]byte, error)            { return Marshal(v) }
func (v ToolAnnotations) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v ToolExecution) MarshalJSON() ([]byte, error)   { return Marshal(v) }
func (v ListToolsResult) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v CallToolParams) MarshalJSON() ([]byte, error)  { return Marshal(v) }
func (v CallToolResult) MarshalJSON() ([]byte, error)  { return Marshal(v) }

func (v Resource) MarshalJSON() ([]byte, error)                    { return Marshal(v) }
func (v ResourceTemplate) MarshalJSON() ([]byte, error)            { return Marshal(v) }
func (v ResourceContents) MarshalJSON() ([]byte, error)            { return Marshal(v) }
func (v ListResourcesResult) MarshalJSON() ([]byte, error)         { return Marshal(v) }
func (v ListResourceTemplatesResult) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v ReadResourceParams) MarshalJSON() ([]byte, error)          { return Marshal(v) }
func (v ReadResourceResult) MarshalJSON() ([]byte, error)          { return Marshal(v) }
func (v SubscribeParams) MarshalJSON() ([]byte, error)             { return Marshal(v) }
func (v ResourceUpdatedParams) MarshalJSON() ([]byte, error)       { return Marshal(v) }

func (v SkillsSettings) MarshalJSON() ([]byte, error)      { return Marshal(v) }
func (v Skill) MarshalJSON() ([]byte, error)               { return Marshal(v) }
func (v SkillResource) MarshalJSON() ([]byte, error)       { return Marshal(v) }
func (v ListSkillsResult) MarshalJSON() ([]byte, error)    { return Marshal(v) }
func (v GetSkillParams) MarshalJSON() ([]byte, error)      { return Marshal(v) }
func (v GetSkillResult) MarshalJSON() ([]byte, error)      { return Marshal(v) }
func (v ReadDirectoryParams) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v ReadDirectoryResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v Prompt) MarshalJSON() ([]byte, error)            { return Marshal(v) }
func (v PromptArgument) MarshalJSON() ([]byte, error)    { return Marshal(v) }
func (v PromptMessage) MarshalJSON() ([]byte, error)     { return Marshal(v) }
func (v ListPromptsResult) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v GetPromptParams) MarshalJSON() ([]byte, error)   { return Marshal(v) }
func (v GetPromptResult) MarshalJSON() ([]byte, error)   { return Marshal(v) }

func (v TextContent) MarshalJSON() ([]byte, error)       { return Marshal(v) }
func (v ImageContent) MarshalJSON() ([]byte, error)      { return Marshal(v) }
func (v AudioContent) MarshalJSON() ([]byte, error)      { return Marshal(v) }
func (v ResourceLink) MarshalJSON() ([]byte, error)      { return Marshal(v) }
func (v EmbeddedResource) MarshalJSON() ([]byte, error)  { return Marshal(v) }
func (v ToolUseContent) MarshalJSON() ([]byte, error)    { return Marshal(v) }
func (v ToolResultContent) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v CompleteParams) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v CompleteResult) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v Completion) MarshalJSON() ([]byte, error)     { return Marshal(v) }

func (v SetLevelParams) MarshalJSON() ([]byte, error)       { return Marshal(v) }
func (v LoggingMessageParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v ProgressParams) MarshalJSON() ([]byte, error)  { return Marshal(v) }
func (v CancelledParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v CreateMessageParams) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v SamplingMessage) MarshalJSON() ([]byte, error)     { return Marshal(v) }
func (v ModelHint) MarshalJSON() ([]byte, error)           { return Marshal(v) }
func (v CreateMessageResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v ElicitParams) MarshalJSON() ([]byte, error)              { return Marshal(v) }
func (v ElicitResult) MarshalJSON() ([]byte, error)              { return Marshal(v) }
func (v ElicitationCompleteParams) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v ElicitSchema) MarshalJSON() ([]byte, error)              { return Marshal(v) }
func (v PrimitiveSchema) MarshalJSON() ([]byte, error)           { return Marshal(v) }
func (v EnumItems) MarshalJSON() ([]byte, error)                 { return Marshal(v) }
func (v EnumOption) MarshalJSON() ([]byte, error)                { return Marshal(v) }

func (v Root) MarshalJSON() ([]byte, error)            { return Marshal(v) }
func (v ListRootsResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v InputRequiredResult) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v InputRequest) MarshalJSON() ([]byte, error)        { return Marshal(v) }

func (v SubscriptionFilter) MarshalJSON() ([]byte, error)              { return Marshal(v) }
func (v ListenParams) MarshalJSON() ([]byte, error)                    { return Marshal(v) }
func (v SubscriptionsAcknowledgedParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v TaskParams) MarshalJSON() ([]byte, error)                   { return Marshal(v) }
func (v CreateTaskResult) MarshalJSON() ([]byte, error)             { return Marshal(v) }
func (v GetTaskResult) MarshalJSON() ([]byte, error)                { return Marshal(v) }
func (v UpdateTaskParams) MarshalJSON() ([]byte, error)             { return Marshal(v) }
func (v TaskNotificationParams) MarshalJSON() ([]byte, error)       { return Marshal(v) }
func (v CreateExperimentalTaskResult) MarshalJSON() ([]byte, error) { return Marshal(v) }
func (v ExperimentalTaskResult) MarshalJSON() ([]byte, error)       { return Marshal(v) }
func (v ListExperimentalTasksResult) MarshalJSON() ([]byte, error)  { return Marshal(v) }
func (v ExperimentalTaskStatusParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v *EmptyParams) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *ListParams) UnmarshalJSON(data []byte) error  { return Unmarshal(data, v) }
func (v *EmptyResult) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *Icon) UnmarshalJSON(data []byte) error        { return Unmarshal(data, v) }
func (v *Annotations) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *Object) UnmarshalJSON(data []byte) error      { return Unmarshal(data, v) }

func (v *Implementation) UnmarshalJSON(data []byte) error        { return Unmarshal(data, v) }
func (v *InitializeParams) UnmarshalJSON(data []byte) error      { return Unmarshal(data, v) }
func (v *InitializeResult) UnmarshalJSON(data []byte) error      { return Unmarshal(data, v) }
func (v *DiscoverResult) UnmarshalJSON(data []byte) error        { return Unmarshal(data, v) }
func (v *ClientCapabilities) UnmarshalJSON(data []byte) error    { return Unmarshal(data, v) }
func (v *RootsCapability) UnmarshalJSON(data []byte) error       { return Unmarshal(data, v) }
func (v *SamplingCapability) UnmarshalJSON(data []byte) error    { return Unmarshal(data, v) }
func (v *ElicitationCapability) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *ServerCapabilities) UnmarshalJSON(data []byte) error    { return Unmarshal(data, v) }
func (v *ListCapability) UnmarshalJSON(data []byte) error        { return Unmarshal(data, v) }
func (v *ResourcesCapability) UnmarshalJSON(data []byte) error   { return Unmarshal(data, v) }
func (v *TasksCapability) UnmarshalJSON(data []byte) error       { return Unmarshal(data, v) }
func (v *TaskRequests) UnmarshalJSON(data []byte) error          { return Unmarshal(data, v) }
func (v *ToolTasks) UnmarshalJSON(data []byte) error             { return Unmarshal(data, v) }
func (v *SamplingTasks) UnmarshalJSON(data []byte) error         { return Unmarshal(data, v) }
func (v *ElicitationTasks) UnmarshalJSON(data []byte) error      { return Unmarshal(data, v) }

func (v *Tool) UnmarshalJSON(data []byte) error            { return Unmarshal(data, v) }
func (v *ToolAnnotations) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *ToolExecution) UnmarshalJSON(data []byte) error   { return Unmarshal(data, v) }
func (v *ListToolsResult) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *CallToolParams) UnmarshalJSON(data []byte) error  { return Unmarshal(data, v) }
func (v *CallToolResult) UnmarshalJSON(data []byte) error  { return Unmarshal(data, v) }

func (v *Resource) UnmarshalJSON(data []byte) error                    { return Unmarshal(data, v) }
func (v *ResourceTemplate) UnmarshalJSON(data []byte) error            { return Unmarshal(data, v) }
func (v *ResourceContents) UnmarshalJSON(data []byte) error            { return Unmarshal(data, v) }
func (v *ListResourcesResult) UnmarshalJSON(data []byte) error         { return Unmarshal(data, v) }
func (v *ListResourceTemplatesResult) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *ReadResourceParams) UnmarshalJSON(data []byte) error          { return Unmarshal(data, v) }
func (v *ReadResourceResult) UnmarshalJSON(data []byte) error          { return Unmarshal(data, v) }
func (v *SubscribeParams) UnmarshalJSON(data []byte) error             { return Unmarshal(data, v) }
func (v *ResourceUpdatedParams) UnmarshalJSON(data []byte) error       { return Unmarshal(data, v) }

func (v *SkillsSettings) UnmarshalJSON(data []byte) error      { return Unmarshal(data, v) }
func (v *Skill) UnmarshalJSON(data []byte) error               { return Unmarshal(data, v) }
func (v *SkillResource) UnmarshalJSON(data []byte) error       { return Unmarshal(data, v) }
func (v *ListSkillsResult) UnmarshalJSON(data []byte) error    { return Unmarshal(data, v) }
func (v *GetSkillParams) UnmarshalJSON(data []byte) error      { return Unmarshal(data, v) }
func (v *GetSkillResult) UnmarshalJSON(data []byte) error      { return Unmarshal(data, v) }
func (v *ReadDirectoryParams) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *ReadDirectoryResult) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }

func (v *Prompt) UnmarshalJSON(data []byte) error            { return Unmarshal(data, v) }
func (v *PromptArgument) UnmarshalJSON(data []byte) error    { return Unmarshal(data, v) }
func (v *PromptMessage) UnmarshalJSON(data []byte) error     { return Unmarshal(data, v) }
func (v *ListPromptsResult) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *GetPromptParams) UnmarshalJSON(data []byte) error   { return Unmarshal(data, v) }
func (v *GetPromptResult) UnmarshalJSON(data []byte) error   { return Unmarshal(data, v) }

func (v *TextContent) UnmarshalJSON(data []byte) error       { return Unmarshal(data, v) }
func (v *ImageContent) UnmarshalJSON(data []byte) error      { return Unmarshal(data, v) }
func (v *AudioContent) UnmarshalJSON(data []byte) error      { return Unmarshal(data, v) }
func (v *ResourceLink) UnmarshalJSON(data []byte) error      { return Unmarshal(data, v) }
func (v *EmbeddedResource) UnmarshalJSON(data []byte) error  { return Unmarshal(data, v) }
func (v *ToolUseContent) UnmarshalJSON(data []byte) error    { return Unmarshal(data, v) }
func (v *ToolResultContent) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }

func (v *CompleteParams) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *CompleteResult) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *Completion) UnmarshalJSON(data []byte) error     { return Unmarshal(data, v) }

func (v *SetLevelParams) UnmarshalJSON(data []byte) error       { return Unmarshal(data, v) }
func (v *LoggingMessageParams) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }

func (v *ProgressParams) UnmarshalJSON(data []byte) error  { return Unmarshal(data, v) }
func (v *CancelledParams) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }

func (v *CreateMessageParams) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *SamplingMessage) UnmarshalJSON(data []byte) error     { return Unmarshal(data, v) }
func (v *ModelHint) UnmarshalJSON(data []byte) error           { return Unmarshal(data, v) }
func (v *CreateMessageResult) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }

func (v *ElicitParams) UnmarshalJSON(data []byte) error              { return Unmarshal(data, v) }
func (v *ElicitResult) UnmarshalJSON(data []byte) error              { return Unmarshal(data, v) }
func (v *ElicitationCompleteParams) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *ElicitSchema) UnmarshalJSON(data []byte) error              { return Unmarshal(data, v) }
func (v *PrimitiveSchema) UnmarshalJSON(data []byte) error           { return Unmarshal(data, v) }
func (v *EnumItems) UnmarshalJSON(data []byte) error                 { return Unmarshal(data, v) }
func (v *EnumOption) UnmarshalJSON(data []byte) error                { return Unmarshal(data, v) }

func (v *Root) UnmarshalJSON(data []byte) error            { return Unmarshal(data, v) }
func (v *ListRootsResult) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }

func (v *InputRequiredResult) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
func (v *InputRequest) UnmarshalJSON(data []byte) error        { return Unmarshal(data, v) }

func (v *SubscriptionFilter) UnmarshalJSON(data []byte) error {
	return Unmarshal(data, v)
}
func (v *ListenParams) UnmarshalJSON(data []byte) error {
	return Unmarshal(data, v)
}
func (v *SubscriptionsAcknowledgedParams) UnmarshalJSON(data []byte) error {
	return Unmarshal(data, v)
}

func (v *TaskParams) UnmarshalJSON(data []byte) error {
	return Unmarshal(data, v)
}
func (v *CreateTaskResult) UnmarshalJSON(data []byte) error {
	return Unmarshal(data, v)
}
func (v *GetTaskResult) UnmarshalJSON(data []byte) error {
	return Unmarshal(data, v)
}
func (v *UpdateTaskParams) UnmarshalJSON(data []byte) error {
	return Unmarshal(data, v)
}
func (v *TaskNotificationParams) UnmarshalJSON(data []byte) error {
	return Unmarshal(data, v)
}
func (v *CreateExperimentalTaskResult) UnmarshalJSON(data []byte) error {
	return Unmarshal(data, v)
}
func (v *ExperimentalTaskResult) UnmarshalJSON(data []byte) error {
	return Unmarshal(data, v)
}
func (v *ListExperimentalTasksResult) UnmarshalJSON(data []byte) error {
	return Unmarshal(data, v)
}
func (v *ExperimentalTaskStatusParams) UnmarshalJSON(data []byte) error {
	return Unmarshal(data, v)
}
