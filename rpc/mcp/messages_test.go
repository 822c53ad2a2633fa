package mcp

import (
	"encoding/json"
	"log/slog"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/elicitschema"
)

// TestMessagesOfAllRevisions decodes and encodes messages that the examples of the newest revision
// do not have.
func TestMessagesOfAllRevisions(t *testing.T) {
	for name, tc := range map[string]struct {
		zero any
		text string
	}{
		"2024-11-05 initialize": {InitializeParams{},
			`{"protocolVersion":"2024-11-05","capabilities":{"roots":{"listChanged":true},"sampling":{},"experimental":{"x":{"y":1}}},"clientInfo":{"name":"c","version":"1"}}`},
		"2024-11-05 initialized result": {InitializeResult{},
			`{"protocolVersion":"2024-11-05","capabilities":{"logging":{},"prompts":{},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"},"instructions":"i"}`},
		"2024-11-05 tool result": {CallToolResult{},
			`{"content":[{"type":"text","text":"","annotations":{"audience":["user"],"priority":0}},{"type":"resource","resource":{"uri":"u","blob":"AA=="}}],"isError":true}`},
		"2024-11-05 sampling": {CreateMessageParams{},
			`{"messages":[{"role":"user","content":{"type":"image","data":"","mimeType":"image/png"}}],"modelPreferences":{"hints":[{}],"costPriority":0},"includeContext":"thisServer","temperature":0,"maxTokens":1,"stopSequences":["x"],"metadata":{"a":1}}`},
		"2024-11-05 sampling result": {CreateMessageResult{},
			`{"role":"assistant","content":{"type":"text","text":"t"},"model":"m","stopReason":"odd"}`},
		"2024-11-05 cancelled": {cancelledParams{}, `{"requestId":"\u0061","reason":"r"}`},
		"2024-11-05 set level": {SetLevelParams{}, `{"level":"notice"}`},
		"2024-11-05 subscribe": {ResourceParams{}, `{"uri":"file:///x"}`},
		"2024-11-05 complete": {CompleteParams{},
			`{"ref":{"type":"ref/resource","uri":"file:///{x}"},"argument":{"name":"x","value":""}}`},
		"2024-11-05 ping": {Params{},
			`{"_meta":{"progressToken":12345678901234567890}}`},
		"2025-03-26 progress": {ProgressParams{},
			`{"progressToken":0,"progress":0.5,"total":0,"message":"m"}`},
		"2025-03-26 tools": {ListToolsResult{},
			`{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"},"annotations":{"title":"T","readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}],"nextCursor":"c"}`},
		"2025-03-26 audio": {GetPromptResult{},
			`{"description":"d","messages":[{"role":"user","content":{"type":"audio","data":"AAA=","mimeType":"audio/wav"}}]}`},
		"2025-06-18 structured": {CallToolResult{},
			`{"content":[{"type":"resource_link","uri":"u","name":"n","title":"T","_meta":{"a.b/c":1}}],"structuredContent":{"big":12345678901234567890}}`},
		"2025-06-18 elicit": {ElicitParams{},
			`{"message":"m","requestedSchema":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"boolean","default":true}},"required":["b"]}}`},
		"2025-06-18 elicited": {ElicitResult{},
			`{"action":"accept","content":{"b":"x","n":1.5}}`},
		"2025-06-18 prompts": {ListPromptsResult{},
			`{"prompts":[{"name":"p","title":"P","arguments":[{"name":"a","title":"A","required":true}],"_meta":{}}]}`},
		"2025-11-25 implementation": {Implementation{},
			`{"name":"n","title":"t","version":"","description":"d","websiteUrl":"w","icons":[{"src":"data:","mimeType":"image/png","sizes":["any"],"theme":"dark"}]}`},
		"2025-11-25 client": {ClientCapabilities{},
			`{"elicitation":{"form":{},"url":{"x":1}},"sampling":{"context":{},"tools":{}},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{"y":1}}}}}`},
		"2025-11-25 server": {ServerCapabilities{},
			`{"completions":{},"tasks":{"requests":{"tools":{"call":{}}}},"own":true}`},
		"2025-11-25 url": {ElicitParams{},
			`{"mode":"url","message":"m","url":"https://x","elicitationId":"e","task":{"ttl":1}}`},
		"2025-11-25 url required": {URLElicitationRequiredData{},
			`{"elicitations":[{"mode":"url","message":"m","url":"u","elicitationId":"e"}]}`},
		"2025-11-25 url done": {elicitationCompleteParams, `{"elicitationId":"e"}`},
		"2025-11-25 sampling": {CreateMessageParams{},
			`{"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[],"isError":true},{"type":"text","text":""}],"_meta":{"k":1}}],"maxTokens":1,"toolChoice":{"mode":"none"},"tools":[{"name":"t","inputSchema":{},"execution":{"taskSupport":"required"}}]}`},
		"2025-11-25 call as a task": {CallToolParams{}, `{"name":"t","task":{}}`},
		"2025-11-25 task created": {CreateExperimentalTaskResult{},
			`{"task":{"taskId":"1","status":"working","createdAt":"c","lastUpdatedAt":"l","ttl":null,"pollInterval":5},"_meta":{"io.modelcontextprotocol/model-immediate-response":"wait"}}`},
		"2025-11-25 task": {ExperimentalTaskResult{},
			`{"taskId":"1","status":"failed","statusMessage":"m","createdAt":"c","lastUpdatedAt":"l","ttl":0,"new":1}`},
		"2025-11-25 tasks": {ListExperimentalTasksResult{},
			`{"tasks":[{"taskId":"1","status":"input_required","createdAt":"c","lastUpdatedAt":"l","ttl":1}],"nextCursor":"n"}`},
		"2025-11-25 task status": {taskStatusParams,
			`{"taskId":"1","status":"cancelled","createdAt":"c","lastUpdatedAt":"l","ttl":null}`},
		"2025-11-25 cancelled": {cancelledParams{}, `{"reason":"task"}`},
		"tasks extension: created": {TaskResult{},
			`{"resultType":"task","taskId":"1","status":"working","createdAt":"c","lastUpdatedAt":"l","ttlMs":null,"pollIntervalMs":0}`},
		"tasks extension: input": {TaskResult{},
			`{"resultType":"complete","taskId":"1","status":"input_required","createdAt":"c","lastUpdatedAt":"l","ttlMs":5,"inputRequests":{"k":{"method":"roots/list"}}}`},
		"tasks extension: completed": {TaskResult{},
			`{"resultType":"complete","taskId":"1","status":"completed","createdAt":"c","lastUpdatedAt":"l","ttlMs":5,"result":{"content":[]}}`},
		"tasks extension: failed": {taskNotificationParams,
			`{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"taskId":"1","status":"failed","createdAt":"c","lastUpdatedAt":"l","ttlMs":5,"error":{"code":-32603,"message":"m","data":null}}`},
		"tasks extension: update": {UpdateTaskParams{},
			`{"taskId":"1","inputResponses":{"k":{"roots":[]}}}`},
		"tasks extension: listen": {ListenParams{},
			`{"notifications":{"taskIds":["1"],"more":true}}`},
		"2026-07-28 retry": {CallToolParams{},
			`{"name":"t","arguments":{"b":1,"a":2},"inputResponses":{"k":{"action":"decline"}},"requestState":"s"}`},
		"2026-07-28 read": {ReadResourceResult{},
			`{"resultType":"complete","contents":[{"uri":"u","text":""},{"uri":"v","mimeType":"m","blob":"","_meta":{},"new":{}}],"ttlMs":0,"cacheScope":"private"}`},
		"2026-07-28 bare content": {CallToolResult{},
			`{"resultType":"complete","content":[{"type":"hologram","x":{"text":1}}],"structuredContent":null}`},
		"2026-07-28 choices": {elicitschema.Schema{}, `{"$schema":"s","type":"object","properties":{
			"name":{"type":"string","minLength":0,"maxLength":9,"format":"email","default":"x"},"n":{"type":"integer","minimum":0,"maximum":1.5,"default":0},
			"one":{"type":"string","enum":["a"],"enumNames":["A"]},"titled":{"type":"string","oneOf":[{"const":"a","title":""}]},
			"many":{"type":"array","minItems":0,"maxItems":2,"items":{"type":"string","enum":["a"]},"default":[]},"manyTitled":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"x":1}},"required":["name"]}`},
	} {
		t.Run(name, func(t *testing.T) { roundTrip(t, tc.zero, []byte(tc.text)) })
	}
}

