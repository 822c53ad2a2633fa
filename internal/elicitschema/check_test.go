package elicitschema_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/internal/elicitschema"
)

func TestCheck(t *testing.T) {
	form := func(property string) string {
		return `{"type":"object","properties":{"p":` + property + `},"required":["p"]}`
	}
	for _, flat := range []string{`{"type":"object"}`, `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{},"additionalProperties":false,"title":"T","$defs":{}}`,
		form(`{"type":"string","format":"email","minLength":1,"default":"a"}`),
		form(`{"type":"integer","minimum":0}`), form(`{"type":"boolean","default":true}`),
		form(`{"type":"string","enum":["a","b"],"enumNames":["A","B"]}`), form(`{"enum":[1,2,null]}`),
		form(`{"type":"string","oneOf":[{"const":"a","title":"A"}]}`),
		form(`{"type":"array","items":{"type":"string","enum":["a"]},"default":["a"],"minItems":1}`),
		form(`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`),
		form(`{"type":"array","items":{"type":"string"}}`),
		form(`{"type":["string","null"]}`),
		form(`{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null}`),
		form(`{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]}`),
	} {
		assert.NilError(t, elicitschema.Check([]byte(flat)), flat)
	}
	for nested, want := range map[string]string{
		``:                                  "missing",
		`true`:                              "of type object",
		`{"type":"array"}`:                  "of type object",
		`{"properties":{}}`:                 "of type object",
		`{"type":"object","properties":[]}`: "must be an object",
		`{"type":"object","allOf":[{"$ref":"#"}]}`:                                  "allOf",
		`{"type":"object","additionalProperties":{"$ref":"#"}}`:                     "true or false",
		`{"type":"object","patternProperties":{"a":{"type":"string"}}}`:             "patternProperties",
		form(`{"type":"object","properties":{}}`):                                   "properties",
		form(`{"type":"object"}`):                                                   `"object" is not allowed`,
		form(`{"$ref":"#"}`):                                                        "$ref",
		form(`{"type":"string","allOf":[{"$ref":"#"}]}`):                            "allOf",
		form(`{"type":"string","\u0024ref":"#"}`):                                   "$ref",
		form(`{"type":"array","minItems":20,"items":{"$ref":"#"}}`):                 "$ref",
		form(`{"type":"array","items":{"type":"array","items":{"type":"string"}}}`): `"array" is not`,
		form(`{"type":"array","items":{"type":"object"}}`):                          "object",
		form(`{"type":"array"}`):                                                    "items",
		form(`{"type":"string","items":{"type":"string"}}`):                         "items",
		form(`{"type":"array","items":{"type":"string"},"prefixItems":[]}`):         "prefixItems",
		form(`{"anyOf":[{"anyOf":[{"type":"string"}]}]}`):                           "within another",
		form(`{"oneOf":[{"$ref":"#"}]}`):                                            "$ref",
		form(`{"enum":[{"a":1}]}`):                                                  "primitive",
		form(`{"type":"string","default":{"a":1}}`):                                 "primitive",
		form(`{"type":"array","items":{"type":"string"},"default":[["a"]]}`):        "primitive",
		form(`{"const":["a"]}`):                                                     "primitive",
		form(`{"title":"T"}`):                                                       "no type",
		form(`true`):                                                                "must be an object",
	} {
		err := elicitschema.Check([]byte(nested))
		assert.Assert(t, err != nil, nested)
		assert.Assert(t, cmp.Contains(err.Error(), want), nested)
	}
	assert.NilError(t, elicitschema.Check([]byte(form(`{"enum":["`+
		strings.Repeat("a", 1<<20)+`"]}`))))
}
