package uritemplate

import (
	"maps"
	"slices"
	"strings"
)

// Kind is what a [Value] is.
type Kind uint8

// The kinds of values, RFC 6570, section 2.3 and 2.4.2.
const (
	Undefined Kind = iota // also a list and pairs with nothing in them
	Text
	Sequence // an ordered list of texts
	Mapping  // pairs of a key and a value
)

// Value is the value of a variable. The zero Value is undefined. It does not change.
type Value struct {
	kind  Kind
	parts []string // one text; the members; or keys and values by turns
}

// Values has the values of variables by name; one that is not there is undefined.
type Values map[string]Value

// String returns the value of one text, which may be empty.
func String(text string) Value { return Value{Text, []string{text}} }

// List returns a value of several texts; without any it is undefined.
func List(members ...string) Value { return composite(Sequence, slices.Clone(members)) }

// Pairs returns a value of keys and values, each pair is a key and its value, in their order; without any it is undefined.
func Pairs(pairs ...[2]string) Value {
	var parts []string
	for _, pair := range pairs {
		parts = append(parts, pair[:]...)
	}
	return composite(Mapping, parts)
}

// Map is [Pairs] of a map, in the order of its keys.
func Map(m map[string]string) Value {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, key, m[key])
	}
	return composite(Mapping, parts)
}

// composite takes over parts.
func composite(kind Kind, parts []string) Value {
	if len(parts) == 0 {
		return Value{}
	}
	return Value{kind, parts}
}

// Kind returns what the value is.
func (v Value) Kind() Kind { return v.kind }

// Parts returns the one text, the members of a list, or the keys and values of pairs by turns; nil if the value is undefined. The slice is the
// caller's.
func (v Value) Parts() []string { return slices.Clone(v.parts) }

// String returns the text of the value, that of several parts with commas between; "" if it is undefined.
func (v Value) String() string { return strings.Join(v.parts, ",") }

// Equal tells whether two values are of the same kind and have the same parts in the same order.
func (v Value) Equal(w Value) bool { return v.kind == w.kind && slices.Equal(v.parts, w.parts) }
