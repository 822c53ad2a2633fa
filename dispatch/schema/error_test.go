package schema

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
)

// The messages for invalid documents, word for word.
func TestErrorText(t *testing.T) {
	for _, tc := range []struct{ schema, document, want string }{
		{`{"type":"integer"}`, `"x"`, `must be an integer, not "x"`},
		{`{"type":"integer"}`, `1.5`, `must be an integer, not 1.5`},
		{`{"type":["null","string","array"]}`, `{}`,
			`must be a string, an array or null, not {}`},
		{`{"type":"boolean"}`, `7`, `must be a boolean, not 7`},
		{`{"properties":{"count":{"type":"integer"}},"required":["path"]}`, `{"count":"1"}`,
			`count must be an integer, not "1"; missing required property "path"`},
		{`{"properties":{"cwd":true,"command":true},"additionalProperties":false}`, `{"cmd":1}`,
			`unknown property "cmd" (did you mean "command"?)`},
		{`{"properties":{"path":true},"additionalProperties":false}`, `{"pth":1}`,
			`unknown property "pth" (did you mean "path"?)`},
		{`{"properties":{"path":true,"n":true},"additionalProperties":false}`, `{"zzz":1}`,
			`unknown property "zzz" (known: path, n)`},
		{`{"allOf":[{"properties":{"path":true}}],"unevaluatedProperties":false}`,
			`{"path":1,"Path":1}`,
			`unknown property "Path" (did you mean "path"?)`},
		{`{"additionalProperties":false}`, `{"x":1}`, `unknown property "x"`},
		{`{"properties":{"a":false}}`, `{"a":1}`, `a must not be present`},
		{`{"enum":["a","b",3]}`, `"c"`, `must be "a", "b" or 3, not "c"`},
		{`{"enum":[1]}`, `[]`, `must be 1, not []`},
		{`{"const":{"a":1}}`, `{}`, `must be {"a":1}, not {}`},
		{`{"minimum":1}`, `0.5`, `must be at least 1, not 0.5`},
		{`{"maximum":1}`, `2`, `must be at most 1, not 2`},
		{`{"exclusiveMinimum":1,"exclusiveMaximum":1}`, `1`,
			`must be greater than 1, not 1; must be less than 1, not 1`},
		{`{"multipleOf":0.1}`, `0.15`, `must be a multiple of 0.1, not 0.15`},
		{`{"minLength":1}`, `""`, `must have at least 1 character, has 0`},
		{`{"maxLength":2}`, `"äöü"`, `must have at most 2 characters, has 3`},
		{`{"pattern":"^a"}`, `"b"`, `must match the pattern ^a, not "b"`},
		{`{"minItems":2}`, `[1]`, `must have at least 2 items, has 1`},
		{`{"maxItems":0}`, `[1]`, `must have at most 0 items, has 1`},
		{`{"uniqueItems":true}`, `[1,2,1.0]`, `must not have equal items, but items 0 and 2 are equal`},
		{`{"contains":{"type":"string"}}`, `[1]`,
			`must have at least 1 item matching "contains", has 0`},
		{`{"contains":true,"minContains":2}`, `[1]`,
			`must have at least 2 items matching "contains", has 1`},
		{`{"contains":true,"maxContains":1}`, `[1,2]`,
			`must have at most 1 item matching "contains", has 2`},
		{`{"items":{"items":{"type":"string"}}}`, `[[],["a",1]]`,
			`[1][1] must be a string, not 1`},
		{`{"properties":{"a/b":{"properties":{"~":{"type":"null"}}}}}`, `{"a/b":{"~":1}}`,
			`["a/b"]["~"] must be null, not 1`},
		{`{"minProperties":1}`, `{}`, `must have at least 1 property, has 0`},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, `must have at most 1 property, has 2`},
		{`{"propertyNames":{"pattern":"^a"}}`, `{"b":1}`,
			`the property name "b" must match the pattern ^a`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`,
			`missing property "b", which is required when "a" is present`},
		{`{"not":{"type":"string"}}`, `"x"`,
			`must not match the schema of "not"`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`,
			`must be a string or null, not 1`},
		{`{"anyOf":[{"type":"string"},{"properties":{"a":{"type":"string"}}}]}`, `{"a":1}`,
			`must match one of 2 alternatives, of which number 1 (counted from 0) is the closest; a must be a string, not 1`},
		{`{"oneOf":[{"properties":{"kind":{"const":"a"},"x":{"type":"integer"}}},{"properties":{"kind":{"const":"b"},"x":{"type":"null"}}}]}`,
			`{"kind":"b","x":"1"}`,
			`must match one of 2 alternatives, of which number 1 (counted from 0) is the closest; x must be null, not "1"`},
		{`{"oneOf":[{"minimum":1},true,{"minimum":5}]}`, `3`,
			`must match exactly one of 3 alternatives, matches 2 of them (numbers 0, 1, counted from 0)`},
		{`{"if":{"type":"string"},"then":{"minLength":2},"else":{"type":"null"}}`, `"a"`,
			`must have at least 2 characters, has 1`},
		{`{"if":{"type":"string"},"then":{"minLength":2},"else":{"type":"null"}}`, `1`,
			`must be null, not 1`},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":1,"\u0061":2}`,
			`property "a" occurs more than once`},
		{`{"not":{"properties":{"a":{"const":1}}}}`, `{"a":1,"a":2}`,
			`property "a" occurs more than once`},
		{`{"items":{"type":"null"}}`, `[1,1,1,1,1,1,1,1,1,1,1,1]`,
			`[0] must be null, not 1; ` + `[1] must be null, not 1; ` + `[2] must be null, not 1; ` +
				`[3] must be null, not 1; ` + `[4] must be null, not 1; ` +
				`[5] must be null, not 1; ` + `[6] must be null, not 1; ` +
				`[7] must be null, not 1; ` + `[8] must be null, not 1; ` +
				`[9] must be null, not 1; and 2 more`},
		{`{"anyOf":[{"type":"null"},{"minLength":2}]}`, `"x"`,
			`must be null, or must have at least 2 characters, has 1`},
		{`{"properties":{"a":{"properties":{"b c":{"items":{"required":["x"]}}}}}}`,
			`{"a":{"b c":[{},{"x":1}]}}`, `a["b c"][0]: missing required property "x"`},
	} {
		s, err := Compile([]byte(tc.schema))
		assert.NilError(t, err, tc.schema)
		err = s.Validate([]byte(tc.document))
		failure := (*Error)(nil)
		assert.Assert(t, errors.As(err, &failure), "%s %s: %v", tc.schema, tc.document, err)
		assert.Equal(t, err.Error(), tc.want)
	}
}

