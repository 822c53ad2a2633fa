package mcp

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/elicitschema"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

func TestKeysMatchExactly(t *testing.T) {
	var p CallToolParams
	assert.NilError(t,
		Unmarshal([]byte(`{"NAME":"evil","name":"good","Arguments":{},"_Meta":{}}`), &p))
	assert.Equal(t, p.Name, "good")
	assert.Assert(t, p.Arguments == nil && p.Meta == nil)
	assert.Equal(t, len(p.Extra), 3)

	// The order does not matter, and neither do the characters that encoding/json takes for k and
	// s.
	p = CallToolParams{}
	assert.NilError(t,
		Unmarshal([]byte(`{"name":"good","Name":"evil","argumentſ":{"a":1},"ta\u212ak":{}}`), &p))
	assert.Equal(t, p.Name, "good")
	assert.Assert(t, p.Arguments == nil && p.Task == nil)

	// Also in nested objects, where there is no Extra.
	var c CompleteParams
	assert.NilError(t,
		Unmarshal([]byte(
			`{"ref":{"type":"ref/prompt","NAME":"x"},"argument":{"Name":"a","name":"b","value":""}}`),
			&c))
	assert.Equal(t, c.Ref.Name, "")
	assert.Equal(t, c.Argument.Name, "b")

	// An escaped key is equal to the unescaped one.
	assert.NilError(t, Unmarshal([]byte(`{"n\u0061me":"escaped"}`), &p))
	assert.Equal(t, p.Name, "escaped")
}

// Servers whose numbers are floating-point numbers write 60000.0 for 60000.
func TestIntegersInOtherNotations(t *testing.T) {
	var list ListResourcesResult
	assert.NilError(t, Unmarshal([]byte(
		`{"resources":[{"uri":"a://b","name":"b","size":1.024e3}],"ttlMs":60000.0}`), &list))
	assert.Equal(t, *list.Resources[0].Size, int64(1024))
	assert.Equal(t, *list.TTLMs, int64(60000))
	assert.ErrorContains(t, Unmarshal([]byte(`{"resources":[],"ttlMs":0.5}`), &list),
		"ttlMs: 0.5 does not fit in int64")
}

// Null in place of a schema is no schema, and a tool without one is encoded as it was decoded.
func TestToolWithoutSchemas(t *testing.T) {
	for _, text := range []string{`{"name":"t"}`,
		`{"name":"t","inputSchema":null,"outputSchema":null}`} {
		var tool Tool
		assert.NilError(t, Unmarshal([]byte(text), &tool))
		assert.Assert(t, tool.InputSchema == nil && tool.OutputSchema == nil && tool.Extra == nil)
		again, err := Marshal(&tool)
		assert.NilError(t, err)
		assert.Equal(t, string(again), `{"name":"t"}`)
	}
}

func TestDuplicateKeys(t *testing.T) {
	for _, tc := range []struct {
		zero       any
		text, path string
	}{
		{CallToolParams{}, `{"name":"a","name":"a"}`, "name"},
		{CallToolParams{}, `{"name":"a","n\u0061me":"b"}`, "name"},
		{CallToolParams{}, `{"x":1,"x":2}`, "x"},
		{CallToolParams{}, `{"x":1,"name":"a","\u0078":2}`, "x"},
		{CallToolParams{}, `{"_meta":{"progressToken":1,"progressToken":2}}`,
			"_meta.progressToken"},
		{CallToolParams{},
			`{"_meta":{"io.modelcontextprotocol/logLevel":1,"io.modelcontextprotocol/logLevel":2}}`,
			`_meta["io.modelcontextprotocol/logLevel"]`},
		{GetPromptParams{}, `{"name":"p","arguments":{"a":"1","a":"2"}}`, "arguments.a"},
		{CompleteParams{}, `{"argument":{"name":"a","name":"b"}}`, "argument.name"},
		// unknown, and there is no Extra
		{CompleteParams{}, `{"argument":{"x":"a","x":"b"}}`, "argument.x"},
		{CallToolResult{},
			`{"content":[{"type":"text","text":""},{"type":"text","text":"","text":""}]}`,
			"content[1].text"},
		{CallToolResult{}, `{"content":[{"type":"text","text":"","type":"image"}]}`,
			"content[0].type"},
		{CallToolResult{}, `{"content":[{"type":"text","text":"","type":"text"}]}`,
			"content[0].type"},
		{TextContent{}, `{"type":"text","type":"text"}`, "type"},
		{ListToolsResult{},
			`{"tools":[{"name":"a"},{"name":"b","annotations":{"title":"","title":""}}]}`,
			"tools[1].annotations.title"},
		{elicitschema.Schema{}, `{"properties":{"a":{"type":"string"},"a":{"type":"string"}}}`,
			"properties.a"},
		{elicitschema.Schema{}, `{"properties":{"a":{"type":"string","enum":[],"enum":[]}}}`,
			"properties.a.enum"},
		{InputRequiredResult{}, `{"inputRequests":{"k":{"method":"a"},"k":{"method":"b"}}}`,
			"inputRequests.k"},
	} {
		err := Unmarshal([]byte(tc.text), reflect.New(reflect.TypeOf(tc.zero)).Interface())
		var de *jsonexact.DecodeError
		assert.Assert(t, errors.Is(err, ErrDuplicateKey) &&
			errors.As(err, &de), "%s: %v", tc.text, err)
		assert.Equal(t, de.Path, tc.path)
	}

	// Values that the types do not describe are not checked.
	var p CallToolParams
	assert.NilError(t,
		Unmarshal([]byte(`{"name":"a","arguments":{"x":1,"x":2},"future":{"y":1,"y":2}}`), &p))
	assert.Equal(t, string(p.Arguments), `{"x":1,"x":2}`)
	assert.Equal(t, string(p.Extra["future"]), `{"y":1,"y":2}`)
}

