package mcp

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/elicitschema"
	"github.com/stdwire/stdwire/internal/jsonexact"
)

// types returns every struct type that is part of a message.
func types() []reflect.Type {
	found := map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(t.Elem())
		case reflect.Struct:
			if found[t] || t.PkgPath() != reflect.TypeFor[Tool]().PkgPath() &&
				t.PkgPath() != reflect.TypeFor[elicitschema.Schema]().PkgPath() {
				return
			}
			found[t] = true
			for i := range t.NumField() {
				if f := t.Field(i); !f.Anonymous && f.IsExported() {
					visit(f.Type)
				}
			}
		}
	}
	for _, list := range []map[string]any{definitions, paramsOf, errorData} {
		for _, v := range list {
			visit(reflect.TypeOf(v))
		}
	}
	for _, v := range others {
		visit(reflect.TypeOf(v))
	}
	return slices.SortedFunc(maps.Keys(found),
		func(a, b reflect.Type) int { return strings.Compare(a.Name(), b.Name()) })
}

// A jsonField is a member that a struct type describes.
type jsonField struct {
	name     string
	optional bool // it may be left out
	path     []int
}

// fieldsOf returns the members of a struct type, and the path of its field Extra; nil if there is
// none.
func fieldsOf(t reflect.Type) (fields []jsonField, extra []int) {
	for _, sf := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.Tag.Get("unknown") == "keep" {
			extra = sf.Index
		} else if name != "" {
			_, unless := sf.Tag.Lookup("unless")
			fields = append(fields,
				jsonField{name, unless || strings.HasPrefix(options, "omit"), sf.Index})
		}
	}
	return fields, extra
}

// hasType reports whether t is a content block that is decoded by its member "type".
func hasType(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[Content]())
}

// held are the types that applications keep or pass on as JSON.
var held = []any{Tool{}, Resource{}, ResourceTemplate{}, ResourceContents{}, Prompt{},
	PromptMessage{}, Skill{}, TextContent{}, ImageContent{}, AudioContent{}, ResourceLink{},
	EmbeddedResource{}, ToolUseContent{}, ToolResultContent{}, CallToolResult{}, GetPromptResult{},
	ReadResourceResult{}, LoggingMessageParams{}}

var nilValues = regexp.MustCompile(`:(null|\[\]|{})`)

// otherCodec returns the functions that encode and decode values of a type besides those of this
// package: those of encoding/json if it has the methods, and otherwise those of package rpc.
func otherCodec(zero any) (func(any) ([]byte, error), func([]byte, any) error) {
	if _, ok := zero.(json.Marshaler); ok {
		return json.Marshal, json.Unmarshal
	}
	return jsonexact.Marshal, jsonexact.Unmarshal
}

// TestJSONMethods checks that encoding/json gives the same result as this package for every type
// that has the methods, and that package rpc, which encodes and decodes by jsonexact, loses no
// unknown member of the others.
func TestJSONMethods(t *testing.T) {
	for _, v := range held {
		_, ok := v.(json.Marshaler)
		assert.Assert(t, ok, "%T has no MarshalJSON", v)
	}
	n := 0
	for _, typ := range types() {
		if typ.Name() == "" {
			continue // of a test
		}
		n++
		fields, extraAt := fieldsOf(typ)
		methods := typ.Implements(reflect.TypeFor[json.Marshaler]())
		assert.Equal(t, reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]()),
			methods, "%s has one method of two", typ)

		zero := reflect.Zero(typ).Interface()
		want, wantErr := Marshal(zero)
		got, err := json.Marshal(zero)
		assert.Equal(t, err == nil, wantErr == nil, "%s: %v, %v", typ, err, wantErr)
		if !methods { // encoding/json writes null for a nil slice or map
			got = nilValues.ReplaceAll(got, []byte(":null"))
			want := nilValues.ReplaceAll(want, []byte(":null"))
			assert.Equal(t, string(got), string(want), typ.Name())
		} else if err == nil {
			assert.Equal(t, string(got), string(want), typ.Name())
		}
		for member := range members(t, want) {
			// No required field is null, except the one where null has a meaning.
			assert.Assert(t, member != `"ttl":null` && member != `"ttlMs":null` ||
				strings.Contains(typ.Name(), "Task"), "%s: %s", typ, want)
			assert.Assert(t, !strings.HasSuffix(member, ":null") ||
				strings.HasPrefix(member, `"ttl`), "%s: %s", typ, want)
		}

		if extraAt == nil || wantErr != nil {
			continue
		}
		// Unknown members survive in both ways.
		text := []byte(`{"typ":[1],"x-new":{"A":1e2},"été":null}`)
		marshal, otherUnmarshal := otherCodec(zero)
		for _, unmarshal := range []func([]byte, any) error{Unmarshal, otherUnmarshal} {
			v := reflect.New(typ)
			assert.NilError(t, unmarshal(text, v.Interface()))
			extra := v.Elem().FieldByIndex(extraAt).Convert(reflect.TypeFor[Extra]())
			assert.DeepEqual(t, extra.Interface(),
				Extra{"typ": json.RawMessage("[1]"), "x-new": json.RawMessage(`{"A":1e2}`),
					"été": json.RawMessage("null")})
			b, err := marshal(v.Interface())
			assert.NilError(t, err)
			assert.Assert(t, strings.HasSuffix(string(b), string(text[1:])), "%s: %s", typ, b)
		}
		// A known member is not in Extra.
		for _, f := range fields {
			v := reflect.New(typ).Elem()
			v.FieldByIndex(extraAt).Set(reflect.ValueOf(Extra{f.name: json.RawMessage("1")}))
			_, err := Marshal(v.Interface())
			assert.ErrorContains(t, err, "for which there is a field")
		}
	}
	assert.Assert(t, n > 85, "%d types", n)
}