func TestFormFieldsKeepTheirOrder(t *testing.T) {
	var s elicitschema.Schema
	text := `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"number"},"m":{"type":"boolean"}}}`
	assert.NilError(t, Unmarshal([]byte(text), &s))
	var names []string
	for _, p := range s.Properties {
		names = append(names, p.Name+" "+p.Schema.Type)
	}
	assert.DeepEqual(t, names, []string{"z string", "a number", "m boolean"})
	got, err := Marshal(s)
	assert.NilError(t, err)
	assert.Equal(t, string(got), text)
}

func TestSamplingContentIsOneOrMany(t *testing.T) {
	for text, want := range map[string]string{
		`{"role":"user","content":{"type":"text","text":"a"}}`:   `{"role":"user","content":{"type":"text","text":"a"}}`,
		`{"role":"user","content":[{"type":"text","text":"a"}]}`: `{"role":"user","content":{"type":"text","text":"a"}}`,
		`{"role":"user","content":[]}`:                           `{"role":"user","content":[]}`,
	} {
		var m SamplingMessage
		assert.NilError(t, Unmarshal([]byte(text), &m))
		got, err := Marshal(m)
		assert.NilError(t, err)
		assert.Equal(t, string(got), want)
		var c SamplingContent
		b, err := json.Marshal(m.Content)
		assert.NilError(t, err)
		assert.NilError(t, json.Unmarshal(b, &c))
		assert.DeepEqual(t, c, m.Content)
	}
}

