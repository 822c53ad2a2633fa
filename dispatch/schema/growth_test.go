package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/growth"
)

func repeatList(n int, text string) string {
	return strings.TrimSuffix(strings.Repeat(text+",", n), ",")
}

// Compile takes time linear in the size of the schema, even of one that is made to be slow.
func TestCompileIsLinear(t *testing.T) {
	for _, tc := range []struct {
		name   string
		n      int
		schema func(n int) string
	}{
		{"references into $defs", 2000, func(n int) string {
			return `{"$defs":{` + growth.List(n, `"d*":{"type":"string"}`) + `},"allOf":[` +
				growth.List(n, `{"$ref":"#/$defs/d*"}`) + `]}`
		}},
		{"references to elements", 2000, func(n int) string {
			return `{"$defs":{"a":{"anyOf":[` + repeatList(n, `{"type":"string"}`) + `]}},"allOf":[` +
				growth.List(n, `{"$ref":"#/$defs/a/anyOf/*"}`) + `]}`
		}},
		{"references past a long base", 500, func(n int) string {
			return `{"$id":"http://x/` + strings.Repeat("y", 40*n) +
				`/","$defs":{"a":{"$id":"a"}},"allOf":[` + repeatList(n, `{"$ref":"a"}`) + `]}`
		}},
		{"dynamic references that lead to more of them", 250, func(n int) string {
			return `{"$dynamicRef":"#a0","$defs":{` +
				growth.List(n, `"d*":{"$id":"r*","$dynamicAnchor":"a*","x":{"$dynamicAnchor":"b*"}}`) +
				`,` +
				growth.List(n, `"e*":{"$dynamicAnchor":"a*","items":{"$dynamicRef":"r*#a*"}}`) +
				`},"items":{"anyOf":[` + growth.List(n, `{"$dynamicRef":"#a*"}`) + `]}}`
		}},
		{"named groups", 5000, func(n int) string {
			return `{"pattern":"` + strings.ReplaceAll(growth.List(n, "(?<g*>)"), ",", "") + `"}`
		}},
		{"defaults in one another", 100, func(n int) string {
			s := `{"type":"string"}`
			for i := range n {
				s = `{"$ref":"#` + strings.Repeat("/default", i+1) + `","default":` + s +
					`,"title":"` + strings.Repeat(" x", 500) + `"}`
			}
			return s
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			growth.Linear(t, tc.n, func(n int) func() {
				text := []byte(tc.schema(n))
				return func() {
					if _, err := Compile(text); err != nil && !errors.Is(err, ErrLimit) {
						t.Fatalf("%.200s: %v", text, err)
					}
				}
			})
		})
	}
}

// Validate takes time linear in the size of schema and document together, or fails with ErrLimit in
// time linear in the size of the document.
func TestValidateIsLinear(t *testing.T) {
	for _, tc := range []struct {
		name             string
		n                int
		schema, document func(n int) string
	}{
		{"required", 2000,
			func(n int) string { return `{"items":{"required":[` + growth.List(n, `"p*"`) + `]}}` },
			func(n int) string { return `[` + repeatList(10*n, `{}`) + `]` }},
		{"dependentRequired", 2000,
			func(n int) string {
				return `{"items":{"dependentRequired":{` + growth.List(n, `"p*":["q"]`) + `}}}`
			},
			func(n int) string { return `[` + repeatList(10*n, `{}`) + `]` }},
		{"many properties", 10000,
			func(n int) string {
				return `{"items":{"properties":{` + growth.List(n, `"p*":{"type":"string"}`) + `}}}`
			},
			func(n int) string { return `[` + repeatList(10*n, `{}`) + `]` }},
		{"unknown properties", 1000,
			func(n int) string {
				return `{"properties":{` + growth.List(n, `"p*":{"type":"string"}`) +
					`},"additionalProperties":false}`
			},
			func(n int) string { return `{` + growth.List(4*n, `"q*":1`) + `}` }},
		{"enum of strings", 2000,
			func(n int) string { return `{"items":{"enum":[` + growth.List(n, `"e*"`) + `]}}` },
			func(n int) string { return `[` + growth.List(4*n, `"f*"`) + `]` }},
		{"length", 2000,
			func(n int) string { return `{"anyOf":[` + growth.List(n, `{"maxLength":*}`) + `]}` },
			func(n int) string { return `"` + strings.Repeat("é", 20*n) + `"` }},
		{"digits", 1000,
			func(n int) string {
				return `{"anyOf":[` + repeatList(n, `{"type":"integer","minimum":9e99999999}`) + `]}`
			},
			func(n int) string { return strings.Repeat("7", 50*n) }},
		{"long names", 2000, // a smaller one ends before it runs out of steps
			func(n int) string {
				return `{"allOf":[` + repeatList(n, `{"properties":{"a":true,"b":{"type":"string"}}}`) +
					`]}`
			},
			func(n int) string { return `{"\u0061` + strings.Repeat("a", 100*n) + `":1}` }},
		{"unevaluated", 500,
			func(n int) string {
				return `{"allOf":[` + repeatList(n, `{"unevaluatedProperties":true}`) + `]}`
			},
			func(n int) string { return `{` + growth.List(20*n, `"p*":1`) + `}` }},
		{"multiples of large numbers", 40000,
			func(n int) string { return `{"multipleOf":` + strings.Repeat("7", n) + `}` },
			func(n int) string { return strings.Repeat("7", n) }},
		{"patterns and properties", 500,
			func(n int) string {
				return `{"patternProperties":{` + growth.List(n, `"x*":{"type":"string"}`) +
					`},"properties":{` + growth.List(n, `"p*":{"type":"string"}`) + `}}`
			},
			func(n int) string { return `{` + growth.List(20*n, `"p*":"x"`) + `}` }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			growth.Linear(t, tc.n, func(n int) func() {
				s, err := Compile([]byte(tc.schema(n)))
				if errors.Is(err, ErrLimit) {
					return func() {}
				}
				assert.NilError(t, err)
				document := []byte(tc.document(n))
				return func() { _ = s.Validate(document) }
			})
		})
	}
}

