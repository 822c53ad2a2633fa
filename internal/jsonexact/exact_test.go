package jsonexact

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

type outer struct {
	Inner
	Name string            `json:"name"`
	List []Named           `json:"list"`
	Map  map[string]*Named `json:"map"`
	Any  any               `json:"any"`
	Own  *upperText        `json:"own"`
	Num  int8              `json:"num"`
	Str  uint8             `json:"str,string"`
	Text level             `json:"text"`
}

func TestKeysMatchExactly(t *testing.T) {
	var o outer
	assert.NilError(t,
		Unmarshal([]byte(
			`{"NAME":"x","name":"y","Name":"z","a":1,"b":2,"A":3,"list":[{"a":"no"}],"map":{"K":{"a":"no"},"k":{"A":"yes"}}}`),
			&o))
	assert.Equal(t, o.Name, "y")
	assert.Equal(t, o.Inner, Inner{A: 3})
	assert.Equal(t, o.List[0].A+o.Map["K"].A+o.Map["k"].A, "yes")
	// Letters that fold to k and s do not match them. An escaped key matches.
	o = outer{}
	assert.NilError(t, Unmarshal([]byte(`{"li\u017ft":[{}],"n\u0061me":"y"}`), &o))
	assert.Assert(t, o.List == nil && o.Name == "y")
}

func TestErrorPath(t *testing.T) {
	long := strings.Repeat("k", 1000)
	for _, tc := range []struct{ text, want, pointer string }{
		{`{"name":"a","name":"a"}`, "name: the key occurs twice (at byte 19)", "/name"},
		{`{"name":"a","n\u0061me":"a"}`, "name: the key occurs twice (at byte 24)", "/name"},
		{`{"x":1,"x":2}`, "x: the key occurs twice (at byte 11)", "/x"},
		{`{"list":[{},{"A":"","A":""}]}`, "list[1].A: the key occurs twice (at byte 24)",
			"/list/1/A"},
		{`{"map":{"a/~ b":{"A":"","A":""}}}`, `map["a/~ b"].A: the key occurs twice (at byte 28)`,
			"/map/a~1~0 b/A"},
		{`{"map":{"a":null,"a":null}}`, "map.a: the key occurs twice (at byte 21)", "/map/a"},
		{`{"num":300}`, "num: 300 does not fit in int8 (at byte 7)", "/num"},
		{`{"num":1.5}`, "num: 1.5 does not fit in int8 (at byte 7)", "/num"},
		{`{"num":1e999999999999}`, "num: 1e999999999999 does not fit in int8 (at byte 7)", "/num"},
		{`{"num":"1"}`, "num: want a number, not a string (at byte 7)", "/num"},
		{`{"str":1}`, "str: want a uint8 in a string, not a number (at byte 7)", "/str"},
		{`{"str":"256"}`, `str: want a uint8 in a string, not "256" (at byte 7)`, "/str"},
		{`{"own":1}`, "own: json: cannot unmarshal number into Go value of type string (at byte 7)",
			"/own"},
		{`{"text":"x"}`, "text: input does not match format (at byte 8)", "/text"},
		{`{"map":{"` + long + `":1}}`, "map." + long[:64] +
			"…: want an object, not a number (at byte 1011)", "/map/" + long[:64] + "…"},
		{`{"any":{"a":[1,}}`, "any.a[1]: not JSON: '}' cannot start a value (at byte 15)",
			"/any/a/1"},
		{`{"any":{"a":[1,2e999]}}`, "any.a[1]: 2e999 does not fit in float64 (at byte 15)",
			"/any/a/1"},
		{`{"name":"` + "\xff" + `"}`, "name: not JSON: a string is not UTF-8 (at byte 9)", "/name"},
		{`{"x":"\ud800"}`, "x: not JSON: an unpaired surrogate escape in a string (at byte 6)",
			"/x"},
		{`[]`, "want an object, not an array (at byte 0)", ""},
		{`{} {}`, "not JSON: text after the value (at byte 3)", ""},
		{`{"name":"a" "x"`, "not JSON: expected ',' or '}' after a member (at byte 12)", ""},
		{`{"list":[{} {}]}`, "list: not JSON: expected ',' or ']' after an element (at byte 12)",
			"/list"},
	} {
		err := Unmarshal([]byte(tc.text), new(outer))
		assert.Error(t, err, tc.want)
		assert.Equal(t, err.(*DecodeError).Pointer(), tc.pointer, tc.text)
		assert.Equal(t, errors.Is(err, ErrDuplicateKey), strings.Contains(tc.want, "twice"))
	}
	for _, v := range []any{nil, outer{}, (*outer)(nil)} {
		assert.ErrorContains(t, Unmarshal([]byte(`{}`), v), "must be a non-nil pointer")
	}
	// A struct with more fields than a word has bits.
	many := reflect.New(reflect.StructOf(manyFields(130))).Interface()
	name := `"F` + strings.Repeat("x", 129) + `"`
	assert.Assert(t,
		errors.Is(Unmarshal([]byte(`{"F":1,`+name+`:1,`+name+`:2}`), many), ErrDuplicateKey))
	// Duplicate keys are allowed in objects that no Go type describes.
	var o outer
	assert.NilError(t, Unmarshal([]byte(`{"any":{"a":1,"a":2},"x":{"y":1,"y":2}}`), &o))
	assert.DeepEqual(t, o.Any, map[string]any{"a": 2.0})
}

