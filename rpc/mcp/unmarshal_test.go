package mcp

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestKeysMatchExactly(t *testing.T) {
	var p CallToolParams
	assert.NilError(t, Unmarshal([]byte(`{"NAME":"evil","name":"good","Arguments":{},"_Meta":{}}`), &p))
	assert.Equal(t, p.Name, "good")
	assert.Assert(t, p.Arguments == nil && p.Meta == nil)
	assert.Equal(t, len(p.Extra), 3)

	// The order does not matter, and neither do the letters that encoding/json takes for k and s.
	p = CallToolParams{}
	assert.NilError(t, Unmarshal([]byte(`{"name":"good","Name":"evil","argumentſ":{"a":1},"ta\u212ak":{}}`), &p))
	assert.Equal(t, p.Name, "good")
	assert.Assert(t, p.Arguments == nil && p.Task == nil)

	// Inside as well, where there is no Extra too.
	var c CompleteParams
	assert.NilError(t, Unmarshal([]byte(`{"ref":{"type":"ref/prompt","NAME":"x"},"argument":{"Name":"a","name":"b","value":""}}`), &c))
	assert.Equal(t, c.Ref.Name, "")
	assert.Equal(t, c.Argument.Name, "b")

	// An escaped key is the key.
	assert.NilError(t, Unmarshal([]byte(`{"n\u0061me":"escaped"}`), &p))
	assert.Equal(t, p.Name, "escaped")
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
		{CallToolParams{}, `{"_meta":{"progressToken":1,"progressToken":2}}`, "_meta.progressToken"},
		{CallToolParams{}, `{"_meta":{"io.modelcontextprotocol/logLevel":1,"io.modelcontextprotocol/logLevel":2}}`, `_meta["io.modelcontextprotocol/logLevel"]`},
		{GetPromptParams{}, `{"name":"p","arguments":{"a":"1","a":"2"}}`, "arguments.a"},
		{CompleteParams{}, `{"argument":{"name":"a","name":"b"}}`, "argument.name"},
		{CompleteParams{}, `{"argument":{"x":"a","x":"b"}}`, "argument.x"}, // unknown, and there is no Extra
		{CallToolResult{}, `{"content":[{"type":"text","text":""},{"type":"text","text":"","text":""}]}`, "content[1].text"},
		{CallToolResult{}, `{"content":[{"type":"text","text":"","type":"image"}]}`, "content[0].type"},
		{CallToolResult{}, `{"content":[{"type":"text","text":"","type":"text"}]}`, "content[0].type"},
		{TextContent{}, `{"type":"text","type":"text"}`, "type"},
		{ListToolsResult{}, `{"tools":[{"name":"a"},{"name":"b","annotations":{"title":"","title":""}}]}`, "tools[1].annotations.title"},
		{ElicitSchema{}, `{"properties":{"a":{"type":"string"},"a":{"type":"string"}}}`, "properties.a"},
		{ElicitSchema{}, `{"properties":{"a":{"type":"string","enum":[],"enum":[]}}}`, "properties.a.enum"},
		{InputRequiredResult{}, `{"inputRequests":{"k":{"method":"a"},"k":{"method":"b"}}}`, "inputRequests.k"},
	} {
		err := Unmarshal([]byte(tc.text), reflect.New(reflect.TypeOf(tc.zero)).Interface())
		var de *DecodeError
		assert.Assert(t, errors.Is(err, ErrDuplicateKey) && errors.As(err, &de), "%s: %v", tc.text, err)
		assert.Equal(t, de.Path, tc.path)
	}

	// What the types do not describe is nobody's business here.
	var p CallToolParams
	assert.NilError(t, Unmarshal([]byte(`{"name":"a","arguments":{"x":1,"x":2},"future":{"y":1,"y":2}}`), &p))
	assert.Equal(t, string(p.Arguments), `{"x":1,"x":2}`)
	assert.Equal(t, string(p.Extra["future"]), `{"y":1,"y":2}`)
}

