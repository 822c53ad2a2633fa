package schema

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

type address struct {
	Street string `json:"street" doc:"Street and number."`
	Zip    *int   `json:"zip"`
}

type tree struct {
	Value    int              `json:"value"`
	Children []tree           `json:"children,omitempty"`
	Parent   *tree            `json:"parent,omitempty"`
	ByName   map[string]*tree `json:"by_name,omitempty"`
}

type tree2 struct {
	Up *tree2 `json:"up" doc:"Up."`
}

type pair[A, B any] struct {
	First  A           `json:"first"`
	Second B           `json:"second"`
	Next   *pair[A, B] `json:"next,omitempty"`
}

type forest struct {
	Tree  tree                   `json:"tree"`
	Pairs []pair[string, tree]   `json:"pairs"`
	Other pair[netip.Addr, *int] `json:"other"`
}

type alwaysText int

func (e alwaysText) MarshalText() ([]byte, error)     { return []byte{byte('0' + e)}, nil }
func (e *alwaysText) UnmarshalText(text []byte) error { return nil }

type textIfAddressable int

func (o *textIfAddressable) MarshalText() ([]byte, error) { return nil, nil }

type level int // has a method JSONSchema

func (level) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema",
		"type":"string", "enum":["low","high"]}`)
}
func (l level) MarshalText() ([]byte, error)     { return []byte([]string{"low", "high"}[l]), nil }
func (l *level) UnmarshalText(text []byte) error { return nil }

type described struct{ X chan int } // its pointer has a method JSONSchema

func (*described) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"description":"Mine."}`)
}

// The method JSONSchema of schemaMethod returns the text of T.
type schemaMethod[T interface{ text() string }] struct{}

func (schemaMethod[T]) JSONSchema() json.RawMessage {
	var t T
	return json.RawMessage(t.text())
}

type (
	boolSchema    struct{}
	emptySchema   struct{}
	refSchema     struct{}
	invalidSchema struct{}
)

type (
	anchorSchema        struct{}
	dynamicAnchorSchema struct{}
)

func (anchorSchema) text() string        { return `{"$anchor":"a"}` }
func (dynamicAnchorSchema) text() string { return `{"items":{"$dynamicAnchor":"a"}}` }

func (boolSchema) text() string    { return `true` }
func (emptySchema) text() string   { return `` }
func (refSchema) text() string     { return `{"properties":{"a":{"$ref":"#"}}}` }
func (invalidSchema) text() string { return `{"type":"text"}` }

type anything struct{ X int }

func (*anything) UnmarshalJSON([]byte) error   { return nil }
func (*anything) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

type Paging struct { // has a method JSONSchema, which structs that embed it have too
	Cursor string `json:"cursor"`
}

func (Paging) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","description":"A page."}`)
}

type search struct { // its method says more than that of Paging
	*Paging
	Query string
}

func (s search) JSONSchema() json.RawMessage {
	return append(s.Paging.JSONSchema()[:len(`{"type":"object"`)], `,"title":"Search"}`...)
}

type Chain struct { // is embedded in itself
	*Chain
	Links int
}

func (*Chain) JSONSchema() json.RawMessage { return json.RawMessage(`{"title":"Chain"}`) }

// A method JSONSchema that a struct has from an embedded field is not its own.
func TestForEmbeddedMethod(t *testing.T) {
	const fields = `{"type":"object","properties":{"cursor":{"type":"string"},` +
		`"Query":{"type":"string"}},"required":["cursor","Query"],"additionalProperties":false}`
	type nested struct{ Paging }
	for _, tc := range []struct {
		of   any
		want string
	}{
		{struct {
			Paging
			Query string
		}{}, fields},
		{struct {
			*Paging
			Query string
		}{}, strings.Replace(fields, `"cursor",`, ``, 1)},
		{struct {
			nested
			Query string
		}{}, fields},
		{struct {
			Paging `json:"page"`
		}{}, `{"type":"object","properties":{"page":{"type":"object","description":"A page."}},` +
			`"required":["page"],"additionalProperties":false}`},
		{struct{ Paging }{}, `{"type":"object","description":"A page."}`},
		{struct{ *Paging }{}, `{"type":"object","description":"A page."}`},
		{struct {
			level // with UnmarshalText
			N     int
		}{}, `{"type":"string","enum":["low","high"]}`},
		{search{}, `{"type":"object","title":"Search"}`},
		{Chain{}, `{"title":"Chain"}`},
		{struct{ *Chain }{}, `{"title":"Chain"}`},
		{struct {
			search
			N int
		}{}, `{"type":"object","properties":{"cursor":{"type":"string"},"Query":{"type":"string"},` +
			`"N":{"type":"integer"}},"required":["Query","N"],"additionalProperties":false}`},
	} {
		got, err := ForType(reflect.TypeOf(tc.of))
		assert.NilError(t, err, "%T", tc.of)
		assert.Equal(t, string(got), tc.want, "%T", tc.of)
	}
}

