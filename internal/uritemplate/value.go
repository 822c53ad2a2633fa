package uritemplate

import (
	"slices"
	"strings"
)

// A Kind is the kind of a [Value].
type Kind uint8

// The kinds of values (RFC 6570, sections 2.3 and 2.4.2).
const (
	Undefined Kind = iota // also an empty list and no pairs
	Text
	Sequence // an ordered list of texts
	Mapping  // pairs of a key and a value
)

// A Value is the value of a variable. The zero Value is undefined. A Value is immutable.
type Value struct {
	kind  Kind
	parts []string // the text; the members; or alternating keys and values
}

// Values holds the values of variables by name. An absent one is undefined.
type Values map[string]Value

// String returns the value with one text, which may be empty.
func String(text string) Value { return Value{Text, []string{text}} }

// composite returns a value with several parts, or an undefined one without parts. It takes
// ownership of parts.
func composite(kind Kind, parts []string) Value {
	if len(parts) == 0 {
		return Value{}
	}
	return Value{kind, parts}
}

// Kind returns the kind of the value.
func (v Value) Kind() Kind { return v.kind }

// Parts returns the text, the members of a list, or alternating keys and values of pairs; nil if
// the value is undefined. The caller owns the slice.
func (v Value) Parts() []string { return slices.Clone(v.parts) }

// String returns the text of the value, parts separated by commas; "" if it is undefined.
func (v Value) String() string { return strings.Join(v.parts, ",") }

// Equal reports whether two values have the same kind and the same parts in the same order.
func (v Value) Equal(w Value) bool { return v.kind == w.kind && slices.Equal(v.parts, w.parts) }
