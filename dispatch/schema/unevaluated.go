package schema

// unevaluatedRules are unevaluatedItems and unevaluatedProperties. They apply to the items and
// properties that no other keyword of the schema, or of the schemas that it applies, evaluated.
type unevaluatedRules struct {
	items, properties *subschema
}

func (s *subschema) unevaluatedRules() *unevaluatedRules {
	if s.unevaluated == nil {
		s.unevaluated = &unevaluatedRules{}
	}
	return s.unevaluated
}

func (v *run) checkUnevaluated(s *subschema, n uint32, evaluated bitset) bool {
	x, ok := &v.doc, true
	switch {
	case x.kind(n) == array && s.unevaluated.items != nil:
		position := 0
		for item := range x.items(n) {
			if !evaluated.has(position) {
				evaluated.set(position)
				ok = v.eval(s.unevaluated.items, item, nil) && ok
			}
			position++
		}
	case x.kind(n) == object && s.unevaluated.properties != nil:
		position := 0
		for name, value := range x.members(n) {
			if !evaluated.has(position) {
				evaluated.set(position)
				if s.unevaluated.properties.verdict == refuses {
					ok = v.failUnknown(s, n, "unevaluatedProperties", x.text(name))
				} else {
					ok = v.eval(s.unevaluated.properties, value, nil) && ok
				}
			}
			position++
		}
	}
	return ok
}