// A long scalar is truncated, and no value in an array or object is shown.
func TestErrorTruncatesValues(t *testing.T) {
	digits := strings.Repeat("7", 41)
	for _, tc := range []struct{ schema, document, want string }{
		{`{"type":"integer"}`, `"` + strings.Repeat("ä", 41) + `"`,
			`must be an integer, not "` + strings.Repeat("ä", 40) + `…"`},
		{`{"type":"integer"}`, `"` + strings.Repeat(`\u00e4`, 40) + `"`,
			`must be an integer, not "` + strings.Repeat("ä", 40) + `"`},
		{`{"type":"string"}`, digits, `must be a string, not ` + digits[1:] + `…`},
		{`{"type":"string"}`, `{"password":"x"}`, `must be a string, not an object`},
		{`{"type":"string"}`, `["x"]`, `must be a string, not an array`},
		{`{"type":"string"}`, `[
		]`, `must be a string, not []`},
	} {
		assert.Error(t, MustCompile(tc.schema).Validate([]byte(tc.document)), tc.want)
	}
}

// Long names, patterns and values are truncated.
func TestErrorTruncatesNames(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	for _, tc := range []struct{ schema, document string }{
		{`{"additionalProperties":false}`, `{"` + long + `":1}`},
		{`{"properties":{"` + long + `":{"type":"null"}}}`, `{"` + long + `":1}`},
		{`{"required":["` + long + `"]}`, `{}`},
		{`{"properties":{"` + long + `":true},"additionalProperties":false}`, `{"a":1}`},
		{`{"dependentRequired":{"` + long + `":["` + long + `y"]}}`, `{"` + long + `":1}`},
		{`{"propertyNames":{"maxLength":1}}`, `{"` + long + `":1}`},
		{`{"properties":{"a":{"pattern":"^y` + long[:900] + `"}}}`, `{"a":"` + long + `"}`},
		{`{"const":"` + long + `"}`, `"` + long + `y"`},
		{`{"enum":["` + long + `"]}`, `"` + long + `y"`},
		{`{"properties":{"` + long + `":true}}`, `{"` + long + `":1,"` + long + `":2}`},
	} {
		s := MustCompile(tc.schema)
		err := s.Validate([]byte(tc.document))
		assert.Assert(t, err != nil && len(err.Error()) < 400, "%.100s: %.500v", tc.schema, err)
	}
}