func TestDecodeErrors(t *testing.T) {
	long := strings.Repeat("k", 1000)
	for _, tc := range []struct {
		zero       any
		text, want string
	}{
		{CallToolParams{}, ``, "not JSON: a value is missing (at byte 0)"},
		{CallToolParams{}, `[]`, "want an object, not an array (at byte 0)"},
		{CallToolParams{}, `{"name":1}`, "name: want a string, not a number (at byte 8)"},
		{CallToolParams{}, `{"name":"a"} x`, "not JSON: text after the value (at byte 13)"},
		{CallToolParams{}, `{"name":tru}`, "name: not JSON: expected true (at byte 8)"},
		{CallToolParams{}, `{"name":"a",}`,
			"not JSON: expected a member name in quotation marks (at byte 12)"},
		{CallToolParams{}, `{"task":{"ttl":1.5}}`,
			"task.ttl: 1.5 does not fit in int64 (at byte 15)"},
		{CallToolParams{}, `{"_meta":[]}`, "_meta: want an object, not an array (at byte 9)"},
		{ListToolsResult{}, `{"tools":{}}`, "tools: want an array, not an object (at byte 9)"},
		{ListToolsResult{}, `{"tools":[null]}`, "tools[0]: want an object, not null (at byte 10)"},
		{ListToolsResult{}, `{"tools":[{"annotations":{"readOnlyHint":"yes"}}]}`,
			"tools[0].annotations.readOnlyHint: want a boolean, not a string (at byte 41)"},
		{CallToolResult{}, `{"content":[null]}`,
			"content[0]: want an object, not null (at byte 12)"},
		{CallToolResult{}, `{"content":["text"]}`,
			"content[0]: want an object, not a string (at byte 12)"},
		{CallToolResult{}, `{"content":[{"text":"x"}]}`,
			"content[0].type: a required value is missing (at byte 12)"},
		{CallToolResult{}, `{"content":[{"type":7}]}`,
			"content[0].type: want a string, not a number (at byte 20)"},
		{CallToolResult{}, `{"content":[{"type":"text","text":null,"type":"x"}]}`,
			"content[0].type: the key occurs twice (at byte 46)"},
		{CallToolResult{}, `{"content":[{"type":"image","data":"%%"}]}`,
			"content[0].data: want standard base64: illegal base64 data at input byte 0 (at byte 35)"},
		{CallToolResult{}, `{"content":[{"type":"new","x":nul}]}`,
			"content[0]: not JSON: expected null (at byte 30)"},
		{TextContent{}, `{"type":"image"}`, `type: want "text", not "image" (at byte 8)`},
		{SamplingMessage{}, `{"content":null}`, "content: want an object, not null (at byte 11)"},
		{ProgressParams{}, `{"progressToken":{}}`,
			"progressToken: want a string or a number (at byte 17)"},
		{ProgressParams{}, `{"progress":1e999}`,
			"progress: 1e999 does not fit in float64 (at byte 12)"},
		{cancelledParams{}, `{"requestId":[1]}`,
			"requestId: an id must be a string or a number (code -32600) (at byte 13)"},
		{GetPromptParams{}, `{"arguments":{"` + long + `":1}}`, "arguments." + long[:64] +
			"…: want a string, not a number (at byte 1017)"},
		{GetPromptParams{}, `{"arguments":{"a\n b":1}}`,
			`arguments["a\n b"]: want a string, not a number (at byte 22)`},
	} {
		v := reflect.New(reflect.TypeOf(tc.zero))
		assert.Error(t, Unmarshal([]byte(tc.text), v.Interface()), tc.want)
	}
	for _, v := range []any{nil, CallToolParams{}, (*CallToolParams)(nil)} {
		assert.ErrorContains(t, Unmarshal([]byte(`{}`), v), "must be a non-nil pointer")
	}
}