// members returns the members of the object text, in their encoded form.
func members(t *testing.T, text []byte) map[string]bool {
	set := map[string]bool{}
	if len(text) > 0 && text[0] == '{' {
		var m map[string]json.RawMessage
		assert.NilError(t, json.Unmarshal(text, &m))
		for name, value := range m {
			set[`"`+name+`":`+string(value)] = true
		}
	}
	return set
}

func TestRequiredFieldsAreWritten(t *testing.T) {
	for want, v := range map[string]any{
		`{"tools":[]}`:                             ListToolsResult{},
		`{"content":[]}`:                           CallToolResult{},
		`{"type":"text","text":""}`:                TextContent{},
		`{"type":"image","data":"","mimeType":""}`: &ImageContent{},
		`{"uri":"","text":""}`:                     ResourceContents{},
		`{"uri":"","blob":""}`:                     ResourceContents{Blob: []byte{}},
		`{"uri":"","blob":"AA=="}`:                 ResourceContents{Blob: []byte{0}},
		`{"uri":"","text":"both","blob":"AA=="}`: ResourceContents{Blob: []byte{0},
			Text: "both"},
		`{"completion":{"values":[]}}`:      CompleteResult{},
		`{"messages":[],"maxTokens":0}`:     CreateMessageParams{},
		`{"taskId":"","inputResponses":{}}`: UpdateTaskParams{},
		`{"supported":[],"requested":""}`:   UnsupportedProtocolVersionData{},
		`{"type":"","properties":{}}`:       elicitschema.Schema{},
		`{"supportedVersions":[],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`: DiscoverResult{
			CacheHints: CacheHints{new(int64(0)), CachePrivate}},
		`{"type":"resource_link","uri":"u","name":"n"}`: &ResourceLink{
			Resource{URI: "u", Name: "n"}},
		`{"logging":{},"tools":{"listChanged":true}}`: ServerCapabilities{
			Logging: &Object{}, Tools: &ListCapability{ListChanged: true}},
		`{"role":"user","content":{"type":"text","text":"<&>"}}`: SamplingMessage{Role: RoleUser,
			Content: SamplingContent{&TextContent{Text: "<&>"}}},
		`{"role":"","content":[]}`:                           SamplingMessage{},
		`{"type":"tool_result","toolUseId":"","content":[]}`: ToolResultContent{},
		"null": nil,
	} {
		got, err := Marshal(v)
		assert.NilError(t, err)
		assert.Equal(t, string(got), want)
	}
}

func TestEncodeErrors(t *testing.T) {
	for want, v := range map[string]any{
		"cannot encode *mcp.ListToolsResult: tools: [1]: a required value is missing": &ListToolsResult{
			Tools: []*Tool{{InputSchema: json.RawMessage("{}")}, nil}},
		"cannot encode mcp.CallToolResult: content: [0]: a required value is missing": CallToolResult{
			Content: []Content{nil}},
		"cannot encode mcp.PromptMessage: content: a required value is missing": PromptMessage{
			Content: (*TextContent)(nil)},
		"cannot encode mcp.GetPromptResult: messages: [0]: content: a required value is missing": GetPromptResult{
			Messages: []PromptMessage{{Content: (*TextContent)(nil)}}},
		"cannot encode mcp.Implementation: x: not JSON: expected true (at byte 0)": Implementation{
			Extra: Extra{"x": json.RawMessage("tru")}},
		"cannot encode mcp.Meta: k: not JSON: text after the value (at byte 1)": Meta{
			"k": json.RawMessage("1,2")},
		"cannot encode mcp.TextContent: Extra has \"type\", for which there is a field": TextContent{
			Extra: Extra{"type": json.RawMessage("1")}},
		"cannot encode mcp.ProgressParams: progress: JSON has no number for NaN": ProgressParams{
			ProgressToken: ProgressToken{"1"}, Progress: math.NaN()},
		"cannot encode mcp.InputRequests: k: params: not JSON: expected a member name in quotation marks (at byte 1)": InputRequests{
			"k": {Params: json.RawMessage("{")}},
		"cannot encode elicitschema.Schema: properties: cannot encode elicitschema.Primitive: default: not JSON: 'x' cannot start a value (at byte 0)": elicitschema.Schema{
			Properties: elicitschema.Properties{{Name: "p",
				Schema: elicitschema.Primitive{Default: json.RawMessage("x")}}}},
	} {
		dst := []byte("kept")
		got, err := codec.Append(dst, v)
		assert.Error(t, err, want)
		assert.Equal(t, string(got), "kept")
	}
}

// TestOneLine checks that encoded text has no line break, whatever the raw JSON in it.
func TestOneLine(t *testing.T) {
	b, err := Marshal(
		Tool{Name: "a\nb",
			InputSchema: json.RawMessage(
				" {\r\n \"type\": \"object\",\n\"description\":\"x\\ny\" }\n")})
	assert.NilError(t, err)
	assert.Equal(t, string(b),
		`{"name":"a\nb","inputSchema":{ "type": "object","description":"x\ny" }}`)
}

func TestFloats(t *testing.T) {
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1.5, 1e-6, 1e-7, 1e20, 1e21, 1e22,
		math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53, 0.1} {
		b, err := Marshal(f)
		assert.NilError(t, err)
		var back float64
		assert.NilError(t, json.Unmarshal(b, &back))
		assert.Equal(t, back, f)
	}
}