func TestDecodeErrors(t *testing.T) {
	long := strings.Repeat("k", 1000)
	for _, tc := range []struct {
		zero       any
		text, want string
	}{
		{CallToolParams{}, ``, "not JSON: want a value (at byte 0)"},
		{CallToolParams{}, `[]`, "want an object, not an array (at byte 0)"},
		{CallToolParams{}, `{"name":1}`, "name: want a string, not a number (at byte 8)"},
		{CallToolParams{}, `{"name":"a"} x`, "not JSON: want the end of the text (at byte 13)"},
		{CallToolParams{}, `{"name":tru}`, "name: not JSON: want true (at byte 8)"},
		{CallToolParams{}, `{"name":"a",}`, "not JSON: want a member's name (at byte 12)"},
		{CallToolParams{}, `{"task":{"ttl":1.5}}`, "task.ttl: 1.5 does not fit in int64 (at byte 15)"},
		{CallToolParams{}, `{"_meta":[]}`, "_meta: want an object, not an array (at byte 9)"},
		{ListToolsResult{}, `{"tools":{}}`, "tools: want an array, not an object (at byte 9)"},
		{ListToolsResult{}, `{"tools":[null]}`, "tools[0]: want an object, not null (at byte 10)"},
		{ListToolsResult{}, `{"tools":[{"annotations":{"readOnlyHint":"yes"}}]}`, "tools[0].annotations.readOnlyHint: want a boolean, not a string (at byte 41)"},
		{CallToolResult{}, `{"content":[null]}`, "content[0]: want a content block, not null (at byte 12)"},
		{CallToolResult{}, `{"content":["text"]}`, "content[0]: want a content block, not a string (at byte 12)"},
		{CallToolResult{}, `{"content":[{"text":"x"}]}`, "content[0].type: a required value is missing (at byte 12)"},
		{CallToolResult{}, `{"content":[{"type":7}]}`, "content[0].type: want a string, not a number (at byte 20)"},
		{CallToolResult{}, `{"content":[{"type":"text","text":null,"type":"x"}]}`, "content[0].type: the key occurs twice (at byte 46)"},
		{CallToolResult{}, `{"content":[{"type":"image","data":"%%"}]}`, "content[0].data: want standard base64: illegal base64 data at input byte 0 (at byte 35)"},
		{CallToolResult{}, `{"content":[{"type":"new","x":nul}]}`, "content[0]: not JSON: want null (at byte 30)"},
		{TextContent{}, `{"type":"image"}`, `type: want "text", not "image" (at byte 8)`},
		{SamplingMessage{}, `{"content":null}`, "content: want a content block, not null (at byte 11)"},
		{ProgressParams{}, `{"progressToken":{}}`, "progressToken: want a string or a number (at byte 17)"},
		{ProgressParams{}, `{"progress":1e999}`, "progress: 1e999 does not fit in float64 (at byte 12)"},
		{CancelledParams{}, `{"requestId":[1]}`, "requestId: want a string or a number (at byte 13)"},
		{GetPromptParams{}, `{"arguments":{"` + long + `":1}}`, "arguments." + long[:64] + "…: want a string, not a number (at byte 1017)"},
		{GetPromptParams{}, `{"arguments":{"a\n b":1}}`, `arguments["a\n b"]: want a string, not a number (at byte 22)`},
	} {
		v := reflect.New(reflect.TypeOf(tc.zero))
		assert.Error(t, Unmarshal([]byte(tc.text), v.Interface()), tc.want)
	}
	for _, v := range []any{nil, CallToolParams{}, (*CallToolParams)(nil)} {
		assert.ErrorContains(t, Unmarshal([]byte(`{}`), v), "wants a non-nil pointer")
	}
}