func TestFor(t *testing.T) {
	closed := `,"additionalProperties":false}`
	for _, tc := range []struct {
		name    string
		of      any
		options []InferOption
		want    string
	}{
		{"string", "", nil, `{"type":"string"}`},
		{"bool", false, nil, `{"type":"boolean"}`},
		{"int", 0, nil, `{"type":"integer"}`},
		{"int8", int8(0), nil, `{"type":"integer","minimum":-128,"maximum":127}`},
		{"int32", int32(0), nil, `{"type":"integer","minimum":-2147483648,"maximum":2147483647}`},
		{"int64", int64(0), nil, `{"type":"integer"}`},
		{"uint", uint(0), nil, `{"type":"integer","minimum":0}`},
		{"uint16", uint16(0), nil, `{"type":"integer","minimum":0,"maximum":65535}`},
		{"duration", time.Second, nil,
			`{"type":"string","pattern":"^-?([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h))+$"}`},
		{"url", url.URL{}, nil, `{"type":"string"}`},
		{"level", level(0), nil, `{"type":"string","enum":["low","high"]}`},
		{"levels", []*level{}, []InferOption{Output},
			`{"type":"array","items":{"anyOf":[{"type":"string","enum":["low","high"]},{"type":"null"}]}}`},
		{"JSONSchema with tags", struct {
			A level  `json:"a" doc:"How much." default:"low"`
			B *level `json:"b"`
			C map[string]described
		}{}, nil, `{"type":"object","properties":{"a":{"type":"string","enum":["low","high"],"description":"How much.","default":"low"},` +
			`"b":{"type":"string","enum":["low","high"]},"C":{"type":"object","additionalProperties":{"description":"Mine."}}},"required":["C"]` +
			closed},
		{"JSONSchema exact", struct {
			A *level `json:"a" doc:"How much." default:"low"`
		}{}, []InferOption{Exact},
			`{"type":"object","properties":{"a":{"description":"How much.","default":"low","anyOf":[{"type":"string","enum":["low","high"]},{"type":"null"}]}}` +
				closed},
		{"float", 0.5, nil, `{"type":"number"}`},
		{"number", json.Number(""), nil, `{"type":"number"}`},
		{"time", time.Time{}, nil, `{"type":"string","format":"date-time"}`},
		{"bytes", []byte{}, nil, `{"type":"string","pattern":"^[A-Za-z0-9+/]*={0,2}$"}`},
		{"bytes exact", []byte{}, []InferOption{Exact}, `{"type":"string","contentEncoding":"base64"}`},
		{"bytes, output", []byte{}, []InferOption{Output}, `{"type":"string","pattern":"^[A-Za-z0-9+/]*={0,2}$"}`},
		{"bytes, output, exact", []byte{}, []InferOption{Exact, Output},
			`{"type":["string","null"],"contentEncoding":"base64"}`},
		{"byte array", [2]byte{}, nil,
			`{"type":"array","minItems":2,"maxItems":2,"items":{"type":"integer","minimum":0,"maximum":255}}`},
		{"raw", json.RawMessage{}, nil, `{}`},
		{"pointer", new(string), nil, `{"type":"string"}`},
		{"text", netip.Addr{}, nil, `{"type":"string"}`},
		{"text of a pointer", alwaysText(0), nil, `{"type":"string"}`},
		{"big", big.Int{}, nil, `{"type":"string","pattern":"^-?[0-9]+$"}`},
		{"marshaler", anything{}, nil, `{}`},
		{"text, output", netip.Addr{}, []InferOption{Output}, `{"type":"string"}`},
		{"text of a pointer, output", textIfAddressable(0), []InferOption{Output}, `{}`},
		{"marshaler, output", json.RawMessage{}, []InferOption{Output}, `{}`},
		{"marshaler of a pointer, output", anything{}, []InferOption{Output}, `{}`},
		{"quoted uint", struct {
			N uint `json:"n,string" default:"5"`
		}{}, nil, `{"type":"object","properties":{"n":{"type":"string","default":"5","pattern":"^[0-9]+$"}}` +
			closed},
		{"slice", []string{}, nil, `{"type":"array","items":{"type":"string"}}`},
		{"slice, output", [][]string{}, []InferOption{Output},
			`{"type":"array","items":{"type":"array","items":{"type":"string"}}}`},
		{"slice, output, exact", [][]string{}, []InferOption{Exact, Output},
			`{"type":["array","null"],"items":{"type":["array","null"],"items":{"type":"string"}}}`},
		{"pointers, input", []*int{}, nil, `{"type":"array","items":{"type":"integer"}}`},
		{"pointers, output", map[string]*int{}, []InferOption{Output},
			`{"type":"object","additionalProperties":{"anyOf":[{"type":"integer"},{"type":"null"}]}}`},
		{"pointers, output, exact", map[string]*int{}, []InferOption{Exact, Output},
			`{"type":["object","null"],"additionalProperties":{"type":["integer","null"]}}`},
		{"map", map[string]bool{}, nil,
			`{"type":"object","additionalProperties":{"type":"boolean"}}`},
		{"map of any", map[string]any{}, nil, `{"type":"object","additionalProperties":{}}`},
		{"map by int", map[int]string{}, nil, `{"type":"object","additionalProperties":{"type":"string"}}`},
		{"map by int exact", map[int]string{}, []InferOption{Exact},
			`{"type":"object","propertyNames":{"pattern":"^-?[0-9]+$"},"additionalProperties":{"type":"string"}}`},
		{"map by uint exact", map[uint8]string{}, []InferOption{Exact},
			`{"type":"object","propertyNames":{"pattern":"^[0-9]+$"},"additionalProperties":{"type":"string"}}`},
		{"map by text", map[alwaysText]string{}, nil,
			`{"type":"object","additionalProperties":{"type":"string"}}`},
		{"empty", struct{}{}, nil, `{"type":"object"` + closed},
		{"open", struct{}{}, []InferOption{Open}, `{"type":"object"}`},
		{"struct", address{}, nil,
			`{"type":"object","properties":{"street":{"type":"string","description":"Street and number."},` +
				`"zip":{"type":"integer"}},"required":["street"]` + closed},
		{"struct exact", address{}, []InferOption{Exact},
			`{"type":"object","properties":{"street":{"type":"string","description":"Street and number."},` +
				`"zip":{"type":["integer","null"]}},"required":["street"]` + closed},
		{"struct, output", &address{}, []InferOption{Output},
			`{"type":"object","properties":{"street":{"type":"string","description":"Street and number."},` +
				`"zip":{"type":"integer"}},"required":["street"]` + closed},
		{"struct, output, exact", &address{}, []InferOption{Exact, Output},
			`{"type":"object","properties":{"street":{"type":"string","description":"Street and number."},` +
				`"zip":{"type":["integer","null"]}},"required":["street","zip"]` + closed},
		{"json tags", struct {
			A string `json:"a,omitempty"`
			B int    `json:",omitzero"`
			C string `json:"-"`
			D string `json:"-,"`
			E int    `json:"e,string"`
			F *bool  `json:"f,string"`
			G string "json:\"bad`name\""
			h int    // not exported: skipped
			I any    `json:"<&>"`
			J []int  `json:"j,string"`
		}{}, nil, `{"type":"object","properties":{"a":{"type":"string"},"B":{"type":"integer"},"-":{"type":"string"},"e":{"type":"string","pattern":"^-?[0-9]+$"},` +
			`"f":{"type":"string","pattern":"^(true|false)$"},"G":{"type":"string"},"<&>":{},"j":{"type":"array","items":{"type":"integer"}}},` +
			`"required":["-","e","G","<&>","j"]` + closed},
		{"output omits nil", struct {
			A []int `json:"a,omitempty"`
			B []int `json:"b"`
			C *int  `json:"c,omitempty"`
		}{}, []InferOption{Output},
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}},` +
				`"b":{"type":"array","items":{"type":"integer"}},"c":{"type":"integer"}},"required":["b"]` +
				closed},
		{"tags", struct {
			A string   `json:"a" enum:"x, y" default:"y" doc:"Say \"which\"."`
			B int      `json:"b" min:"1" max:"10"`
			C float64  `json:"c" min:"-0.5" enum:"0.5,1e3"`
			D string   `json:"d" minLength:"1" maxLength:"8" pattern:"^[a-z<>]+$" format:"hostname"`
			E []string `json:"e" minItems:"1" maxItems:"3" enum:"p,q" maxLength:"2"`
			F []int    `json:"f" default:"[1,2]" max:"5"`
			G bool     `json:"g" default:"true"`
			H *int     `json:"h" enum:"1,2"`
		}{}, nil, `{"type":"object","properties":{"a":{"type":"string","description":"Say \"which\".","enum":["x","y"],"default":"y"},` +
			`"b":{"type":"integer","minimum":1,"maximum":10},"c":{"type":"number","enum":[0.5,1e3],"minimum":-0.5},` +
			`"d":{"type":"string","minLength":1,"maxLength":8,"pattern":"^[a-z<>]+$","format":"hostname"},` +
			`"e":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["p","q"],"maxLength":2}},` +
			`"f":{"type":"array","default":[1,2],"items":{"type":"integer","maximum":5}},"g":{"type":"boolean","default":true},` +
			`"h":{"type":"integer","enum":[1,2]}},"required":["b","c","d","e"]` +
			closed},
		{"recursive", tree{}, nil,
			`{"type":"object","properties":{"value":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#/$defs/tree"}},` +
				`"parent":{"$ref":"#/$defs/tree"},"by_name":{"type":"object","additionalProperties":{"$ref":"#/$defs/tree"}}},` +
				`"required":["value"],"additionalProperties":false,"$defs":{"tree":{"type":"object","properties":{"value":{"type":"integer"},` +
				`"children":{"type":"array","items":{"$ref":"#/$defs/tree"}},"parent":{"$ref":"#/$defs/tree"},` +
				`"by_name":{"type":"object","additionalProperties":{"$ref":"#/$defs/tree"}}},"required":["value"],"additionalProperties":false}}}`},
		{"recursive exact", struct {
			Parent *tree2 `json:"parent" doc:"Above."`
			H      *int   `json:"h" enum:"1,2"`
		}{}, []InferOption{Exact}, `{"type":"object","properties":{` +
			`"parent":{"type":["object","null"],"description":"Above.","properties":{"up":` +
			`{"description":"Up.","anyOf":[{"$ref":"#/$defs/tree2"},{"type":"null"}]}}` + closed[:len(closed)-1] + `},` +
			`"h":{"type":["integer","null"],"enum":[1,2,null]}},"additionalProperties":false,` +
			`"$defs":{"tree2":{"type":"object","properties":{"up":` +
			`{"description":"Up.","anyOf":[{"$ref":"#/$defs/tree2"},{"type":"null"}]}}` + closed + `}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ForType(reflect.TypeOf(tc.of), tc.options...)
			assert.NilError(t, err)
			assert.Equal(t, string(got), tc.want)
			_, err = Compile(got)
			assert.NilError(t, err)
		})
	}
}

// The names of recursive generic types in $defs are readable and unique.
func TestForNames(t *testing.T) {
	raw, err := For[forest]()
	assert.NilError(t, err)
	var got struct {
		Defs map[string]any `json:"$defs"`
	}
	assert.NilError(t, json.Unmarshal(raw, &got))
	for _, name := range []string{"tree", "pair_string_tree", "pair_Addr_int"} {
		assert.Assert(t, got.Defs[name] != nil, "%s in %s", name, raw)
	}
	assert.Equal(t, len(got.Defs), 3)
	again, err := For[forest]()
	assert.NilError(t, err)
	assert.Equal(t, string(raw), string(again))
	s, err := Compile(raw)
	assert.NilError(t, err)
	assert.NilError(t,
		s.Validate([]byte(
			`{"tree":{"value":1,"children":[{"value":2}]},"pairs":[],"other":{"first":"::1"}}`)))
	assert.ErrorContains(t,
		s.Validate([]byte(
			`{"tree":{"value":1,"children":[{"valu":2}]},"pairs":[],"other":{"first":"::1"}}`)),
		`did you mean "value"?`)
}

// Two recursive types with the same name have different names in $defs.
func TestForSameName(t *testing.T) {
	type outer = tree
	type tree struct {
		Next *tree `json:"next,omitempty"`
	}
	type two struct {
		First  outer `json:"first"`
		Second tree  `json:"second"`
	}
	raw, err := For[two]()
	assert.NilError(t, err)
	var got struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	assert.NilError(t, json.Unmarshal(raw, &got))
	assert.Equal(t, len(got.Defs), 2, "%s", raw)
	assert.Assert(t, got.Defs["tree"] != nil && got.Defs["tree_2"] != nil, "%s", raw)
}

type base struct {
	ID   int `json:"id"`
	Name string
}
type left struct {
	base
	Side string `json:"side"`
	Same int
}
type right struct {
	*base
	Side string `json:"Side"`
	Same int
}
type renamed struct {
	Inner base `json:"Inner"`
	base  `json:"named"`
}
type shadow struct {
	left
	Name int `json:"Name"`
}
type both struct {
	left
	right
	Side string
}
type Exported struct{ X, Y int }
type viaPointer struct {
	*Exported
	Y string
}
type loop struct {
	*loop
	Z int
}

// The properties are exactly the names that encoding/json encodes.
func TestForAgreesWithEncodingJSON(t *testing.T) {
	for _, value := range []any{
		base{}, left{}, right{base: &base{}}, renamed{}, shadow{},
		both{right: right{base: &base{}}}, viaPointer{Exported: &Exported{}}, loop{}, address{},
	} {
		encoded, err := json.Marshal(value)
		assert.NilError(t, err)
		for _, options := range [][]InferOption{{Exact}, {Exact, Output}} {
			raw, err := ForType(reflect.TypeOf(value), options...)
			assert.NilError(t, err)
			s, err := Compile(raw)
			assert.NilError(t, err)
			assert.NilError(t, s.Validate(encoded), "%T %s", value, encoded)
			var names struct{ Properties map[string]any }
			var members map[string]any
			assert.NilError(t, json.Unmarshal(raw, &names))
			assert.NilError(t, json.Unmarshal(encoded, &members))
			assert.Equal(t, len(names.Properties), len(members), "%T: %s %s", value, raw, encoded)
		}
	}
}

type wide0 struct{ A, B wide1 }
type wide1 struct{ A, B wide2 }
type wide2 struct{ A, B wide3 }
type wide3 struct{ A, B, C, D wide4 }
type wide4 struct{ A, B, C, D, E, F, G, H [2]wide5 }
type wide5 struct{ A, B, C, D, E, F, G, H wide6 }
type wide6 struct{ A, B, C, D, E, F, G, H int }

type migrated struct {
	City string `jsonschema:"minLength=2"`
}

// Tags of other packages for schemas are descriptions where they can be.
func TestForeignTags(t *testing.T) {
	got, err := For[struct {
		A string  `json:"a" jsonschema:"the city, with a = in its text"`
		B string  `json:"b" jsonschema:"required"`
		C string  `json:"c" jsonschema:"required,description=The city\\, and more"`
		D string  `json:"d" jsonschema_description:"The city."`
		E string  `json:"e" doc:"Same." jsonschema:"Same."`
		F *string `json:"f" jsonschema:"description=Perhaps."`
		G string  `json:"g" jsonschema:"optional, of course"`
		H string  `json:"h" jsonschema:""`
	}]()
	assert.NilError(t, err)
	assert.Equal(t, string(got), `{"type":"object","properties":{`+
		`"a":{"type":"string","description":"the city, with a = in its text"},"b":{"type":"string"},`+
		`"c":{"type":"string","description":"The city, and more"},`+
		`"d":{"type":"string","description":"The city."},"e":{"type":"string","description":"Same."},`+
		`"f":{"type":"string","description":"Perhaps."},`+
		`"g":{"type":"string","description":"optional, of course"},"h":{"type":"string"}},`+
		`"required":["a","b","c","d","e","g","h"],"additionalProperties":false}`)
}

func TestForErrors(t *testing.T) {
	for _, tc := range []struct {
		of   any
		want string
	}{
		{make(chan int), "chan int: chan int cannot be represented in JSON"},
		{struct{ F func() }{}, "F: func() cannot be represented in JSON"},
		{struct{ M map[string][]complex64 }{}, ".M{}[]: complex64 cannot be represented"},
		{map[float64]int{}, "keys of type float64"},
		{struct {
			N int `min:"x"`
		}{}, `.N: tag min:"x": must be a number`},
		{struct {
			N int `min:"0.5"`
		}{}, `must be an integer`},
		{struct {
			N int `min:"5" max:"1"`
		}{}, `tag max:"1": the minimum 5 is greater than the maximum 1`},
		{struct {
			S string `min:"1"`
		}{}, `tag min:"1": not valid for the type string`},
		{struct {
			S string `minLength:"-1"`
		}{}, `must be a non-negative integer`},
		{struct {
			S string `minLength:"2" maxLength:"1"`
		}{}, `greater than the maximum`},
		{struct {
			S string `minItems:"1"`
		}{}, `not valid for the type`},
		{struct {
			S string `pattern:"("`
		}{}, `a ( is not closed`},
		{struct {
			S string `pattern:"(?=a)"`
		}{}, `lookahead is not supported`},
		{struct {
			S string `format:""`
		}{}, `must name a format`},
		{struct {
			S string `enum:"a,,b"`
		}{}, `is empty or occurs twice`},
		{struct {
			S string `enum:"a,a"`
		}{}, `is empty or occurs twice`},
		{struct {
			N int `enum:"1,two"`
		}{}, `"two" is not a valid integer`},
		{struct {
			B bool `enum:"true"`
		}{}, `not valid for the type bool`},
		{struct {
			A any `min:"1"`
		}{}, `not valid for the type`},
		{struct {
			N int `default:"many"`
		}{}, `tag default:"many": invalid JSON`},
		{struct {
			N int `default:"\"1\""`
		}{}, `want a number, not a string`},
		{struct {
			N int `max:"5" default:"6"`
		}{}, `must be at most 5, not 6`},
		{struct {
			S string `enum:"a,b" default:"c"`
		}{}, `must be "a" or "b", not "c"`},
		{struct {
			T time.Time `default:"yesterday"`
		}{}, `cannot parse`},
		{struct {
			T tree `default:"[]"`
		}{}, `want an object, not an array`},
		{struct {
			D time.Duration `default:"soon"`
		}{}, `want a duration such as "5m", not "soon"`},
		{struct {
			L level `minLength:"1"`
		}{}, `not valid for the type`},
		{struct {
			L level `default:"middle"`
		}{}, `must be "low" or "high"`},
		{migrated{}, `schema.migrated.City: tag jsonschema:"minLength=2": write the tag minLength:"2" in place of "minLength=2"`},
		{struct {
			S string `jsonschema:"description=a, b"`
		}{}, `.S: tag jsonschema:"description=a, b": " b" is not supported: write the description as the tag doc`},
		{struct {
			S string `jsonschema:"title=Name"`
		}{}, `"title=Name" is not supported`},
		{struct {
			S string `jsonschema:"WORD=reserved by go-sdk"`
		}{}, `"WORD=reserved by go-sdk" is not supported`},
		{struct {
			S string `jsonschema:"required,the name"`
		}{}, `"the name" is not supported`},
		{struct {
			S string `json:",omitempty" jsonschema:"required"`
		}{}, `.S: tag jsonschema:"required": the field is optional`},
		{struct {
			S *string `jsonschema:"required,description=x"`
		}{}, `the field is optional`},
		{struct {
			S string `jsonschema:"description=a,description=b"`
		}{}, `"description=b" is not supported`},
		{struct {
			S string `jsonschema:"nullable"`
		}{}, `"nullable" is not supported`},
		{struct {
			S string `jsonschema_extras:"a=b"`
		}{}, `tag jsonschema_extras:"a=b": it is not supported`},
		{struct {
			S string `doc:"a" jsonschema:"b"`
		}{}, `.S: it has two descriptions, "a" and "b": keep the tag doc`},
		{struct {
			S string `jsonschema:"description=a" jsonschema_description:"b"`
		}{}, `two descriptions`},
		{schemaMethod[boolSchema]{}, "must be an object"},
		{schemaMethod[emptySchema]{}, "JSONSchema of schema.schemaMethod["},
		{schemaMethod[refSchema]{}, "must not use $ref"},
		{schemaMethod[anchorSchema]{}, "must not use $anchor"},
		{schemaMethod[dynamicAnchorSchema]{}, "must not use $dynamicAnchor"},
		{struct{ describer }{}, "JSONSchema of struct { schema.describer }: panic: "},
		{schemaMethod[invalidSchema]{}, "JSONSchema of schema.schemaMethod"},
		{wide0{}, "more than 10000 subschemas"},
	} {
		_, err := ForType(reflect.TypeOf(tc.of))
		assert.ErrorContains(t, err, tc.want, "%T", tc.of)
		assert.ErrorContains(t, err, "schema: ", "%T", tc.of)
	}
	_, err := For[struct {
		S string `pattern:"(?<=a)"`
	}]()
	assert.Assert(t, errors.Is(err, ErrPattern))
}

// tagsOf agrees with package reflect, even on malformed tags.
func TestTagsOf(t *testing.T) {
	for _, tag := range []reflect.StructTag{
		``, ` `, `json:"a"`, `json:"a" doc:"b"`, `json:"a"doc:"b"`,
		`  json:"a"   doc:"say \"x\": \\" min:"1"`, `json:"a" json:"b"`, `json:""`,
		`json: "a" doc:"b"`,
		`json:a doc:"b"`, `json:"a`, `json:"a\`, `json:"a\"`, `json`, `json:`, `:"a"`, `js on:"a"`,
		`json:"\q" doc:"b"`, "json:\"a\nb\" doc:\"b\"",
		"json:\"\u00e9\\u00e9\" doc:\"\xff\"", "json:`a`", `"json:"a"`, "doc:\"b\"\tjson:\"a\"",
		"j\x7f:\"a\" json:\"b\"",
	} {
		found := tagsOf(tag)
		for _, key := range []string{"json", "doc", "min", "js on", "on", "j"} {
			value, ok := found.lookup(key)
			wantValue, want := tag.Lookup(key)
			assert.Check(t, ok == want &&
				value == wantValue, "%s of %q: %q %v, want %q %v", key, tag, value, ok, wantValue,
				want)
		}
	}
}

// Text from tags is encoded as JSON without loss, whatever its characters.
func TestForEncodesAnyText(t *testing.T) {
	raw, err := For[struct {
		A string `json:"a/~é" doc:"\"\\ \n \x01 \u2028 <&> \U0001F600" default:"\t\"\x02"`
		B []int  `json:"b" default:"[ 1,\n 2 ]"`
	}]()
	assert.NilError(t, err)
	var got struct {
		Properties map[string]struct {
			Description string
			Default     any
		}
	}
	assert.NilError(t, json.Unmarshal(raw, &got))
	assert.Equal(t, got.Properties["a/~é"].Description, "\"\\ \n \x01 \u2028 <&> \U0001F600")
	assert.Equal(t, got.Properties["a/~é"].Default, "\t\"\x02")
	assert.Assert(t, strings.Contains(string(raw), `"default":[1,2]`), "%s", raw)
	_, err = Compile(raw)
	assert.NilError(t, err)
}
