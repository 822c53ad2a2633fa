package schema

import (
	"slices"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

const maxShown = 40 // characters of a value in a message

// show returns a value for a message, shortened. It names the type of an array or object that is
// not empty, because a value in it may be secret.
func (x *index) show(n uint32) string {
	raw, empty := x.raw(n), x.nodes[n].next == n+1
	switch k := x.kind(n); {
	case k == array && empty:
		return "[]"
	case k == object && empty:
		return "{}"
	case k == array || k == object:
		return x.typeName(n)
	case len(raw) <= maxShown:
		return string(raw)
	case k != str:
		return string(raw[:maxShown]) + "…"
	}
	text := x.text(n)
	runes := []rune(string(text[:min(len(text), maxShown*utf8.UTFMax)]))
	if len(runes) > maxShown {
		runes = append(runes[:maxShown], '…')
	}
	return string(jsonscan.AppendString(nil, string(runes)))
}

// compileWriteOnly reads an annotation (Validation, section 9.4), which is never wrong.
func compileWriteOnly(_ *compiler, s *subschema, at uint32) error {
	x := &s.res.doc.index
	s.secret = s.secret || x.kind(at) == boolean && x.isTrue(at)
	return nil
}

// hide makes messages not show a value, nor what is in it.
func (v *run) hide(n uint32) {
	if last := len(v.secret) - 1; last < 0 || !v.contains(v.secret[last], n) {
		v.secret = append(v.secret, n)
	}
}

func (v *run) isSecret(n uint32) bool {
	return slices.ContainsFunc(v.secret, func(outer uint32) bool { return v.contains(outer, n) })
}

// contains reports whether a value is outer or in it.
func (v *run) contains(outer, n uint32) bool { return outer <= n && n < v.doc.nodes[outer].next }
