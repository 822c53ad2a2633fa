package jsonexact

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// all has a field of each kind, and no methods, so that encoding/json can decode it for comparison.
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
	Maybe   *float64                   `json:"n,omitempty"`
	Any     any                        `json:"any,omitempty"`
	Token   upperText                  `json:"token,omitzero"`
	Number  json.Number                `json:"num,omitzero"`
	Quoted  int                        `json:"q,string,omitempty"`
	Array   [2]int                     `json:"array,omitzero"`
	hidden  int
}

type embedded struct {
	E string `json:"e,omitempty"`
	X []int  `json:"x,omitempty"`
}

var fieldNames = []string{"s", "b", "i", "i8", "u", "f", "f32", "raw", "bytes", "list", "structs",
	"map", "raws", "p", "n", "any", "token", "num", "q", "array", "e", "x"}

// exactAndUnique reports whether no key in data occurs twice in its object, or equals the name of a
// field only without regard to case.
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
				for _, name := range fieldNames {
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

// hasOtherNotation reports whether the error of encoding/json is about a number such as 10.0.
func hasOtherNotation(err error) bool {
	mismatch, ok := err.(*json.UnmarshalTypeError)
	return ok && strings.HasPrefix(mismatch.Value, "number ") &&
		strings.ContainsAny(mismatch.Value[len("number "):], ".eE")
}

// FuzzUnmarshal checks that Unmarshal agrees with encoding/json if keys are exact and unique and
// integers are in plain digits, and that Marshal is its inverse.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{
		`{"s":"a\u00e9\ud83d\ude00","b":true,"i":-12,"i8":127,"u":65535,"f":1e-7,"f32":3.5,"raw":{"a":[1]},"bytes":"AAE=","list":["a",null]}`,
		`{"structs":[{"e":"x","x":[1,2]},null],"map":{"k":"v"},"raws":{"r":null},"p":{"s":"in","p":null},"n":1.5,"any":{"a":[1,"x",null]}}`,
		`{"token":"t","array":[1,2,3],"e":"outer","x":[],"unknown":1,"hidden":3,"num":"1e5","q":"-7","E":1,"s":"","s":""}`,
		`{"token":9007199254740993,"i8":128}`, `{"u":-1}`, `{"i":1e1,"i8":-1.0,"u":1.5}`, `{"bytes":"A"}`, "{\"s\":\"\xff\"}",
		`null`, `[]`, ` {} `, `{"s":null,"b":null,"array":null,"token":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want all
		gotErr, wantErr := Unmarshal(data, &got), json.Unmarshal(data, &want)
		if jsonscan.Valid(data) != nil {
			assert.Assert(t, gotErr != nil)
		} else if exactAndUnique(data) && !hasOtherNotation(wantErr) {
			assert.Equal(t, gotErr == nil, wantErr == nil, "got %v, want %v", gotErr, wantErr)
			assert.Assert(t, gotErr != nil ||
				reflect.DeepEqual(got, want), "got %+v, want %+v", got, want)
		}
		if gotErr != nil {
			return
		}
		assertSameEncoding(t, &got)
		text, err := Marshal(got)
		assert.NilError(t, err)
		var again all
		assert.NilError(t, Unmarshal(text, &again))
		second, err := Marshal(again)
		assert.NilError(t, err)
		assert.Equal(t, string(second), string(text))
	})
}
