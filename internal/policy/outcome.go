package policy

// outcomes is the set of the values that a condition may have.
type outcomes uint8

const (
	isFalse outcomes = 1 << iota
	isTrue
	isUnclear // it cannot be evaluated

	anything = isFalse | isTrue | isUnclear // it depends on what is not known yet
)

func outcome(holds bool) outcomes {
	if holds {
		return isTrue
	}
	return isFalse
}

// and returns the values of a conjunction: false is stronger than unclear, unclear than true.
func (a outcomes) and(b outcomes) outcomes {
	both := (a | b) & isFalse
	both |= a & b & isTrue
	if a&isUnclear != 0 && b&^isFalse != 0 || b&isUnclear != 0 && a&^isFalse != 0 {
		both |= isUnclear
	}
	return both
}

// not returns the values of a negation. What is unclear stays so.
func (a outcomes) not() (b outcomes) {
	if a&isFalse != 0 {
		b |= isTrue
	}
	if a&isTrue != 0 {
		b |= isFalse
	}
	return b | a&isUnclear
}

// mayHold reports whether the condition may be true.
func (a outcomes) mayHold() bool { return a&isTrue != 0 }

// mayRestrict reports whether a rule that takes something away may apply.
func (a outcomes) mayRestrict() bool { return a&^isFalse != 0 }

// restricts reports whether a rule that takes something away applies.
func (a outcomes) restricts() bool { return a&isFalse == 0 }
