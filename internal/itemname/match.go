package itemname

import "strings"

// Match reports whether a pattern matches a name: '*' stands for any characters, and '?' for one
// byte. It takes time proportional to the product of their lengths.
func Match(pattern, name string) bool {
	// star is the index of the latest '*', which matches the name up to back.
	star, back := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			back++
			p, n = star+1, back
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
