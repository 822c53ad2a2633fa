package form

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestPointed(t *testing.T) {
	const schema = `{"$defs":{"a/b":1,"c~d":{"e f":[2,{"0":3}]},"":4,"7":5}}`
	for ref, want := range map[string]string{
		"#": schema, "#/$defs/a~1b": "1", "#/$defs/c~0d/e%20f/0": "2", "#/$defs/c~0d/e f/1/0": "3", "#/$defs/": "4", "#/$defs/7": "5",
		"": "", "#anchor": "", "other.json#/$defs": "", "#/%zz": "", "#/$defs/none/0": "", "#/$defs/c~0d/e f/2": "", "#/$defs/c~0d/e f/-1": "",
		"#/$defs/a~1b/0": "",
	} {
		assert.Equal(t, string(Pointed([]byte(schema), ref)), want, ref)
	}
}

func TestFits(t *testing.T) {
	types := []string{"null", "boolean", "integer", "number", "string", "array", "object", "other"}
	for text, want := range map[string]string{
		"null": "null", "true": "boolean", "false": "boolean", "-1": "integer number", "1.0": "number", "1e2": "number", `"x"`: "string",
		"[1]": "array", "{}": "object", "": "", "x": "", "01": "", "[": "", "+1": "", "NaN": "", "True": "",
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
