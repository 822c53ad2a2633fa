package policy

import "slices"

// OnlyRestricts reports whether p can permit nothing that another policy does not: it differs in
// more rules of effect deny or hide, in fewer of effect allow, or in the default deny. A nil policy
// permits everything. Other differences may permit more, also where they do not.
func (p *Policy) OnlyRestricts(before *Policy) bool {
	if before == nil {
		return true
	}
	if !slices.Equal(p.within, before.within) || p.allows && !before.allows {
		return false
	}
	removed := map[string]int{}
	for _, r := range before.rules {
		removed[string(r.text)]++
	}
	for _, r := range p.rules {
		switch {
		case removed[string(r.text)] > 0:
			removed[string(r.text)]--
		case r.Effect == Allow || r.Effect == Ask:
			return false
		}
	}
	return !slices.ContainsFunc(before.rules, func(r *Rule) bool {
		return removed[string(r.text)] > 0 && r.Effect != Allow
	})
}

// Within returns a policy that permits what p and all others permit: of several decisions the
// strictest one counts, and of those that are as strict the one of p.
func (p *Policy) Within(others ...*Policy) *Policy {
	all := Merge(p)
	all.within = others
	return all
}

// stricter returns the stricter one of the decisions of two policies.
func stricter(a, b Decision) Decision {
	certain := a.Certain && b.Certain
	if b.Effect > a.Effect || b.Effect == Deny && b.Pointer == "" && a.Pointer != "" {
		a = b
	}
	a.Certain = certain || a.Effect == Deny
	return a
}
