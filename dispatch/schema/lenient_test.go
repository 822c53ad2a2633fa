package schema

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

func TestLenient(t *testing.T) {
	const closed = `{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"integer",` +
		`"default":1},"o":{"type":"object","properties":{"a":{"type":"array","items":` +
		`{"type":"object","properties":{"k":{"enum":["x"]}},"additionalProperties":false}}},` +
		`"unevaluatedProperties":false},"any":{"anyOf":[{"type":"string"},{"type":"integer"}]},` +
		`"null":{"type":["string","null"]},"list":{"type":"array","items":{"type":"integer"}},` +
		`"flag":{"type":"boolean"},"text":{"type":["string","array"]},` +
		`"most":{"type":"number","maximum":9},"either":{"anyOf":[{"type":"integer"},{"type":"boolean"}]},` +
		`"long":{"anyOf":[{"type":"string","minLength":3},{"type":"integer"}]},` +
		`"shape":{"anyOf":[{"properties":{"a":{"type":"integer"}}},` +
		`{"properties":{"a":{"type":"string"}},"required":["b"]}]}},"required":["s"],"additionalProperties":false}`
	s := MustCompile(closed)
	for _, tc := range []struct{ document, want, err string }{
		{`{"s":"x","n":2}`, `{"s":"x","n":2}`, ""},
		{`{"s":"x"}`, `{"s":"x","n":1}`, ""},
		{`{"s":"x","n":null}`, `{"s":"x","n":1}`, ""},
		{` { "n" : null , "s" : "x" , "b":[1,{"c":2}] } `, `{"s":"x","n":1}`, ""},
		{`{"s":"x","n":2,"o":{"a":[{"k":null},{"k":"x","l":1}],"b":0}}`,
			`{"s":"x","n":2,"o":{"a":[{},{"k":"x"}]}}`, ""},
		{`{"s":"x","n":2,"any":null,"null":null}`, `{"s":"x","n":2,"null":null}`, ""},
		{`{"s":"x","n":2,"\u0062":1,"b":2,"b":3}`, `{"s":"x","n":2}`, ""},
		{`{"s":"x","n":2,"":null}`, `{"s":"x","n":2}`, ""},
		{`{"s":null}`, ``, `missing required property "s"`},
		{`{"s":"x","n":"two","b":1}`, ``, `n must be an integer, not "two"`},
		{`{"s":"x","n":"2.5"}`, ``, `n must be an integer, not "2.5"`},
		{`{"s":"x","n":" 2"}`, ``, `n must be an integer, not " 2"`},
		{`{"s":"x","n":""}`, ``, `n must be an integer, not ""`},
		{`{"s":7}`, ``, `s must be a string, not 7`},
		{`{"s":"x","n":"\u0032","b":1}`, `{"s":"x","n":2}`, ""},
		{`{"s":"x","n":"2","any":"2"}`, `{"s":"x","n":2,"any":"2"}`, ""},
		{`{"s":"x","n":2,"o":{"a":{"k":"x","l":1}}}`, `{"s":"x","n":2,"o":{"a":[{"k":"x"}]}}`, ""},
		{`{"s":"x","n":2,"list":"7"}`, `{"s":"x","n":2,"list":[7]}`, ""},
		{`{"s":"x","n":2,"list":["7",8]}`, `{"s":"x","n":2,"list":[7,8]}`, ""},
		{`{"s":"x","list":"[7]"}`, ``, `list must be an array, not "[7]"`},
		{`{"s":"x","list":"a"}`, ``, `list[0] must be an integer, not "a"`},
		{`{"s":"x","n":2,"list":null}`, `{"s":"x","n":2}`, ""},
		{`{"s":"x","n":2,"flag":"true"}`, `{"s":"x","n":2,"flag":true}`, ""},
		{`{"s":"x","flag":"yes"}`, ``, `flag must be a boolean, not "yes"`},
		{`{"s":"x","flag":"True"}`, ``, `flag must be a boolean`},
		{`{"s":"x","flag":1}`, ``, `flag must be a boolean`},
		{`{"s":"x","n":2,"text":"a"}`, `{"s":"x","n":2,"text":"a"}`, ""},
		{`{"s":"x","n":2,"most":"-1.5e3"}`, `{"s":"x","n":2,"most":-1.5e3}`, ""},
		{`{"s":"x","n":2,"most":"12"}`, ``, `most must be at most 9, not 12`},
		{`{"s":"x","n":2,"either":"false"}`, `{"s":"x","n":2,"either":false}`, ""},
		{`{"s":"x","n":2,"either":"3"}`, `{"s":"x","n":2,"either":3}`, ""},
		{`{"s":"x","n":2,"long":"3"}`, ``, `long must have`},
		{`{"s":"x","n":2,"shape":{"a":"3"}}`, ``, `shape`},
		{`"x"`, ``, `must be an object, not "x"`},
		{`{"s":"x","o":{"a":["a",null]}}`, ``, `o.a[1] must be an object, not null`},
		{`null`, ``, `must be an object, not null`},
		{`{"s":"x",`, ``, `a value has no end`},
	} {
		in := []byte(tc.document)
		got, _, err := s.ValidateAndFill(in, true)
		assert.Equal(t, string(in), tc.document, "the document was changed")
		if tc.err != "" {
			assert.ErrorContains(t, err, tc.err, tc.document)
			continue
		}
		assert.NilError(t, err, tc.document)
		assert.Equal(t, string(got), tc.want)
		assert.NilError(t, s.Validate(got))
	}
}