// No message shows a value that is writeOnly or of format password, whichever subschema says so.
func TestErrorShowsNoSecret(t *testing.T) {
	const document = `{"p":"hunter2"}`
	for _, tc := range []struct{ schema, want string }{
		{`{"type":"integer","writeOnly":true}`, `p must be an integer`},
		{`{"type":"integer","format":"password"}`, `p must be an integer`},
		{`{"enum":["a"],"writeOnly":true}`, `p must be "a"`},
		{`{"const":"a","writeOnly":true}`, `p must be "a"`},
		{`{"pattern":"^a","writeOnly":true}`, `p must match the pattern ^a`},
		{`{"type":"integer","writeOnly":false}`, `p must be an integer, not "hunter2"`},
		{`{"type":"integer","writeOnly":"yes"}`, `p must be an integer, not "hunter2"`},
		{`{"type":"integer","$ref":"#/$defs/secret"}`, `p must be an integer`},
		{`{"allOf":[{"type":"integer"},{"writeOnly":true}]}`, `p must be an integer`},
		{`{"anyOf":[{"type":"integer"},{"type":"null","format":"password"}]}`,
			`p must be an integer or null`},
	} {
		s := MustCompile(`{"properties":{"p":` + tc.schema +
			`},"$defs":{"secret":{"writeOnly":true}}}`)
		assert.Error(t, s.Validate([]byte(document)), tc.want, tc.schema)
	}
	s := MustCompile(`{"writeOnly":true,"properties":{"p":{"items":{"type":"null"}}}}`)
	assert.Error(t, s.Validate([]byte(`{"p":[1]}`)), `p[0] must be null`)
	s = MustCompile(`{"allOf":[{"properties":{"p":{"type":"null"}}},
		{"properties":{"p":{"writeOnly":true}}}]}`)
	assert.Error(t, s.Validate([]byte(document)), `p must be null`)
}

// A message truncates a long enum, but still suggests a similar value.
func TestLongEnum(t *testing.T) {
	var values []string
	for i := range 30 {
		values = append(values, fmt.Sprintf(`"value-%02d"`, i))
	}
	s := MustCompile(`{"enum":[` + strings.Join(values, ",") + `]}`)
	err := s.Validate([]byte(`"valu-29"`))
	assert.ErrorContains(t, err,
		`"value-18", "value-19" or 10 other values, not "valu-29" (did you mean "value-29"?)`)
}

func TestFormatText(t *testing.T) {
	s := withFormats(t, `{"format":"date-time"}`)
	assert.Error(t, s.Validate([]byte(`"noon"`)),
		`must be a date and time, as 2006-01-02T15:04:05Z, not "noon"`)
	assert.NilError(t, MustCompile(`{"format":"date-time"}`).Validate([]byte(`"noon"`)))
}

// A cause has both locations, the keyword and the property.
func TestCause(t *testing.T) {
	s := MustCompile(
		`{"$id":"https://example.com/s","$ref":"#/$defs/a","$defs":{"a":{"properties":{"x":{"$ref":"#/$defs/b"}},"required":["y"]},
		"b":{"additionalProperties":false}}}`)
	err := s.Validate([]byte(`{"x":{"z":1}}`))
	failure := (*Error)(nil)
	assert.Assert(t, errors.As(err, &failure))
	assert.DeepEqual(t, failure.Causes, []Cause{
		{"/x", "https://example.com/s#/$defs/b/additionalProperties", "additionalProperties", "z",
			`unknown property "z"`},
		{"", "https://example.com/s#/$defs/a/required", "required", "y",
			`missing required property "y"`},
	})
}