func TestResultType(t *testing.T) {
	var r CallToolResult
	assert.NilError(t, Unmarshal([]byte(`{"content":[]}`), &r))
	assert.Equal(t, r.ResultType, ResultType(""))
	text := []byte(`{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m"}}}}`)
	assert.NilError(t, Unmarshal(text, &r))
	assert.Equal(t, r.ResultType, ResultInputRequired)
	var more InputRequiredResult
	assert.NilError(t, Unmarshal(text, &more))
	var p ElicitParams
	assert.NilError(t, Unmarshal(more.InputRequests["k"].Params, &p))
	assert.Equal(t, p.Message, "m")
}

func TestNewInputRequest(t *testing.T) {
	r, err := NewInputRequest(MethodElicit, ElicitParams{Message: "m"})
	assert.NilError(t, err)
	got, err := Marshal(r)
	assert.NilError(t, err)
	assert.Equal(t, string(got), `{"method":"elicitation/create","params":{"message":"m"}}`)
	r, err = NewInputRequest(MethodListRoots, nil)
	assert.NilError(t, err)
	got, err = Marshal(r)
	assert.NilError(t, err)
	assert.Equal(t, string(got), `{"method":"roots/list"}`)
	_, err = NewInputRequest(MethodElicit, PromptMessage{Content: (*TextContent)(nil)})
	assert.ErrorContains(t, err, "content")
}

func TestToolHints(t *testing.T) {
	yes, no := new(true), new(false)
	for _, tc := range []struct {
		a                                            *ToolAnnotations
		readOnly, destructive, idempotent, openWorld bool
	}{
		{nil, false, true, false, true},
		{&ToolAnnotations{}, false, true, false, true},
		{&ToolAnnotations{ReadOnlyHint: yes}, true, false, true, true},
		{&ToolAnnotations{ReadOnlyHint: yes, DestructiveHint: yes}, true, false, true, true},
		{&ToolAnnotations{ReadOnlyHint: no, DestructiveHint: no, IdempotentHint: yes,
			OpenWorldHint: no}, false, false, true, false},
	} {
		a := tc.a
		assert.DeepEqual(t, []bool{a.ReadOnly(), a.Destructive(), a.Idempotent(), a.OpenWorld()},
			[]bool{tc.readOnly, tc.destructive, tc.idempotent, tc.openWorld})
	}
}

func TestToolNames(t *testing.T) {
	tool := &Tool{Name: "n", Annotations: &ToolAnnotations{}}
	assert.Equal(t, tool.DisplayName(), "n")
	tool.Annotations.Title = "a"
	assert.Equal(t, tool.DisplayName(), "a")
	tool.Title = "t"
	assert.Equal(t, tool.DisplayName(), "t")
}

func TestElicitationModes(t *testing.T) {
	for text, want := range map[string][2]bool{
		`{}`:                                   {false, false},
		`{"elicitation":{}}`:                   {true, false},
		`{"elicitation":{"form":{}}}`:          {true, false},
		`{"elicitation":{"url":{}}}`:           {false, true},
		`{"elicitation":{"form":{},"url":{}}}`: {true, true},
	} {
		var c ClientCapabilities
		assert.NilError(t, Unmarshal([]byte(text), &c))
		assert.Equal(t, [2]bool{c.Elicitation.SupportsForm(), c.Elicitation.SupportsURL()}, want,
			text)
	}
}

func TestLoggingLevels(t *testing.T) {
	order := []LoggingLevel{LevelDebug, LevelInfo, LevelNotice, LevelWarning, LevelError,
		LevelCritical, LevelAlert, LevelEmergency}
	for i, a := range order {
		assert.Assert(t, a.Valid())
		assert.Equal(t, LoggingLevelOf(a.Slog()), a)
		for j, b := range order {
			assert.Equal(t, a.AtLeast(b), i >= j, "%s, %s", a, b)
		}
		assert.Assert(t, !a.AtLeast("") && !a.AtLeast("trace") && !LoggingLevel("trace").AtLeast(a))
	}
	assert.Assert(t, !LoggingLevel("").Valid() && !LoggingLevel("Debug").Valid())
	assert.Equal(t, LevelWarning.Slog(), slog.LevelWarn)
	assert.Equal(t, LoggingLevel("?").Slog(), slog.LevelInfo)
	assert.Equal(t, LoggingLevelOf(-100), LevelDebug)
	assert.Equal(t, LoggingLevelOf(3), LevelNotice)
	assert.Equal(t, LoggingLevelOf(slog.LevelError+1), LevelError)
	assert.Equal(t, LoggingLevelOf(100), LevelEmergency)
}

func TestTaskStatus(t *testing.T) {
	for s, terminal := range map[TaskStatus]bool{TaskWorking: false, TaskInputRequired: false,
		TaskCompleted: true, TaskFailed: true, TaskCancelled: true, "": false} {
		assert.Equal(t, s.Terminal(), terminal, string(s))
	}
}
