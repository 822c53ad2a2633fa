package schema

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestFillDefaults(t *testing.T) {
	for _, tc := range []struct{ schema, document, want string }{
		{`{"properties":{"a":{"default":1}}}`, `{}`, `{"a":1}`},
		{`{"properties":{"a":{"default":1}}}`, ` { } `, ` { "a":1} `},
		{`{"properties":{"a":{"default":1}}}`, `{"b":2}`, `{"b":2,"a":1}`},
		{`{"properties":{"a":{"default":1}}}`, `{"a":null}`, ``},
		{`{"properties":{"a":{"default":1}}}`, `{"\u0061":2}`, ``},
		{`{"properties":{"a":{"default":1}}}`, `[{}]`, ``},
		{`{"properties":{"a":{"default":[1, "x y",
			{}]},"b":{"default":false},"c":true}}`, `{}`, `{"a":[1,"x y",{}],"b":false}`},
		{`{"properties":{"a\"\n":{"default":1}}}`, `{}`, `{"a\"\n":1}`},
		{`{"properties":{"a":{"properties":{"b":{"default":"x"}}},"c":{"default":1}}}`, `{"a":{}}`,
			`{"a":{"b":"x"},"c":1}`},
		{`{"properties":{"a":{"properties":{"b":{"default":"x"}}}}}`, `{}`, ``},
		{`{"properties":{"a":{"default":{},"properties":{"b":{"default":"x"}}}}}`, `{}`,
			`{"a":{}}`},
		{`{"items":{"properties":{"a":{"default":1}}}}`, `[{},{"a":2},3,{"b":[]}]`,
			`[{"a":1},{"a":2},3,{"b":[],"a":1}]`},
		{`{"prefixItems":[true,{"properties":{"a":{"default":1}}}],"items":{"properties":{"a":{"default":2}}}}`,
			`[{},{},{}]`, `[{},{"a":1},{"a":2}]`},
		{`{"$ref":"#/$defs/t","$defs":{"t":{"properties":{"n":{"default":0},"next":{"$ref":"#/$defs/t"}}}}}`,
			`{"next":{"next":{}}}`,
			`{"next":{"next":{"n":0},"n":0},"n":0}`},
		{`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"default":7}]}}}`, `{}`,
			`{"a":7}`},
		{`{"allOf":[{"properties":{"a":{"default":1}}},{"properties":{"a":{"default":2},"b":{"default":3}}}]}`,
			`{}`, `{"a":1,"b":3}`},
		{`{"allOf":[{"properties":{"o":{"properties":{"a":{"default":1}}}}}],"properties":{"o":{"properties":{"a":{"default":2}}}}}`,
			`{"o":{}}`, `{"o":{"a":2}}`},
		{`{"anyOf":[{"properties":{"a":{"default":1}}}],"if":true,"then":{"properties":{"a":{"default":1}}}}`,
			`{}`, ``},
		{`{"required":["a"],"dependentRequired":{"a":["b"]},"default":{}}`, `{}`, ``},
		{`true`, `{}`, ``},
	} {
		s := MustCompile(tc.schema)
		in := []byte(tc.document)
		out, err := s.FillDefaults(in)
		assert.NilError(t, err, tc.schema)
		assert.Equal(t, string(in), tc.document)
		if s.Validate(in) == nil {
			both, _, err := s.ValidateAndFill(in, false)
			assert.NilError(t, err)
			assert.Equal(t, string(both), string(out))
		}
		if tc.want == "" {
			assert.Assert(t, &out[0] == &in[0], "%s %s gave %s", tc.schema, tc.document, out)
			continue
		}
		assert.Equal(t, string(out), tc.want, tc.schema)
		if !strings.Contains(tc.schema, `"default":{}`) { // which gets no defaults itself
			again, err := s.FillDefaults(out)
			assert.NilError(t, err)
			assert.Assert(t, &again[0] == &out[0], "%s is not full", out)
		}
	}

	s := MustCompile(`{"properties":{"a":{"default":1}}}`)
	_, err := s.FillDefaults([]byte(`{`))
	assert.ErrorContains(t, err, "invalid JSON")
}

// Subschemas to which many references lead do not take exponential time.
func TestFillDefaultsLimit(t *testing.T) {
	var defs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&defs, `"%d":{"allOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]},`, i+1, i,
			i)
	}
	s := MustCompile(`{"$ref":"#/$defs/40","$defs":{` + defs.String() +
		`"0":{"properties":{"a":{"default":1}}}}}`)
	in := []byte(`{}`)
	out, err := s.FillDefaults(in)
	assert.Assert(t, errors.Is(err, ErrLimit), "%v", err)
	assert.Equal(t, string(out), `{}`)
}

// A reference costs a step before it is remembered, so that the memory is bounded, too.
func TestFillDefaultsLimitsMemory(t *testing.T) {
	const refs = 3000
	allOf := func(name string) string {
		ref := `{"$ref":"#/$defs/` + name + `"}`
		return `{"allOf":[` + strings.Repeat(ref+",", refs-1) + ref + `]}`
	}
	s := MustCompile(`{"$ref":"#/$defs/a","$defs":{"a":` + allOf("b") + `,"b":` + allOf("c") +
		`,"c":{"properties":{"a":{"default":1}}}}}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := s.FillDefaults([]byte(`{}`))
	runtime.ReadMemStats(&after)
	assert.Assert(t, errors.Is(err, ErrLimit), "%v", err)
	// a million steps for references of 8 bytes in a slice that grows by a quarter
	allocated := after.TotalAlloc - before.TotalAlloc
	assert.Assert(t, allocated < 100<<20, "%d bytes", allocated)
}
