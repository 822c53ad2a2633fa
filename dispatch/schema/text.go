package schema

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// stringRules are the keywords for strings.
type stringRules struct {
	minLength, maxLength int
	pattern              *pattern
	format               *formatRule
}

func (s *subschema) stringRules() *stringRules {
	if s.text == nil {
		s.text = &stringRules{maxLength: math.MaxInt}
	}
	return s.text
}

func compilePattern(c *compiler, s *subschema, at uint32) error {
	doc := &s.res.doc.index
	if doc.kind(at) != str {
		return fmt.Errorf("must be a regular expression, is %s", doc.describe(at))
	}
	p, err := c.pattern(string(doc.text(at)))
	s.stringRules().pattern = p
	return err
}

func compileFormat(c *compiler, s *subschema, at uint32) error {
	doc := &s.res.doc.index
	if doc.kind(at) != str {
		return fmt.Errorf("must be the name of a format, is %s", doc.describe(at))
	}
	s.secret = s.secret || string(doc.text(at)) == "password"
	if f, ok := formats[string(doc.text(at))]; ok &&
		(c.AssertFormats || s.res.dialect.assertFormats) {
		s.stringRules().format = &f
	}
	return nil
}

func (v *validator) checkString(s *subschema, n uint32) bool {
	rules, ok := s.text, true
	// A code point takes 1 to 12 bytes, so the number of bytes is often sufficient.
	if bytes := len(v.doc.raw(n)) - 2; bytes > rules.maxLength || bytes/12 < rules.minLength {
		length := v.doc.length(n)
		if length < rules.minLength {
			if v.firstOnly {
				return false
			}
			ok = v.fail(s, n, "minLength", "", "must have at least %s, has %d",
				plural(rules.minLength, "character"), length)
		}
		if length > rules.maxLength {
			if v.firstOnly {
				return false
			}
			ok = v.fail(s, n, "maxLength", "", "must have at most %s, has %d",
				plural(rules.maxLength, "character"), length)
		}
	}
	if rules.pattern == nil && rules.format == nil {
		return ok
	}
	text := v.doc.text(n)
	if rules.pattern != nil && !v.matches(rules.pattern, text) {
		if v.firstOnly {
			return false
		}
		ok = v.failWithValue(s, n, "pattern", "must match the pattern %s", truncate(rules.pattern.source))
	}
	if rules.format != nil && !v.step(len(text)) {
		return false
	}
	if rules.format != nil && !rules.format.check(string(text)) {
		if v.firstOnly {
			return false
		}
		ok = v.failWithValue(s, n, "format", "must be %s", rules.format.words)
	}
	return ok
}

// plural returns "1 item" or "2 items"; "2 properties" for "property".
func plural(n int, noun string) string {
	switch {
	case n == 1:
	case noun == "property":
		noun = "properties"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// length returns the length of a string in code points, as minLength and maxLength count it,
// without decoding its escapes.
func (idx *index) length(n uint32) int {
	at := idx.nodes[n]
	inner := idx.data[at.start+1 : at.end-1]
	if !at.escaped {
		return utf8.RuneCount(inner)
	}
	count := utf8.RuneCount(inner)
	for i := 0; i+1 < len(inner); i++ {
		if inner[i] != '\\' {
			continue
		}
		// An escape is 2 bytes for one code point, or 6, or 12 for a surrogate pair.
		extra := 1
		if inner[i+1] == 'u' {
			extra = 5
			if i+3 < len(inner) && inner[i+2]|0x20 == 'd' && inner[i+3] >= '8' {
				extra = 11
			}
		}
		count -= extra
		i += extra
	}
	return count
}
