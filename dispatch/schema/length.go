package schema

import "unicode/utf8"

// length returns the length of a string in code points, as minLength and maxLength count it,
// without decoding its escapes.
func (idx *index) length(n uint32) int {
	at := idx.nodes[n]
	inner := idx.data[at.start+1 : at.end-1]
	if !at.escaped {
		return utf8.RuneCount(inner)
	}
	count := utf8.RuneCount(inner)
	for i := 0; i+1 < len(inner); i++ {
		if inner[i] != '\\' {
			continue
		}
		// An escape is 2 bytes for one code point, or 6, or 12 for a surrogate pair.
		extra := 1
		if inner[i+1] == 'u' {
			extra = 5
			if i+3 < len(inner) && inner[i+2]|0x20 == 'd' && inner[i+3] >= '8' {
				extra = 11
			}
		}
		count -= extra
		i += extra
	}
	return count
}
