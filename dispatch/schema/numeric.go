package schema

import (
	"fmt"
)

// numericRules are the keywords for numbers. They compare exactly.
type numericRules struct {
	bounds     []bound
	multipleOf divisor
	multipleAt uint32 // the node of multipleOf, 0 if there is none
}

// A bound is one of minimum, maximum, exclusiveMinimum and exclusiveMaximum. The result of
// comparing an instance with it must be from least to most.
type bound struct {
	keyword     string
	least, most int
	words       string // "at least"
	value       decimal
	at          uint32
}

func (s *subschema) numerics() *numericRules {
	if s.numeric == nil {
		s.numeric = &numericRules{bounds: make([]bound, 0, 2)}
	}
	return s.numeric
}

func compileBound(keyword string, least, most int, words string) func(*compiler, *subschema,
	uint32) error {
	return func(_ *compiler, s *subschema, at uint32) error {
		x := &s.res.doc.index
		if x.kind(at) != number {
			return fmt.Errorf("must be a number, is %s", x.describe(at))
		}
		rules := s.numerics()
		rules.bounds = append(rules.bounds,
			bound{keyword, least, most, words, parseDecimal(x.raw(at)), at})
		return nil
	}
}

func compileMultipleOf(_ *compiler, s *subschema, at uint32) error {
	x := &s.res.doc.index
	d := decimal{}
	if x.kind(at) == number {
		d = parseDecimal(x.raw(at))
	}
	if d.sign() <= 0 {
		return fmt.Errorf("must be a number greater than 0, is %s", x.describe(at))
	}
	if d.digits() > maxDivisor {
		return fmt.Errorf("%w: a number of more than %d digits", ErrLimit, maxDivisor)
	}
	rules := s.numerics()
	rules.multipleOf, rules.multipleAt = newDivisor(d), at
	return nil
}

const stepsPerDivision = 300 // by a divisor that does not fit in a uint64

func (v *run) checkNumber(s *subschema, n uint32) bool {
	rules, ok := s.numeric, true
	d := parseDecimal(v.doc.raw(n))
	for i := range rules.bounds {
		b := &rules.bounds[i]
		if order := d.compare(&b.value); order < b.least || order > b.most {
			if v.quick {
				return false
			}
			ok = v.refuse(s, n, b.keyword, "must be %s %s", b.words, s.res.doc.describe(b.at))
		}
	}
	if rules.multipleOf.large != nil && !v.step(stepsPerDivision) {
		return false
	}
	if rules.multipleAt != 0 && !rules.multipleOf.divides(d) {
		if v.quick {
			return false
		}
		ok = v.refuse(s, n, "multipleOf", "must be a multiple of %s",
			s.res.doc.describe(rules.multipleAt))
	}
	return ok
}