func TestFillDefaultsIsLinear(t *testing.T) {
	for _, tc := range []struct {
		name             string
		n                int
		schema, document func(n int) string
	}{
		{"many properties", 2000,
			func(n int) string {
				return `{"items":{"properties":{` + growth.List(n, `"p*":{"type":"string"}`) +
					`,"d":{"default":1}}}}`
			},
			func(n int) string { return `[` + repeatList(10*n, `{}`) + `]` }},
		{"many defaults", 5000,
			func(n int) string {
				return `{"properties":{` + growth.List(n, `"p*":{"default":*}`) + `}}`
			},
			func(int) string { return `{}` }},
		{"allOf within allOf", 50,
			func(n int) string {
				s := `{"$defs":{"e":{}`
				for i := range 3 {
					s += fmt.Sprintf(`,"l%d":{"allOf":[%s]}`, i,
						repeatList(n, fmt.Sprintf(`{"$ref":"#/$defs/l%d"}`, i+1)))
				}
				return s + `,"l3":{}},"properties":{"a":{"$ref":"#/$defs/l0"},"b":{"default":1}}}`
			},
			func(int) string { return `{}` }},
		{"large defaults", 500,
			func(n int) string {
				return `{"items":{"properties":{"a":{"default":"` + strings.Repeat("x", 20*n) +
					`"}}}}`
			},
			func(n int) string { return `[` + repeatList(10*n, `{}`) + `]` }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			growth.Linear(t, tc.n, func(n int) func() {
				s, err := Compile([]byte(tc.schema(n)))
				assert.NilError(t, err)
				document := []byte(tc.document(n))
				return func() { _, _ = s.FillDefaults(document) }
			})
		})
	}
}

func TestFormatsAreLinear(t *testing.T) {
	for name := range formats {
		s := withFormats(t, `{"format":"`+name+`"}`)
		for _, part := range []string{"a", "a.", "1:", "/", "%20", "(", "a@", "[", "{a}", "0", "-",
			"xn--", ".", "(a*)*", "[a-z]"} {
			t.Run(name+" of "+part, func(t *testing.T) {
				growth.Linear(t, 20_000, func(n int) func() {
					document := []byte(`"` + strings.Repeat(part, n) + `"`)
					return func() { _ = s.Validate(document) }
				})
			})
		}
	}
}

// A short pattern can be a large expression of package regexp.
func TestPatternsAreLimited(t *testing.T) {
	for _, pattern := range []string{
		"[" + strings.Repeat(`\\S`, 50_000) + "]{100000}",
		"[" + strings.Repeat(`\\S`, 50_000) + "]",
		strings.Repeat("x", maxPatternSize+1),
		"[" + strings.Repeat(`\\p{L}`, 5000) + "]",
		strings.Repeat("(?:", 1000) + strings.Repeat(")", 1000),
	} {
		_, err := Compile([]byte(`{"pattern":"` + pattern + `"}`))
		assert.Assert(t, errors.Is(err, ErrPattern) || errors.Is(err, ErrLimit), err)
		assert.Assert(t, len(err.Error()) < 1000)
	}
}

func TestURIsAndDivisorsAreLimited(t *testing.T) {
	for _, schema := range []string{
		`{"$id":"http://x/` + strings.Repeat("y", maxURI) + `"}`,
		`{"$id":"http://x/","items":{"$id":"` + strings.Repeat("y", maxURI) + `"}}`,
		`{"multipleOf":1` + strings.Repeat("1", maxDivisor) + `}`,
	} {
		_, err := Compile([]byte(schema))
		assert.ErrorIs(t, err, ErrLimit)
	}
}