// The changes are described without values.
func TestLenientTellsRepairs(t *testing.T) {
	s := MustCompile(`{"properties":{"n":{"type":"integer"},"a":{"items":{"type":"boolean"},` +
		`"type":"array"}},"additionalProperties":false}`)
	_, repairs, err := s.ValidateAndFill([]byte(`{"n":null,"a":"true","x":"secret"}`), true)
	assert.NilError(t, err)
	assert.DeepEqual(t, repairs, []string{"/n: a null was removed",
		"/a: a single value was put into an array", "/x: an unknown property was removed",
		"/a/0: a string was read as a boolean"})
	_, repairs, err = s.ValidateAndFill([]byte(`{"n":"7"}`), true)
	assert.NilError(t, err)
	assert.DeepEqual(t, repairs, []string{"/n: a string was read as a number"})
	_, repairs, err = s.ValidateAndFill([]byte(`{"n":7}`), true)
	assert.Assert(t, err == nil && repairs == nil)
}

// A lenient ValidateAndFill removes a limited number of properties.
func TestLenientLimit(t *testing.T) {
	s := MustCompile(`{"additionalProperties":false}`)
	object := func(n int) []byte {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"p%d":0`, i))
		}
		return []byte("{" + strings.Join(members, ",") + "}")
	}
	got, _, err := s.ValidateAndFill(object(50), true)
	assert.NilError(t, err)
	assert.Equal(t, string(got), "{}")
	_, _, err = s.ValidateAndFill(object(1000), true)
	assert.ErrorContains(t, err, "unknown property")
}

// The result of a lenient ValidateAndFill is valid, and valid data is returned unchanged.
func FuzzLenient(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":"string"}},"additionalProperties":false}`, `{"a":null,"b":1}`)
	f.Add(`{"items":{"unevaluatedProperties":false}}`, `[{"a":[null]},null]`)
	f.Fuzz(func(t *testing.T, text, document string) {
		s, err := Compile([]byte(text))
		if err != nil {
			return
		}
		in := []byte(document)
		strict := s.Validate(in)
		if strict != nil && jsonscan.Valid(in) != nil {
			return
		}
		got, _, err := s.ValidateAndFill(in, true)
		if err != nil {
			assert.Assert(t, strict != nil || s.defaults, "%v", err)
			return
		}
		if !s.defaults {
			assert.NilError(t, s.Validate(got))
			if strict == nil {
				assert.Equal(t, string(got), document)
			}
		}
	})
}

// Each round finds the secret nodes again, because removing a property renumbers them.
func TestLenientHidesSecrets(t *testing.T) {
	s := MustCompile(`{"additionalProperties":false,"properties":{
		"p":{"type":"integer","writeOnly":true},"n":{"type":"integer"}}}`)
	_, _, err := s.ValidateAndFill([]byte(`{"extra":[1,2,3],"p":"hunter2","n":"x"}`), true)
	assert.Error(t, err, `p must be an integer; n must be an integer, not "x"`)
	_, _, err = s.ValidateAndFill([]byte(`{"extra":1,"n":"x","p":"hunter2"}`), true)
	assert.Error(t, err, `n must be an integer, not "x"; p must be an integer`)
}