func TestCompileErrors(t *testing.T) {
	for _, tc := range []struct {
		schema, want string
		is           error
	}{
		{`nonsense`, "invalid JSON", nil},
		{`[]`, "#: a schema must be an object or a boolean, is an array", nil},
		{`{"properties":{"a":1}}`,
			"#/properties/a: a schema must be an object or a boolean, is an integer", nil},
		{`{"type":"strin"}`, `#/type: "strin" is not a type`, nil},
		{`{"type":[]}`, "at least one type", nil},
		{`{"type":["string",1]}`, "must name a type, is 1", nil},
		{`{"enum":{}}`, "must be an array of values, is {}", nil},
		{`{"minimum":"1"}`, `must be a number, is "1"`, nil},
		{`{"multipleOf":0}`, "must be a number greater than 0, is 0", nil},
		{`{"multipleOf":-1}`, "greater than 0", nil},
		{`{"minLength":-1}`, "#/minLength: must be a non-negative integer, is -1", nil},
		{`{"maxItems":1.5}`, "must be a non-negative integer", nil},
		{`{"maxItems":"1"}`, "must be a non-negative integer", nil},
		{`{"uniqueItems":1}`, "must be true or false", nil},
		{`{"pattern":1}`, "must be a regular expression", nil},
		{`{"pattern":"(?!x)"}`, `unusable regular expression "(?!x)": lookahead is not supported`,
			ErrPattern},
		{`{"patternProperties":{"\\1":true}}`, `a backreference is not supported`, ErrPattern},
		{`{"patternProperties":[]}`, "must be an object of schemas", nil},
		{`{"properties":[]}`, "must be an object of schemas", nil},
		{`{"properties":{"a":true,"a":true}}`, `property "a" occurs twice`, nil},
		{`{"type":"string","type":"null"}`, "occurs twice", nil},
		{`{"required":"a"}`, `must be an array of property names, is "a"`, nil},
		{`{"required":[1]}`, "has 1 in it", nil},
		{`{"dependentRequired":{"a":{}}}`, "must be an array of property names", nil},
		{`{"dependentSchemas":{"a":[]}}`, "must be an object or a boolean", nil},
		{`{"dependencies":1}`, "must be an object", nil},
		{`{"allOf":[]}`, "at least one schema", nil},
		{`{"anyOf":{}}`, "must be an array", nil},
		{`{"format":1}`, "must be the name of a format", nil},
		{`{"$ref":1}`, "must be a URI reference", nil},
		{`{"$ref":"#/$defs/a"}`, `#/$ref: unresolved reference: nothing at "#/$defs/a"`,
			ErrReference},
		{`{"$ref":"#a"}`, `no anchor "a"`, ErrReference},
		{`{"$ref":"#/%zz"}`, "unresolved reference", ErrReference},
		{`{"$ref":"http://[::1"}`, "unresolved reference", ErrReference},
		{`{"items":[{"$ref":"#/items/01"}]}`, "an array", nil},
		{`{"$ref":"#/allOf/01","allOf":[true,true]}`, "unresolved reference", ErrReference},
		{`{"$ref":"https://example.com/x"}`,
			`the document "https://example.com/x" is not available: Options.Load has to return it`,
			ErrReference},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, "unsupported dialect",
			ErrDialect},
		{`{"$schema":1}`, "$schema must be a string, is an integer", nil},
		{`{"$id":1}`, "must be a string", nil},
		{`{"$id":"a#b"}`, "must not have a fragment", nil},
		{`{"$id":"http://[::1"}`, "missing ']'", nil},
		{`{"$anchor":1}`, "must be a string", nil},
		{`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, `the anchor "x" is declared twice`,
			nil},
		{`{"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}}`, `"x" is already the $id of another schema`,
			nil},
		{`{"$ref":"#"}`, "applies itself to the same instance", nil},
		{`{"allOf":[{"anyOf":[{"$ref":"#"}]}]}`, "applies itself", nil},
		{`{"properties":{"a":{"dependentSchemas":{"b":{"not":{"$ref":"#/properties/a"}}}}}}`,
			"applies itself", nil},
		{`{"pattern":"(a{1000}){2000}"}`, "limit reached", ErrLimit},
		{`{"pattern":"(a{100}){100}"}`, "invalid repeat count", ErrPattern},
		{`{"$comment":"` + strings.Repeat("x", maxSchemaBytes) + `"}`, "more than 4194304 bytes",
			ErrLimit},
		{`{"allOf":[` + strings.Repeat("{},", maxSubschemas) + `{}]}`,
			"more than 100000 subschemas", ErrLimit},
	} {
		_, err := Compile([]byte(tc.schema))
		name := tc.schema[:min(len(tc.schema), 80)]
		assert.ErrorContains(t, err, tc.want, name)
		if tc.is != nil {
			assert.Assert(t, errors.Is(err, tc.is), name)
		}
		if tc.want != "invalid JSON" && !strings.Contains(tc.want, "bytes") {
			located := (*schemaError)(nil)
			assert.Assert(t, errors.As(err, &located), "%s: %T", name, err)
		}
	}
}

