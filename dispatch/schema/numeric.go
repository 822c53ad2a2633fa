package schema

import (
	"fmt"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// numericRules are the keywords for numbers.
type numericRules struct {
	bounds         []bound
	multipleOf     divisor
	multipleOfNode uint32 // the node of multipleOf, 0 if there is none
}

// A bound is one of minimum, maximum, exclusiveMinimum and exclusiveMaximum. The result of
// comparing an instance with its value, -1, 0 or 1, must be from least to most.
type bound struct {
	keyword     string
	least, most int
	words       string // the message is "must be", words and value
	value       jsonscan.Decimal
	at          uint32
}

func (s *subschema) numericRules() *numericRules {
	if s.numeric == nil {
		s.numeric = &numericRules{bounds: make([]bound, 0, 2)}
	}
	return s.numeric
}

func compileBound(keyword string, least, most int, words string) func(*compiler, *subschema,
	uint32) error {
	return func(_ *compiler, s *subschema, at uint32) error {
		doc := &s.res.doc.index
		if doc.kind(at) != number {
			return fmt.Errorf("must be a number, is %s", doc.describe(at))
		}
		rules := s.numericRules()
		rules.bounds = append(rules.bounds,
			bound{keyword, least, most, words, jsonscan.ParseDecimal(doc.raw(at)), at})
		return nil
	}
}

func compileMultipleOf(_ *compiler, s *subschema, at uint32) error {
	doc := &s.res.doc.index
	d := jsonscan.Decimal{}
	if doc.kind(at) == number {
		d = jsonscan.ParseDecimal(doc.raw(at))
	}
	if d.Sign() <= 0 {
		return fmt.Errorf("must be a number greater than 0, is %s", doc.describe(at))
	}
	if d.Digits() > maxDivisor {
		return fmt.Errorf("%w: a number of more than %d digits", ErrLimit, maxDivisor)
	}
	rules := s.numericRules()
	rules.multipleOf, rules.multipleOfNode = newDivisor(d), at
	return nil
}

const stepsPerDivision = 300 // for a divisor that does not fit in a uint64

func (v *validator) checkNumber(s *subschema, n uint32) bool {
	rules, ok := s.numeric, true
	d := jsonscan.ParseDecimal(v.doc.raw(n))
	for i := range rules.bounds {
		b := &rules.bounds[i]
		if order := d.Compare(&b.value); order < b.least || order > b.most {
			if v.firstOnly {
				return false
			}
			ok = v.failWithValue(s, n, b.keyword, "must be %s %s", b.words, s.res.doc.describe(b.at))
		}
	}
	if rules.multipleOf.large != nil && !v.step(stepsPerDivision) {
		return false
	}
	if rules.multipleOfNode != 0 && !rules.multipleOf.divides(d) {
		if v.firstOnly {
			return false
		}
		ok = v.failWithValue(s, n, "multipleOf", "must be a multiple of %s",
			s.res.doc.describe(rules.multipleOfNode))
	}
	return ok
}