func TestContentBlocks(t *testing.T) {
	var r CallToolResult
	text := `{"content":[
		{"type":"text","text":"a\u00e9\ud83d\ude00\n\/"},
		{"mimeType":"image/png","data":"\/\/8=","type":"image"},
		{"type":"audio","data":"","mimeType":""},
		{"type":"resource_link","uri":"u","name":"n","size":3},
		{"type":"resource","resource":{"uri":"u","blob":""}},
		{"type":"resource","resource":{"uri":"u","text":""}},
		{"type":"tool_use","id":"1","name":"t","input":{ "a" : 1 }},
		{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"x"}],"structuredContent":null},
		{"type":"video","url":"u","nested":{"type":"text"}}
	],"structuredContent":[1, 2]}`
	data := []byte(text)
	assert.NilError(t, Unmarshal(data, &r))
	for i := range data {
		data[i] = '#' // the result must not care
	}
	assert.DeepEqual(t, r, CallToolResult{
		StructuredContent: json.RawMessage("[1, 2]"),
		Content: []Content{
			&TextContent{Text: "aé😀\n/"},
			&ImageContent{Data: []byte{0xff, 0xff}, MIMEType: "image/png"},
			&AudioContent{Data: []byte{}},
			&ResourceLink{Resource{URI: "u", Name: "n", Size: new(int64(3))}},
			&EmbeddedResource{Resource: ResourceContents{URI: "u", Blob: []byte{}}},
			&EmbeddedResource{Resource: ResourceContents{URI: "u"}},
			&ToolUseContent{ID: "1", Name: "t", Input: json.RawMessage(`{ "a" : 1 }`)},
			&ToolResultContent{ToolUseID: "1", Content: []Content{&TextContent{Text: "x"}},
				StructuredContent: json.RawMessage("null")},
			&UnknownContent{Kind: "video",
				Raw: json.RawMessage(`{"type":"video","url":"u","nested":{"type":"text"}}`)},
		},
	})
	for _, c := range r.Content {
		assert.Assert(t, strings.Contains(text, `"type":"`+c.blockType()+`"`))
	}
}

func TestNull(t *testing.T) {
	r := ListToolsResult{Tools: []*Tool{{}}, NextCursor: "kept"}
	assert.NilError(t,
		Unmarshal([]byte(`{"_meta":null,"tools":null,"nextCursor":null,"ttlMs":null}`), &r))
	assert.Assert(t, r.Tools == nil && r.Meta == nil && r.TTLMs == nil)
	assert.Equal(t, r.NextCursor, "kept") // as encoding/json has it
	p := ProgressParams{}
	assert.NilError(t, Unmarshal([]byte(`{"progressToken":null,"progress":null}`), &p))
	assert.Assert(t, p.ProgressToken.IsZero())
}

func TestNestingIsBounded(t *testing.T) {
	nest := func(open, inner, close string, n int) []byte {
		return []byte(strings.Repeat(open, n) + inner + strings.Repeat(close, n))
	}
	var raw json.RawMessage
	assert.NilError(t, Unmarshal(nest("[", "", "]", jsonscan.MaxDepth), &raw))
	assert.ErrorContains(t, Unmarshal(nest("[", "", "]", jsonscan.MaxDepth+1), &raw),
		"nested too deeply")
	assert.ErrorContains(t, Unmarshal(nest(`{"a":`, "1", "}", jsonscan.MaxDepth+1), &raw),
		"nested too deeply")
	// Each level of content nests two. Only the first is followed, or the last "type" would be
	// looked for as often as there are levels.
	var c ToolResultContent
	err := Unmarshal(
		nest(`{"content":[`, "", `],"type":"tool_result","toolUseId":""}`, jsonscan.MaxDepth), &c)
	assert.Assert(t, strings.Contains(err.Error(), "nested too deeply"), "%.200s", err)
	assert.NilError(t,
		Unmarshal(nest(`{"content":[`, "", `],"type":"tool_result","toolUseId":""}`,
			jsonscan.MaxDepth/2), &c))
	assert.Equal(t, c.Content[0].(*UnknownContent).Kind, "tool_result")
	// A million nested values need no more stack.
	for _, open := range []string{"[", `{"a":`, `{"type":"tool_result","content":[`} {
		assert.Assert(t, Unmarshal(nest(open, "", "", 1<<20), &c) != nil)
		assert.Assert(t, Unmarshal(nest(open, "", "", 1<<20), &raw) != nil)
	}
}

// FuzzMessages checks that each message that can be decoded can be encoded, and stays the same.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":""},{"type":"tool_result","toolUseId":"","content":[{"type":"x"}]}],"isError":true}`))
	f.Add([]byte(`{"tools":[{"name":"t","inputSchema":{},"annotations":{"readOnlyHint":false},"x":1}],"ttlMs":0,"_meta":{"a":1}}`))
	f.Add([]byte(`{"role":"user","content":[{"type":"resource","resource":{"uri":"","blob":""}}],"model":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{new(CallToolResult), new(ListToolsResult), new(CreateMessageResult),
			new(InitializeParams), new(elicitschema.Schema)} {
			if Unmarshal(data, v) != nil {
				continue
			}
			text, err := Marshal(v)
			assert.NilError(t, err)
			again := reflect.New(reflect.TypeOf(v).Elem()).Interface()
			assert.NilError(t, Unmarshal(text, again))
			second, err := Marshal(again)
			assert.NilError(t, err)
			assert.Equal(t, string(second), string(text))
		}
	})
}
