package policy

// Selections returns the number of items whose rules are cached.
func Selections(p *Policy) (n int) {
	p.selects.Load().byItem.Range(func(any, any) bool { n++; return true })
	return n
}
