package schema

import (
	"errors"
	"testing"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// For every schema and document, nothing panics, time is limited, and all ways to validate agree.
func FuzzValidate(f *testing.F) {
	for _, seed := range [][2]string{
		{smallSchema, smallDocument},
		{unionSchema, unionDocument},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"$ref":"#"}],"dependencies":{"a":["b"]}}`,
			`[[[]]]`},
		{`{"$dynamicAnchor":"a","properties":{"x":{"$dynamicRef":"#a"}},"unevaluatedProperties":false}`,
			`{"x":{"x":{"y":1}}}`},
		{`{"anyOf":[{"multipleOf":0.01},{"pattern":"^(a|b){1,3}$"}],"not":{"const":{"a":[1.0]}}}`,
			`"ab"`},
		{`{"uniqueItems":true,"contains":{"enum":[1,"\u0061"]},"maxContains":2,"unevaluatedItems":{"type":"null"}}`,
			`[1,1.0,"a",null,2,3,4,5,6,7]`},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema","default":{},"properties":{"a":{"default":1}}}`,
			`{"type":"x"}`},
		{`{"patternProperties":{"^\\p{L}[^\\s]$":false},"propertyNames":{"minLength":1,"format":"uri"},"if":{"required":["a"]},"then":false}`,
			`{"ab":1,"":2}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, schema, document []byte) {
		start := time.Now()
		s, err := Options{AssertFormats: true}.Compile(schema)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without text")
			}
			return
		}
		err = s.Validate(document)
		scanned := s.ValidateScanned(document)
		if jsonscan.Valid(document) == nil {
			if (err == nil) != (scanned == nil) {
				t.Fatalf("Validate says %v, ValidateScanned says %v", err, scanned)
			}
			var failure *Error
			if errors.As(err, &failure) &&
				(len(failure.Causes) == 0 || len(failure.Causes) > maxCauses) {
				t.Fatalf("%d causes", len(failure.Causes))
			}
		}
		filled, fillErr := s.FillDefaults(document)
		if fillErr == nil && jsonscan.Valid(document) == nil && jsonscan.Valid(filled) != nil {
			t.Fatalf("FillDefaults made %q of %q", filled, document)
		}
		both, _, bothErr := s.ValidateAndFill(document, false)
		if (bothErr == nil) != (scanned == nil && fillErr == nil) ||
			bothErr == nil && string(both) != string(filled) {
			t.Fatalf("ValidateAndFill says %q, %v; ValidateScanned %v, FillDefaults %q, %v", both,
				bothErr, scanned, filled, fillErr)
		}
		if spent := time.Since(start); spent > 10*time.Second {
			t.Fatalf("took %v", spent)
		}
	})
}

// Package regexp compiles every translated regular expression, or the error wraps ErrPattern or
// ErrLimit.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{`^[^\]a-z\d]{2,1001}?$`, `(?<n>a|b)+\u{41}\cA[\b]`,
		`\p{L}{1,}x*|`, `[]|[^]`} {
		f.Add(seed, "text")
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		c := compiler{}
		p, err := c.pattern(source)
		if err == nil {
			p.re.MatchString(text)
			if !isRegex(source) {
				t.Fatal("compiled, although it is no regular expression")
			}
		} else if !errors.Is(err, ErrPattern) && !errors.Is(err, ErrLimit) {
			t.Fatal(err)
		}
	})
}
