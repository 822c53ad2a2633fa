package schema

// leftoverRules are unevaluatedItems and unevaluatedProperties: they apply to what no other keyword
// beside or below them applied to.
type leftoverRules struct {
	items, properties *subschema
}

func (s *subschema) leftovers() *leftoverRules {
	if s.leftover == nil {
		s.leftover = &leftoverRules{}
	}
	return s.leftover
}

func (v *run) checkLeftover(s *subschema, n uint32, evaluated bitset) bool {
	x, ok := &v.doc, true
	switch {
	case x.kind(n) == array && s.leftover.items != nil:
		position := 0
		for item := range x.items(n) {
			if !evaluated.has(position) {
				evaluated.set(position)
				ok = v.eval(s.leftover.items, item, nil) && ok
			}
			position++
		}
	case x.kind(n) == object && s.leftover.properties != nil:
		position := 0
		for name, value := range x.members(n) {
			if !evaluated.has(position) {
				evaluated.set(position)
				if s.leftover.properties.verdict == refuses {
					ok = v.failUnknown(s, n, "unevaluatedProperties", x.text(name))
				} else {
					ok = v.eval(s.leftover.properties, value, nil) && ok
				}
			}
			position++
		}
	}
	return ok
}