// Validation is limited whatever the schema.
func TestLimits(t *testing.T) {
	bomb := `{"$defs":{"0":{"type":"null"}`
	for i := range 40 { // each definition evaluates the preceding one twice
		bomb += fmt.Sprintf(`,"%d":{"anyOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]}`, i+1, i,
			i)
	}
	bomb += `},"$ref":"#/$defs/40"}`
	endless := `{"$id":"a","$dynamicAnchor":"x","$ref":"b","$defs":{"b":{"$id":"b","$dynamicRef":"#x","$defs":{"x":{"$dynamicAnchor":"x"}}}}}`
	for name, tc := range map[string]struct {
		schema   string
		document []byte
	}{
		"exponential": {bomb, []byte(`1`)},
		"endless":     {endless, []byte(`1`)},
		"pattern": {`{"pattern":"^(a{0,1000}b{0,1000}){1}$"}`,
			[]byte(`"` + strings.Repeat("a", 1<<20) + `"`)},
	} {
		s, err := Compile([]byte(tc.schema))
		assert.NilError(t, err, name)
		err = s.Validate(tc.document)
		assert.Assert(t, errors.Is(err, ErrLimit), "%s: %v", name, err)
		assert.NilError(t, MustCompile(`true`).Validate(tc.document), name)
	}

	s := MustCompile(`{"items":{"$ref":"#"}}`)
	assert.NilError(t, s.Validate(nested("[", "", "]", 1000)))
	assert.ErrorContains(t, s.Validate(nested("[", "", "]", 1001)), "nested too deeply")
	assert.ErrorContains(t, s.ValidateScanned(nested("[", "", "]", 1001)), "nested too deeply")
}

// ValidateScanned does not panic if the text is not JSON.
func TestValidateScannedGarbage(t *testing.T) {
	s := MustCompile(
		`{"type":["object","array","number"],"properties":{"a":{"minimum":1}},"required":["a"],"uniqueItems":true,"multipleOf":3,"items":{"minLength":2}}`)
	for _, garbage := range []string{``, `{`, `}`, `[`, `{]`, `{"a"}`, `{1:2}`, `{"a":1`, `"`, `"\`,
		`{"a":}`, `{,}`, `-`, `1e`, `1e+`, `.`, `1 2`, `[1}`, `{"a":"b":"c"}`, `xyz`, `-.e-`} {
		assert.Assert(t, s.ValidateScanned([]byte(garbage)) != nil || garbage != "", garbage)
	}
	assert.ErrorContains(t, s.ValidateScanned([]byte(`{1:2}`)), "no name")
	assert.ErrorContains(t, s.ValidateScanned(nil), "no end")
}

func TestValidateInvalidJSON(t *testing.T) {
	s := MustCompile(smallSchema)
	assert.ErrorContains(t, s.Validate([]byte(`{"path":"a",}`)), "invalid JSON")
	assert.ErrorContains(t, MustCompile("true").Validate([]byte(`{`)), "invalid JSON")
}

// A Schema is safe for concurrent use.
func TestConcurrent(t *testing.T) {
	s := MustCompile(smallSchema)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				assert.Check(t, s.Validate([]byte(smallDocument)) == nil)
				assert.Check(t, s.Validate([]byte(`{"pth":[1,2,3]}`)) != nil)
			}
		})
	}
	group.Wait()
}

func TestMustCompilePanics(t *testing.T) {
	defer func() { assert.ErrorContains(t, recover().(error), "is not a type") }()
	MustCompile(`{"type":"x"}`)
}

// The number of steps grows with the document, and does not overflow an int of 32 bits for 64 MiB.
func TestLargeDocument(t *testing.T) {
	s, err := Compile([]byte(`{"items": {"type": "integer"}}`))
	assert.NilError(t, err)
	document := []byte("[0" + strings.Repeat(",0", 32<<10) + strings.Repeat(" ", 65<<20) + "]")
	assert.NilError(t, s.Validate(document))
}
