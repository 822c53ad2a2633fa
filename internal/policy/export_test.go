package policy

import "slices"

// Selections returns the number of items whose rules are cached.
func Selections(p *Policy) int {
	p.cache.mu.RLock()
	defer p.cache.mu.RUnlock()
	return len(p.cache.byItem)
}

// Unindexed returns the policy without indexes of arguments: each test is there twice.
func Unindexed(p *Policy) *Policy {
	p = Merge(p)
	for _, r := range p.rules {
		r.arguments = slices.Clone(r.arguments)
		for i, c := range r.arguments {
			r.arguments[i] = &condition{c.at, slices.Concat(c.tests, c.tests), c.standsIn}
		}
	}
	return p
}
