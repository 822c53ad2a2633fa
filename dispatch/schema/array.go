package schema

import (
	"fmt"
	"math"
)

// arrayRules are the keywords for arrays. Those of draft-07 are stored as in 2020-12: an array in
// items as prefixItems, and additionalItems as items.
type arrayRules struct {
	prefix []*subschema
	rest   *subschema // for the items after the prefix
	// additionalItems of draft-07, which may precede items and applies only if items is an array
	additional               *subschema
	listed                   bool // items of draft-07 is an array
	minItems, maxItems       int
	unique                   bool
	contains                 *subschema
	minContains, maxContains int
}

func (s *subschema) arrayRules() *arrayRules {
	if s.array == nil {
		s.array = &arrayRules{maxItems: math.MaxInt, minContains: 1, maxContains: math.MaxInt}
	}
	return s.array
}

func compileItems07(c *compiler, s *subschema, at uint32) error {
	doc, a := &s.res.doc.index, s.arrayRules()
	if doc.kind(at) != array {
		a.rest = c.subschema(s.res, at)
		return nil
	}
	a.listed = true
	for item := range doc.items(at) {
		a.prefix = append(a.prefix, c.subschema(s.res, item))
	}
	a.rest = a.additional
	return nil
}

func compileAdditionalItems(c *compiler, s *subschema, at uint32) error {
	a := s.arrayRules()
	a.additional = c.subschema(s.res, at)
	if a.listed {
		a.rest = a.additional
	}
	return nil
}

func compileUniqueItems(_ *compiler, s *subschema, at uint32) error {
	doc := &s.res.doc.index
	if doc.kind(at) != boolean {
		return fmt.Errorf("must be true or false, is %s", doc.describe(at))
	}
	s.arrayRules().unique = doc.isTrue(at)
	return nil
}

func (v *validator) checkArray(s *subschema, n uint32, evaluated bitset) bool {
	a, doc, ok := s.array, &v.doc, true
	count, contained := 0, 0
	for item, end := n+1, doc.nodes[n].next; item < end; item = doc.nodes[item].next {
		if !v.step(1) {
			return false
		}
		schema := a.rest
		if count < len(a.prefix) {
			schema = a.prefix[count]
		}
		if schema != nil {
			if !v.eval(schema, item, nil) {
				if v.firstOnly {
					return false
				}
				ok = false
			}
			if evaluated != nil {
				evaluated.set(count)
			}
		}
		if a.contains != nil && v.evalWithoutCauses(a.contains, item, nil) {
			contained++
			if evaluated != nil && s.res.dialect.draft != in07 {
				evaluated.set(count)
			}
		}
		count++
	}
	if count < a.minItems {
		ok = v.fail(s, n, "minItems", "", "must have at least %s, has %d",
			plural(a.minItems, "item"), count)
	}
	if count > a.maxItems {
		ok = v.fail(s, n, "maxItems", "", "must have at most %s, has %d",
			plural(a.maxItems, "item"), count)
	}
	if a.contains != nil && contained < a.minContains {
		keyword := "contains"
		if a.minContains != 1 {
			keyword = "minContains"
		}
		ok = v.fail(s, n, keyword, "", "must have at least %s matching \"contains\", has %d",
			plural(a.minContains, "item"), contained)
	}
	if a.contains != nil && contained > a.maxContains {
		ok = v.fail(s, n, "maxContains", "", "must have at most %s matching \"contains\", has %d",
			plural(a.maxContains, "item"), contained)
	}
	if a.unique && count > 1 {
		if i, j, found := v.equalItems(n); found {
			ok = v.fail(s, n, "uniqueItems", "",
				"must not have equal items, but items %d and %d are equal", i, j)
		}
	}
	return ok
}
