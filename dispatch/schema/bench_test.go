package schema

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const (
	smallSchema = `{"type":"object","properties":{"path":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":1000},` +
		`"follow":{"type":"boolean"}},"required":["path"],"additionalProperties":false}`
	smallDocument = `{"path":"src/main/server/handler.go","limit":100,"follow":true}` // 64 bytes
	unionSchema   = `{"oneOf":[{"properties":{"kind":{"const":"a"},"x":{"type":"integer"}},"required":["kind"]},` +
		`{"properties":{"kind":{"const":"b"},"x":{"type":"string"}},"required":["kind"]}],"unevaluatedProperties":false}`
	unionDocument = `{"kind":"b","x":"hello"}`
)

// A valid document costs no allocation, not even if the length of a string with escapes is checked.
func TestValidateDoesNotAllocate(t *testing.T) {
	for _, tc := range []struct{ schema, document string }{
		{smallSchema, smallDocument},
		{unionSchema, unionDocument},
		{`{"properties":{"text":{"maxLength":100,"minLength":3}}}`,
			`{"text":"escapes \n \u00e9 are counted where they are"}`},
		{`{"items":{"enum":["a","b",1,null,{"x":[1]}]}}`, `["a",1.0,null,{"x":[1]},"b"]`},
		{`{"items":{"multipleOf":0.01,"type":"number","exclusiveMinimum":-1e300}}`,
			`[1,2.25,1e100,-0.01]`},
		{`{"pattern":"^[a-z]+$"}`, `"abcdef"`},
		{`{"uniqueItems":true,"contains":{"const":3}}`, `[1,2,3,4,5]`},
		{`{"$dynamicRef":"#n","$defs":{"n":{"$dynamicAnchor":"n","items":{"$dynamicRef":"#n"}}}}`,
			`[[],[[]],[]]`},
	} {
		s := MustCompile(tc.schema)
		data := []byte(tc.document)
		assert.NilError(t, s.Validate(data), tc.schema)
		// With the race detector, the pools of package regexp drop values at random.
		least := math.Inf(1)
		for range 10 {
			least = min(least, testing.AllocsPerRun(10, func() { _ = s.Validate(data) }))
		}
		assert.Equal(t, least, 0.0, tc.schema)
	}
}

func BenchmarkValidate(b *testing.B) {
	for _, bc := range []struct{ name, schema, document string }{
		{"small", smallSchema, smallDocument},
		{"union", unionSchema, unionDocument},
		{"numbers 64KiB", `{"items":{"type":"integer","minimum":0}}`, "[" +
			strings.Repeat("12345,", 64<<10/6) + "1]"},
		{"string 64KiB", `{"properties":{"text":{"type":"string","maxLength":100000}}}`,
			`{"text":"` + strings.Repeat("a", 64<<10) + `"}`},
	} {
		s := MustCompile(bc.schema)
		data := []byte(bc.document)
		for name, validate := range map[string]func([]byte) error{"Validate": s.Validate,
			"ValidateScanned": s.ValidateScanned} {
			b.Run(bc.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					if err := validate(data); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkValidateFails(b *testing.B) {
	s := MustCompile(smallSchema)
	data := []byte(`{"pth":"src/main/server/handler.go","limit":"100"}`)
	b.ReportAllocs()
	for b.Loop() {
		if s.Validate(data) == nil {
			b.Fatal("passes")
		}
	}
}

// typicalInput is like the input of an operation.
type typicalInput struct {
	Path   string `json:"path" doc:"File to read, relative to the root."`
	Mode   string `json:"mode" doc:"How to read it." enum:"text,binary,lines" default:"text"`
	Limit  int    `json:"limit" doc:"How many lines at most." default:"100" min:"1" max:"1000"`
	Follow bool   `json:"follow,omitempty" doc:"Whether to wait for more."`
}

func BenchmarkCompile(b *testing.B) {
	typical, err := For[typicalInput]()
	assert.NilError(b, err)
	for _, bc := range []struct{ name, schema string }{{"small", smallSchema},
		{"union", unionSchema}, {"typical", string(typical)}} {
		b.Run(bc.name, func(b *testing.B) {
			text := []byte(bc.schema)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (Options{AssertFormats: true}).Compile(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFor(b *testing.B) {
	for _, bc := range []struct {
		name    string
		of      reflect.Type
		options []InferOption
	}{
		{"recursive", reflect.TypeFor[tree](), nil},
		{"typical input", reflect.TypeFor[typicalInput](), nil},
		{"typical output", reflect.TypeFor[address](), []InferOption{Output}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ForType(bc.of, bc.options...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFillDefaults(b *testing.B) {
	typical, err := For[typicalInput]()
	assert.NilError(b, err)
	s := MustCompile(string(typical))
	document := []byte(`{"path":"a.txt"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.FillDefaults(document); err != nil {
			b.Fatal(err)
		}
	}
}

// nested returns a value within n arrays or objects, each of which begins with open and ends with
// end.
func nested(open, value, end string, n int) []byte {
	return fmt.Appendf(nil, "%s%s%s", strings.Repeat(open, n), value, strings.Repeat(end, n))
}
