package schema

import (
	"slices"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

const maxShown = 40 // characters of a value in a message

// show returns a value for a message, truncated. For an array or object that is not empty, it
// returns the name of the type, because a value in it may be secret.
func (idx *index) show(n uint32) string {
	raw, empty := idx.raw(n), idx.nodes[n].next == n+1
	switch k := idx.kind(n); {
	case k == array && empty:
		return "[]"
	case k == object && empty:
		return "{}"
	case k == array || k == object:
		return idx.typeName(n)
	case len(raw) <= maxShown:
		return string(raw)
	case k != str:
		return string(raw[:maxShown]) + "…"
	}
	text := idx.text(n)
	runes := []rune(string(text[:min(len(text), maxShown*utf8.UTFMax)]))
	if len(runes) > maxShown {
		runes = append(runes[:maxShown], '…')
	}
	return string(jsonscan.AppendString(nil, string(runes)))
}

// compileWriteOnly compiles writeOnly (Validation, section 9.4). It ignores a value that is no
// boolean, because annotations do not make a schema invalid.
func compileWriteOnly(_ *compiler, s *subschema, at uint32) error {
	doc := &s.res.doc.index
	s.secret = s.secret || doc.kind(at) == boolean && doc.isTrue(at)
	return nil
}

// markSecret makes messages not show a value, nor the values in it.
func (v *validator) markSecret(n uint32) {
	if last := len(v.secret) - 1; last < 0 || !v.contains(v.secret[last], n) {
		v.secret = append(v.secret, n)
	}
}

func (v *validator) isSecret(n uint32) bool {
	return slices.ContainsFunc(v.secret, func(outer uint32) bool { return v.contains(outer, n) })
}

// contains reports whether n is outer or a value in it.
func (v *validator) contains(outer, n uint32) bool {
	return outer <= n && n < v.doc.nodes[outer].next
}
