package form

import "github.com/stdwire/stdwire/internal/jsonscan"

// Own returns s without its alternatives: its methods consider $ref and allOf, but not anyOf,
// oneOf, then and else.
func (s Schema) Own() Schema {
	s.unconditional = true
	return s
}

// Alternatives returns the schemas of which a value must match one: those of anyOf and oneOf,
// however nested, without their own alternatives. s itself is the last of them if it restricts the
// type, and the only one if it has no others. They share one limit, see [Schema.Limited].
func (s Schema) Alternatives() (all []Schema) {
	if s.budget == nil {
		s = s.Limited()
	}
	seen := map[*byte]bool{}
	var visit func(at []byte)
	visit = func(at []byte) {
		if len(at) == 0 || seen[&at[0]] {
			return
		}
		seen[&at[0]] = true
		own, several := s.Sub(at).Own(), false
		for _, p := range own.Parts() {
			for _, keyword := range []string{"anyOf", "oneOf"} {
				for alternative := range jsonscan.Elements(p.Keyword(keyword)) {
					several = true
					visit(alternative)
				}
			}
		}
		// A type beside anyOf is common if anyOf only says which properties go together.
		if !several || own.Types() != nil {
			all = append(all, own)
		}
	}
	visit(s.At)
	return all
}
