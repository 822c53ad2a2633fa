package uritemplate

import "slices"

// A step is what Match looks for next: a literal, or the expansion of one variable. The parameters
// of a named operator, in any order, are one step.
type step struct {
	literal string // normalised; "" for a step of variables
	op      operator
	lead    byte // the character before the value, which may be absent; 0 if none
	sibling bool // not the first step of its expression
	vars    []variable
	without int     // number of steps to skip if lead is absent
	limit   int     // maximal number of characters without lead; 0 is unlimited
	strict  charset // characters that Expand does not encode
	loose   charset // characters that others do not encode
	// of parameters, normalised; the longest first, because one may be a prefix of another
	names []string
	open  bool // parameters with other names are accepted
}

// compile makes the steps of the parts. A literal at the start becomes the prefix.
func (t *Template) compile() {
	for i, p := range t.parts {
		switch {
		case p.vars == nil:
			literal, ok := normalise(p.literal)
			if t.never = t.never || !ok; i == 0 {
				t.prefix = literal
			} else {
				t.steps = append(t.steps, step{literal: literal})
			}
		case p.op.named:
			s := newStep(p.op, p.vars)
			for _, v := range p.vars {
				s.names = append(s.names, v.normal)
			}
			slices.SortStableFunc(s.names, func(a, b string) int { return len(b) - len(a) })
			t.steps = append(t.steps, s)
		default:
			for j := range p.vars {
				s := newStep(p.op, p.vars[j:j+1])
				s.limit = p.vars[j].max
				if j > 0 {
					s.lead, s.sibling = p.op.sep, true
				} else if p.op.first != p.op.sep {
					s.without = len(p.vars) // only the first variable can have the lead
				}
				t.steps = append(t.steps, s)
			}
		}
		for _, v := range p.vars {
			t.never = t.never || v.normal == ""
		}
	}
}

func newStep(op operator, vars []variable) step {
	s := step{op: op, lead: op.first, without: 1, vars: vars}
	s.open = slices.ContainsFunc(vars, func(v variable) bool { return v.explode })
	allowed := plain
	switch {
	case op.reserved:
		allowed = anywhere
	case op.named:
		allowed += ","
	case s.open:
		allowed += "=" + string(rune(op.sep))
	case vars[0].max == 0:
		allowed += ","
	}
	s.strict, s.loose = chars(allowed), chars(allowed)
	for i, word := range op.loose {
		s.loose[i] |= word
	}
	return s
}

// most returns the maximal length of the parameter with that name in characters; 0 is unlimited.
func (st *step) most(name string) int {
	if i := slices.IndexFunc(st.vars, func(v variable) bool { return v.normal == name }); i >= 0 {
		return st.vars[i].max
	}
	return 0
}
