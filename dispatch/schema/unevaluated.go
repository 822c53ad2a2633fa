package schema

// unevaluatedRules are unevaluatedItems and unevaluatedProperties. They apply to the items and
// properties that neither another keyword of the schema nor a subschema that it applies in place
// has evaluated.
type unevaluatedRules struct {
	items, properties *subschema
}

func (s *subschema) unevaluatedRules() *unevaluatedRules {
	if s.unevaluated == nil {
		s.unevaluated = &unevaluatedRules{}
	}
	return s.unevaluated
}

func (v *validator) checkUnevaluated(s *subschema, n uint32, evaluated bitset) bool {
	doc, ok := &v.doc, true
	switch {
	case doc.kind(n) == array && s.unevaluated.items != nil:
		position := 0
		for item := range doc.items(n) {
			if !evaluated.has(position) {
				evaluated.set(position)
				ok = v.eval(s.unevaluated.items, item, nil) && ok
			}
			position++
		}
	case doc.kind(n) == object && s.unevaluated.properties != nil:
		position := 0
		for name, value := range doc.members(n) {
			if !evaluated.has(position) {
				evaluated.set(position)
				if s.unevaluated.properties.validity == neverValid {
					ok = v.failUnknown(s, n, "unevaluatedProperties", doc.text(name))
				} else {
					ok = v.eval(s.unevaluated.properties, value, nil) && ok
				}
			}
			position++
		}
	}
	return ok
}
