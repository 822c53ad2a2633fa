package policy

import (
	"strings"

	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A value is a JSON value, decoded as far as comparisons need it. The zero value is none.
type value struct {
	raw     []byte
	kind    byte   // '{', '[', '"', '0' for numbers, 't' for booleans, 'n'; 0: there is none
	text    string // of a string
	decimal jsonscan.Decimal
}

// valueOf decodes valid JSON, or nil.
func valueOf(raw []byte) (v value) {
	if raw == nil {
		return v
	}
	v = value{raw: raw, kind: raw[0]}
	switch v.kind {
	case '{', '[', 'n', 't', '?':
	case 'f':
		v.kind = 't'
	case '"':
		v.text, _ = jsonscan.Text(raw)
	default:
		v.kind, v.decimal = '0', jsonscan.ParseDecimal(raw)
	}
	return v
}

// A condition compares the value of a claim or an argument. All its tests must hold.
type condition struct {
	at       pointer // in the arguments; for a claim, the first token is its name
	tests    []test
	standsIn value // in place of a missing one
}

// A test compares a value with another one, or with several.
type test struct {
	op      string
	compare func(v, with *value) outcomes
	with    []value // any of them
	claim   pointer // of the caller, in place of with
	any     bool    // of the elements of the claim
}

// holds evaluates the condition for a value, which may be missing.
func (c *condition) holds(v *value, caller *Caller) outcomes {
	if v.kind == 0 {
		v = &c.standsIn
	}
	if v.kind == 0 || v.kind == ambiguous[0] {
		return isUnclear
	}
	all := isTrue
	for i := range c.tests {
		if all = all.and(c.tests[i].holds(v, caller)); all == isFalse {
			break
		}
	}
	return all
}

func (t *test) holds(v *value, caller *Caller) outcomes {
	with := t.with
	if t.claim != nil {
		claim := valueOf(caller.claim(t.claim))
		switch {
		case claim.kind == 0, claim.kind == ambiguous[0]:
			return isUnclear
		case t.any && claim.kind == '[': // some issuers encode a list of one as its element
			with = nil
			for one := range jsonscan.Elements(claim.raw) {
				with = append(with, valueOf(trim(one)))
			}
			if with == nil {
				return isFalse
			}
		default:
			with = []value{claim}
		}
	}
	// values of other types are of no account if one is of the same
	result := isUnclear
	for i := range with {
		switch t.compare(v, &with[i]) {
		case isTrue:
			return isTrue
		case isFalse:
			result = isFalse
		}
	}
	return result
}

// comparisons has the functions of the tests by their names.
var comparisons = map[string]func(v, with *value) outcomes{
	"eq":       equal,
	"in":       equal, // with any of the elements
	"contains": contains,
	"prefix":   text(strings.HasPrefix),
	"glob":     text(func(text, pattern string) bool { return itemname.Match(pattern, text) }),
	"lt":       number(func(order int) bool { return order < 0 }),
	"le":       number(func(order int) bool { return order <= 0 }),
	"gt":       number(func(order int) bool { return order > 0 }),
	"ge":       number(func(order int) bool { return order >= 0 }),
}

// equal compares two values by what they mean: 1 and 1.0 are equal. Values of different types, and
// arrays and objects, cannot be compared, because a server may convert them.
func equal(v, with *value) outcomes {
	switch {
	case v.kind != with.kind || v.kind == '{' || v.kind == '[':
		return isUnclear
	case v.kind == '"':
		return outcome(v.text == with.text)
	case v.kind == '0':
		return outcome(v.decimal.Compare(&with.decimal) == 0)
	}
	return outcome(v.raw[0] == with.raw[0])
}

// contains looks for an element of an array. Another value is a list of one. An element that cannot
// be compared may be what is looked for.
func contains(v, with *value) outcomes {
	if v.kind != '[' {
		return equal(v, with)
	}
	result := isFalse
	for one := range jsonscan.Elements(v.raw) {
		element := valueOf(trim(one))
		switch equal(&element, with) {
		case isTrue:
			return isTrue
		case isUnclear:
			result = isUnclear
		}
	}
	return result
}

// text returns a comparison of texts. One with a segment "..", or that is very long, cannot be
// evaluated: as a path it may mean something else than what it begins with.
func text(compare func(text, with string) bool) func(v, with *value) outcomes {
	return func(v, with *value) outcomes {
		if v.kind != '"' || with.kind != '"' || len(v.text) > maxMatched ||
			len(with.text) > maxMatched || climbs(v.text) {
			return isUnclear
		}
		return outcome(compare(v.text, with.text))
	}
}

// climbs reports whether a text, read as a path, has a segment "..".
func climbs(path string) bool {
	if !strings.Contains(path, "..") {
		return false
	}
	for segment := range strings.FieldsFuncSeq(path,
		func(c rune) bool { return c == '/' || c == '\\' }) {
		if segment == ".." {
			return true
		}
	}
	return false
}

func number(is func(order int) bool) func(v, with *value) outcomes {
	return func(v, with *value) outcomes {
		if v.kind != '0' || with.kind != '0' {
			return isUnclear
		}
		return outcome(is(v.decimal.Compare(&with.decimal)))
	}
}