func TestNestingIsBounded(t *testing.T) {
	nest := func(open, inner, close string, n int) []byte {
		return []byte(strings.Repeat(open, n) + inner + strings.Repeat(close, n))
	}
	for _, v := range []any{new(any), new(json.RawMessage), new([]any)} {
		assert.NilError(t, Unmarshal(nest("[", "", "]", jsonscan.MaxDepth), v))
		assert.ErrorContains(t, Unmarshal(nest("[", "", "]", jsonscan.MaxDepth+1), v),
			"nested too deeply")
		_, err := Marshal(v)
		assert.NilError(t, err)
	}
	var loop Loop
	deep := nest(`{"next":`, "{}", "}", jsonscan.MaxDepth-1)
	assert.NilError(t, Unmarshal(deep, &loop))
	_, err := Marshal(loop)
	assert.NilError(t, err)
	for _, open := range []string{`{"next":`, `{"all":[`, `{"unknown":[`, `{"unknown":{"a":`} {
		assert.ErrorContains(t, Unmarshal(nest(open, "", "", 1<<20), &loop), "nested too deeply")
	}
	loop.Next = &loop
	_, err = Marshal(loop)
	assert.ErrorContains(t, err, "nested too deeply")
	type self []self
	s := self{nil}
	s[0] = s
	_, err = Marshal(s)
	assert.ErrorContains(t, err, "nested too deeply")
}

func TestDecodingReplaces(t *testing.T) {
	o := outer{Name: "kept", List: []Named{{"x"}, {"y"}}, Map: map[string]*Named{"x": nil},
		Any: &Named{}}
	assert.NilError(t, Unmarshal([]byte(`{"name":null,"list":[{}],"map":{"y":null},"any":1}`), &o))
	assert.DeepEqual(t, o,
		outer{Name: "kept", List: []Named{{}}, Map: map[string]*Named{"y": nil}, Any: 1.0})
}

func TestAppend(t *testing.T) {
	got, err := Append([]byte("kept"),
		map[string]any{"b": []int(nil), "a": "<&>\n", "c": json.RawMessage("[\r\n1 ,\n2]")})
	assert.NilError(t, err)
	assert.Equal(t, string(got), `kept{"a":"<&>\n","b":null,"c":[1 ,2]}`)
	for want, v := range map[string]any{
		"cannot encode []interface {}: [1]: json: unsupported type: chan int": []any{1,
			make(chan int)},
		"cannot encode map[string]json.RawMessage: k: not JSON: expected true (at byte 0)": map[string]json.RawMessage{
			"k": []byte("tru")},
		"cannot encode jsonexact.outer: any: a: a required value is missing": outer{
			Any: map[string]any{"a": json.RawMessage{}}},
		"cannot encode json.RawMessage: not JSON: a string is not UTF-8 (at byte 1)": json.RawMessage(
			"\"\xff\""),
		"cannot encode struct { F float64 }: F: JSON has no number for NaN": struct {
			F float64
		}{math.NaN()},
		`cannot encode struct { N json.Number }: N: json: invalid number literal "x"`: struct {
			N json.Number
		}{"x"},
	} {
		got, err := Append([]byte("kept"), v)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, string(got), "kept")
	}
}

// Neither direction allocates more than its result.
func TestAllocations(t *testing.T) {
	data := []byte(`{"name":"abc","num":5,"list":[{"A":"x"}]}`)
	assert.Assert(t, testing.AllocsPerRun(100, func() {
		var o outer
		_ = Unmarshal(data, &o)
	}) <= 6)
	o, dst := &outer{Name: "x", List: []Named{{"x"}}}, make([]byte, 0, 256)
	assert.Assert(t, testing.AllocsPerRun(100, func() { dst, _ = Append(dst[:0], &o.List) }) == 0)
}

func BenchmarkPlan(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		defaultCodec.newPlan(reflect.TypeFor[outer]())
	}
}

func TestUnknownMembers(t *testing.T) {
	type others map[string]json.RawMessage
	type open struct {
		Name   string
		Others others `json:"-" unknown:"keep"`
	}
	text := `{"Name":"n","a":[1],"b":null}`
	var v struct{ Open []open }
	assert.NilError(t, Unmarshal([]byte(`{"Open":[`+text+`]}`), &v))
	assert.DeepEqual(t, v.Open[0].Others,
		others{"a": json.RawMessage("[1]"), "b": json.RawMessage("null")})
	again, err := Marshal(v.Open[0])
	assert.NilError(t, err)
	assert.Equal(t, string(again), text)
	_, err = Marshal(open{Others: others{"Name": json.RawMessage("1")}})
	assert.ErrorContains(t, err, `"Name", for which there is a field`)

	again, err = NewPortable().Append(nil, v.Open[0])
	assert.NilError(t, err)
	assert.Equal(t, string(again), `{"Name":"n"}`)
}
