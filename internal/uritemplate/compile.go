package uritemplate

import "slices"

// step is what Match looks for next: a literal, or what one variable expands to; the parameters of a named operator, in any order, are one step.
type step struct {
	literal string // normalised; "" if it is a step of variables
	op      operator
	lead    byte // the character that it begins with, if it is there; 0 is none
	sibling bool // it is not the first of its expression
	vars    []variable
	without int      // how many steps are left out if its lead is not there
	limit   int      // characters it takes at most, without its lead; 0 is any
	strict  charset  // what Expand leaves as it is
	loose   charset  // what others leave
	names   []string // of parameters, normalised, the longest first, as one may begin with another
	open    bool     // parameters with other names are taken, too
}

// compile makes the steps of the parts, and takes the literal at the beginning for the prefix.
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
					s.without = len(p.vars) // only the first can begin with it
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

// most returns how many characters the parameter of a name has at most, 0 if any number.
func (st *step) most(name string) int {
	if i := slices.IndexFunc(st.vars, func(v variable) bool { return v.normal == name }); i >= 0 {
		return st.vars[i].max
	}
	return 0
}