func TestContentBlocks(t *testing.T) {
	var r CallToolResult
	text := `{"content":[
		{"type":"text","text":"a\u00e9\ud83d\ude00\ud800\n\/"},
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
			&TextContent{Text: "aé😀\uFFFD\n/"},
			&ImageContent{Data: []byte{0xff, 0xff}, MIMEType: "image/png"},
			&AudioContent{Data: []byte{}},
			&ResourceLink{Resource{URI: "u", Name: "n", Size: new(int64(3))}},
			&EmbeddedResource{Resource: ResourceContents{URI: "u", Blob: []byte{}}},
			&EmbeddedResource{Resource: ResourceContents{URI: "u"}},
			&ToolUseContent{ID: "1", Name: "t", Input: json.RawMessage(`{ "a" : 1 }`)},
			&ToolResultContent{ToolUseID: "1", Content: []Content{&TextContent{Text: "x"}}, StructuredContent: json.RawMessage("null")},
			&UnknownContent{Kind: "video", Raw: json.RawMessage(`{"type":"video","url":"u","nested":{"type":"text"}}`)},
		},
	})
	for _, c := range r.Content {
		assert.Assert(t, strings.Contains(text, `"type":"`+c.Type()+`"`))
	}
}

func TestNull(t *testing.T) {
	r := ListToolsResult{Tools: []*Tool{{}}, NextCursor: "kept"}
	assert.NilError(t, Unmarshal([]byte(`{"_meta":null,"tools":null,"nextCursor":null,"ttlMs":null}`), &r))
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
	assert.NilError(t, Unmarshal(nest("[", "", "]", maxDepth), &raw))
	assert.ErrorContains(t, Unmarshal(nest("[", "", "]", maxDepth+1), &raw), "nested too deeply")
	assert.ErrorContains(t, Unmarshal(nest(`{"a":`, "1", "}", maxDepth+1), &raw), "nested too deeply")
	// Each level of content nests two. Only the first is followed, or the last "type" would be looked for as often as there are levels.
	var c ToolResultContent
	err := Unmarshal(nest(`{"content":[`, "", `],"type":"tool_result","toolUseId":""}`, maxDepth), &c)
	assert.Assert(t, errors.Is(err, errDepth), "%.200s", err)
	assert.NilError(t, Unmarshal(nest(`{"content":[`, "", `],"type":"tool_result","toolUseId":""}`, maxDepth/2), &c))
	assert.Equal(t, c.Content[0].(*UnknownContent).Kind, "tool_result")
	// A million of anything costs no more stack.
	for _, open := range []string{"[", `{"a":`, `{"type":"tool_result","content":[`} {
		assert.Assert(t, Unmarshal(nest(open, "", "", 1<<20), &c) != nil)
		assert.Assert(t, Unmarshal(nest(open, "", "", 1<<20), &raw) != nil)
	}
}

// TestSyntax wants the scanner and encoding/json to agree about what JSON is.
func TestSyntax(t *testing.T) {
	texts := []string{
		"", " ", "nul", "nulll", "true", "tru", "false", "fals", "{}", "{", "}", "[", "]", "[]", "[,]", "[1,]", "[1 2]", "[1,2]", `{"a"}`, `{"a":}`,
		`{"a":1,}`, `{"a":1 "b":2}`, `{a:1}`, `{1:1}`, `{"a":1}`, "0", "-0", "01", "-", "+1", "1.", ".5", "1.5", "1e", "1e+", "1e+5", "1E-5", "0e0", "1.5.5", "--1",
		`"`, `"a`, `"\"`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\uABCD"`, "\"\x01\"", "\"\x7f\"", "\"\xff\"", "\"\n\"", `"\b\f\n\r\t\/\\\""`, "\ufeff1", "1 1", "[1]]", "\v1", "NaN",
		"\t\r\n 1 \t\r\n", `{"a":[{"b":[]}]}`, `"\ud800"`, `"\udc00\ud800"`,
	}
	for _, text := range texts {
		var raw json.RawMessage
		err := Unmarshal([]byte(text), &raw)
		assert.Equal(t, err == nil, json.Valid([]byte(text)), "%q: %v", text, err)
		var s, want string
		if json.Unmarshal([]byte(text), &want) == nil {
			assert.NilError(t, Unmarshal([]byte(text), &s))
			assert.Equal(t, s, want, "%q", text)
			var back string
			assert.NilError(t, json.Unmarshal(appendString(nil, s), &back))
			assert.Equal(t, back, s)
		}
	}
}

func TestTypesThatCannotBeHandled(t *testing.T) {
	type inner struct{ A int }
	for want, v := range map[string]any{
		`unknown JSON option "string"`: &struct {
			A int `json:"a,string"`
		}{},
		"only structs can be embedded": &struct{ *inner }{},
		`two fields for the JSON name "A"`: &struct {
			inner
			B int `json:"A"`
		}{},
		"more than 64 fields": reflect.New(reflect.StructOf(manyFields(65))).Interface(),
	} {
		assert.ErrorContains(t, Unmarshal([]byte("{}"), v), want)
		_, err := Marshal(v)
		assert.ErrorContains(t, err, want)
	}
	assert.NilError(t, Unmarshal([]byte("{}"), reflect.New(reflect.StructOf(manyFields(64))).Interface()))
}

func manyFields(n int) []reflect.StructField {
	fields := make([]reflect.StructField, n)
	for i := range fields {
		fields[i] = reflect.StructField{Name: "F" + strings.Repeat("x", i), Type: reflect.TypeFor[int]()}
	}
	return fields
}

// all has one of each kind of field that the package knows, and no methods, so that encoding/json can be asked about it.
type all struct {
	embedded
	String  string                     `json:"s"`
	Bool    bool                       `json:"b,omitempty"`
	Int     int64                      `json:"i,omitempty"`
	Small   int8                       `json:"i8,omitempty"`
	Uint    uint16                     `json:"u,omitempty"`
	Float   float64                    `json:"f,omitempty"`
	Single  float32                    `json:"f32,omitempty"`
	Raw     json.RawMessage            `json:"raw,omitempty"`
	Bytes   []byte                     `json:"bytes,omitzero"`
	List    []string                   `json:"list"`
	Structs []embedded                 `json:"structs,omitempty"`
	Map     map[string]string          `json:"map,omitempty"`
	Raws    map[string]json.RawMessage `json:"raws"`
	Pointer *all                       `json:"p,omitempty"`
	Number  *float64                   `json:"n,omitempty"`
	Any     any                        `json:"any,omitempty"`
	Token   ProgressToken              `json:"token,omitzero"`
	Array   [2]int                     `json:"array,omitzero"`
	hidden  int
}

type embedded struct {
	E string `json:"e,omitempty"`
	X []int  `json:"x,omitempty"`
}

var allNames = []string{"s", "b", "i", "i8", "u", "f", "f32", "raw", "bytes", "list", "structs", "map", "raws", "p", "n", "any", "token", "array", "e", "x"}

// exactAndUnique reports whether no key in data occurs twice in its object or is a field's name but for its case.
func exactAndUnique(data []byte) bool {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber()
	var value func() bool
	value = func() bool {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'):
			seen := map[string]bool{}
			for dec.More() {
				key, err := dec.Token()
				if err != nil || seen[key.(string)] {
					return false
				}
				seen[key.(string)] = true
				for _, name := range allNames {
					if strings.EqualFold(name, key.(string)) && name != key {
						return false
					}
				}
				if !value() {
					return false
				}
			}
			_, err = dec.Token()
		case json.Delim('['):
			for dec.More() {
				if !value() {
					return false
				}
			}
			_, err = dec.Token()
		}
		return err == nil
	}
	return value()
}

// FuzzUnmarshal wants Unmarshal and encoding/json to agree wherever keys are exact and unique, and Marshal to undo it.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{
		`{"s":"a\u00e9\ud83d\ude00","b":true,"i":-12,"i8":127,"u":65535,"f":1e-7,"f32":3.5,"raw":{"a":[1]},"bytes":"AAE=","list":["a",null]}`,
		`{"structs":[{"e":"x","x":[1,2]},null],"map":{"k":"v"},"raws":{"r":null},"p":{"s":"in","p":null},"n":1.5,"any":{"a":[1,"x",null]}}`,
		`{"token":"t","array":[1,2,3],"e":"outer","x":[],"unknown":1,"hidden":3,"E":1,"s":"","s":""}`,
		`{"token":9007199254740993,"i8":128}`, `{"u":-1}`, `{"bytes":"A"}`, "{\"s\":\"\xff\"}", `null`, `[]`, ` {} `, `{"s":null,"b":null,"array":null,"token":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want all
		gotErr, wantErr := Unmarshal(data, &got), json.Unmarshal(data, &want)
		if exactAndUnique(data) && !errors.Is(gotErr, errDepth) {
			assert.Equal(t, gotErr == nil, wantErr == nil, "got %v, want %v", gotErr, wantErr)
			assert.Assert(t, gotErr != nil || reflect.DeepEqual(got, want), "got %+v, want %+v", got, want)
		}
		if gotErr != nil {
			return
		}
		text, err := Marshal(got)
		assert.NilError(t, err)
		assert.Assert(t, json.Valid(text), "%s", text)
		var again all
		assert.NilError(t, Unmarshal(text, &again))
		second, err := Marshal(again)
		assert.NilError(t, err)
		assert.Equal(t, string(second), string(text))
	})
}

// FuzzMessages wants that nothing that decodes as a message fails to encode, and that it comes back the same.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":""},{"type":"tool_result","toolUseId":"","content":[{"type":"x"}]}],"isError":true}`))
	f.Add([]byte(`{"tools":[{"name":"t","inputSchema":{},"annotations":{"readOnlyHint":false},"x":1}],"ttlMs":0,"_meta":{"a":1}}`))
	f.Add([]byte(`{"role":"user","content":[{"type":"resource","resource":{"uri":"","blob":""}}],"model":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{new(CallToolResult), new(ListToolsResult), new(CreateMessageResult), new(InitializeParams), new(ElicitSchema)} {
			if Unmarshal(data, v) != nil {
				continue
			}
			text, err := Marshal(v)
			if errors.Is(err, errMissing) {
				continue // a tool without a schema
			}
			assert.NilError(t, err)
			again := reflect.New(reflect.TypeOf(v).Elem()).Interface()
			assert.NilError(t, Unmarshal(text, again))
			second, err := Marshal(again)
			assert.NilError(t, err)
			assert.Equal(t, string(second), string(text))
		}
	})
}
