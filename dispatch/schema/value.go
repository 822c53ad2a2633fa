package schema

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/near"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A typeSet is a set of types of JSON Schema, with a bit for each kind and one for integer.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeNumber
	typeString
	typeArray
	typeObject
	typeInteger
)

// The names of the types in schemas and in messages, in the order of their bits.
var (
	typeNames = [...]string{"null", "boolean", "number", "string", "array", "object", "integer"}
	typeWords = [...]string{"null", "a boolean", "a number", "a string", "an array", "an object",
		"an integer"}
)

// name returns the name of the first type in the set, or "" if it is empty.
func (t typeSet) name() string {
	if t == 0 {
		return ""
	}
	return typeNames[bits.TrailingZeros8(uint8(t))]
}

func (t typeSet) has(doc *index, n uint32) bool {
	k := doc.kind(n)
	if t&(1<<k) != 0 {
		return true
	}
	if k != number || t&typeInteger == 0 {
		return false
	}
	raw := doc.raw(n)
	for _, c := range raw {
		if c == '.' || c|0x20 == 'e' {
			d := jsonscan.ParseDecimal(raw)
			return d.IsInteger()
		}
	}
	return true
}

// String lists the types: "a string, an array or null".
func (t typeSet) String() string {
	var words []string
	for ; t != 0; t &= t - 1 {
		words = append(words, typeWords[bits.TrailingZeros8(uint8(t))])
	}
	if len(words) > 1 && words[0] == "null" {
		words = append(words[1:], "null")
	}
	return joinOr(words)
}

// joinOr joins words: "a, b or c".
func joinOr(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// typeName names the type of a value: "an integer".
func (idx *index) typeName(n uint32) string {
	if typeInteger.has(idx, n) {
		return "an integer"
	}
	return typeWords[idx.kind(n)]
}

// describe returns a value if it is short, and otherwise the name of its type.
func (idx *index) describe(n uint32) string {
	const short = 40
	if raw := idx.raw(n); len(raw) <= short && bytes.IndexByte(raw, '\n') < 0 {
		return string(raw)
	}
	return idx.typeName(n)
}

func compileType(_ *compiler, s *subschema, at uint32) error {
	doc := &s.res.doc.index
	add := func(n uint32) error {
		if doc.kind(n) != str {
			return fmt.Errorf("must name a type, is %s", doc.describe(n))
		}
		i := slices.Index(typeNames[:], string(doc.text(n)))
		if i < 0 {
			return fmt.Errorf(
				"%s is not a type; it must be null, boolean, integer, number, string, array or object",
				doc.describe(n))
		}
		s.types |= 1 << i
		return nil
	}
	if doc.kind(at) != array {
		return add(at)
	}
	if doc.nodes[at].next == at+1 {
		return errors.New("must name at least one type")
	}
	for item := range doc.items(at) {
		if err := add(item); err != nil {
			return err
		}
	}
	return nil
}

// valueRules are const and enum. Nodes are those of the schema's document.
type valueRules struct {
	constant uint32   // the node of const, 0 if there is none
	enum     uint32   // the node of enum, 0 if there is none
	strings  [][]byte // the strings in enum, sorted
	others   []uint32 // the nodes of the other values in enum
}

func (s *subschema) valueRules() *valueRules {
	if s.values == nil {
		s.values = &valueRules{}
	}
	return s.values
}

func compileConst(_ *compiler, s *subschema, at uint32) error {
	s.valueRules().constant = at
	return nil
}

func compileEnum(_ *compiler, s *subschema, at uint32) error {
	doc := &s.res.doc.index
	if doc.kind(at) != array {
		return fmt.Errorf("must be an array of values, is %s", doc.describe(at))
	}
	rules := s.valueRules()
	rules.enum, rules.strings = at, make([][]byte, 0, doc.count(at))
	for item := range doc.items(at) {
		if doc.kind(item) == str {
			rules.strings = append(rules.strings, doc.text(item))
		} else {
			rules.others = append(rules.others, item)
		}
	}
	slices.SortFunc(rules.strings, bytes.Compare)
	return nil
}

func (v *validator) checkValue(s *subschema, n uint32) bool {
	rules, allowed := s.values, &s.res.doc.index
	ok := true
	if rules.constant != 0 && !v.equal(&v.doc, n, allowed, rules.constant) {
		if v.firstOnly {
			return false
		}
		ok = v.failWithValue(s, n, "const", "must be %s", allowed.describe(rules.constant))
	}
	if rules.enum == 0 {
		return ok
	}
	if v.doc.kind(n) == str {
		if _, found := slices.BinarySearchFunc(rules.strings, v.doc.text(n), bytes.Compare); found {
			return ok
		}
	} else if slices.ContainsFunc(rules.others,
		func(other uint32) bool { return v.equal(&v.doc, n, allowed, other) }) {
		return ok
	}
	if v.discardCause() {
		return false
	}
	f := finding{node: n, schema: s, keyword: "enum", showsValue: true}
	f.reason, f.hint = v.enumReason(rules, allowed, n)
	v.findings = append(v.findings, f)
	return false
}

// enumReason returns a reason that lists the allowed values, up to a readable number. If there are
// more, hint names the one that was probably meant.
func (v *validator) enumReason(rules *valueRules, allowed *index, n uint32) (reason, hint string) {
	const maxValues = 20
	if allowed.count(rules.enum) == 0 {
		return "no value is allowed, because its enum is empty", ""
	}
	var words []string
	for item := range allowed.items(rules.enum) {
		if len(words) == maxValues {
			words = append(words, fmt.Sprintf("%d other values", allowed.count(rules.enum)-maxValues))
			break
		}
		words = append(words, allowed.describe(item))
	}
	if v.doc.kind(n) == str {
		var texts []string
		for item := range allowed.items(rules.enum) {
			if allowed.kind(item) == str {
				texts = append(texts, string(allowed.text(item)))
			}
		}
		similar := near.Match(string(v.doc.text(n)), texts)
		if similar != "" && len(words) > maxValues {
			hint = fmt.Sprintf(" (did you mean %q?)", similar)
		}
	}
	return "must be " + joinOr(words), hint
}
