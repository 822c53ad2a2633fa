package form

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestResolve(t *testing.T) {
	const schema = `{"$defs":{"a/b":1,"c~d":{"e f":[2,{"0":3}]},"":4,"7":5}}`
	for ref, want := range map[string]string{
		"#": schema, "#/$defs/a~1b": "1", "#/$defs/c~0d/e%20f/0": "2", "#/$defs/c~0d/e f/1/0": "3",
		"#/$defs/": "4", "#/$defs/7": "5",
		"": "", "#anchor": "", "other.json#/$defs": "", "#/%zz": "", "#/$defs/none/0": "",
		"#/$defs/c~0d/e f/2": "", "#/$defs/c~0d/e f/-1": "",
		"#/$defs/a~1b/0": "",
	} {
		assert.Equal(t, string(NewRoot([]byte(schema)).resolve(ref)), want, ref)
	}
}

func TestFits(t *testing.T) {
	types := []string{"null", "boolean", "integer", "number", "string", "array", "object", "other"}
	for text, want := range map[string]string{
		"null": "null", "true": "boolean", "false": "boolean", "-1": "integer number",
		"1.0": "number", "1e2": "number", `"x"`: "string",
		"[1]": "array", "{}": "object", "": "", "x": "", "01": "", "[": "", "+1": "", "NaN": "",
		"True": "",
	} {
		var got string
		for _, name := range types {
			if Fits(name, text) {
				got += " " + name
			}
		}
		if want != "" {
			want = " " + want
		}
		assert.Equal(t, got, want, text)
	}
}

func TestCoerce(t *testing.T) {
	for _, c := range []struct{ schema, text, want string }{
		{`{"type":"string"}`, " 5 ", `" 5 "`},
		{`{"type":"integer"}`, " 5 ", "5"},
		{`{"type":"integer"}`, " 1.0", "1.0"},
		{`{"type":"integer"}`, "1.5", "1.5"}, // validation refuses it
		{`{"type":"integer"}`, "012", `"012"`},
		{`{"type":["string","integer"]}`, "5", `"5"`},
		{`{"type":["integer","string"]}`, "5", "5"},
		{`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, "null", "null"},
		{`{"allOf":[{"type":"integer"},{"minimum":1}]}`, "5", "5"},
		{`{"if":{"minLength":1},"then":{"type":"boolean"}}`, "true", "true"},
		{`{"enum":["red",5]}`, "red", `"red"`},
		{`{"enum":["red",5]}`, `"red"`, `"red"`},
		{`{"enum":["red",5]}`, "5", "5"},
		{`{"enum":[5,"5"]}`, "5", `"5"`},
		{`{"oneOf":[{"const":"a"},{"const":1}]}`, "1", "1"},
		{`{"type":"array","items":{"type":"string"}}`, "x", `["x"]`},
		{`{"type":"array","items":{"type":"string"}}`, `["x","y"]`, `["x","y"]`},
		{`{"type":"array","items":{"type":"string"}}`, `[1]`, `["[1]"]`},
		{`{"type":"array","items":{"type":"integer"}}`, "[1.0, 2]", "[1.0, 2]"},
		{`{"type":"array","items":{"type":"array"}}`, "[1]", "[[1]]"},
		{`{"type":["string","array"]}`, "[1]", `"[1]"`},
		{`{"type":"object"}`, "x", `"x"`},
		{`{"$defs":{"n":{"type":"number"}},"$ref":"#/$defs/n"}`, "1e3", "1e3"},
		{`{"$ref":"#"}`, "5", `"5"`},
		{`true`, "5", `"5"`},
		{`true`, ` {"a":[1]} `, `{"a":[1]}`},
		{`{}`, `[1, "x"]`, `[1, "x"]`},
		{`{"description":"d"}`, `{"a":1}`, `{"a":1}`},
		{`{}`, `{"a":`, `"{\"a\":"`},
		{`{}`, `"x"`, `"\"x\""`},
		{`{}`, "true", `"true"`},
		{`{"enum":["red"]}`, "[1]", `"[1]"`},
		{`{"type":"array","items":{}}`, `{"a":1}`, `[{"a":1}]`},
		{`{"type":"string"}`, `{"a":1}`, `"{\"a\":1}"`},
	} {
		got := NewSchema([]byte(c.schema)).Coerce(c.text)
		assert.Equal(t, string(got), c.want, "%s %s", c.schema, c.text)
	}
}

func TestFileName(t *testing.T) {
	for text, want := range map[string]struct {
		s      string
		isFile bool
	}{
		"x": {"x", false}, "": {"", false}, "@": {"", true}, "@x": {"x", true}, "@@": {"@", false},
		"@@x": {"@x", false}, "x@": {"x@", false},
	} {
		s, isFile := FileName(text)
		assert.Equal(t, s, want.s, text)
		assert.Equal(t, isFile, want.isFile, text)
	}
}

func TestAlternatives(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"string"}`, "string"},
		{`{}`, ""},
		{`{"anyOf":[{"type":"string"},{"oneOf":[{"type":"null"},{"$ref":"#/$defs/n"}]}],
			"$defs":{"n":{"type":"number"}}}`, "string|null|number"},
		{`{"$ref":"#/$defs/n","$defs":{"n":{"oneOf":[{"type":"string"},{"type":"null"}]}}}`,
			"string|null"},
		{`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`, "||object"},
		{`{"allOf":[{"type":"string"}],"anyOf":[{"type":"number"}]}`, "number|string"},
		{`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`, ""},
	} {
		var got []string
		for _, alternative := range NewSchema([]byte(c.schema)).Alternatives() {
			got = append(got, strings.Join(alternative.Types(), ","))
		}
		assert.Equal(t, strings.Join(got, "|"), c.want, c.schema)
	}
	own := NewSchema([]byte(`{"allOf":[{"properties":{"a":{}}}],"then":{"properties":{"b":{}}},
		"anyOf":[{"properties":{"c":{}}}]}`)).Own()
	assert.Equal(t, len(own.Fields()), 1)
}

// Walking a recursive schema ends at the limit.
func TestLimited(t *testing.T) {
	s := NewSchema([]byte(`{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}`)).Limited()
	steps := 0
	for fields := s.Fields(); len(fields) > 0; fields = fields[1].Schema.Fields() {
		steps++
	}
	assert.Assert(t, 10_000 < steps && steps < minBudget, "%d", steps)
	assert.Equal(t, len(s.Fields()), 0)
}
