package itemname

import "strings"

// MaxID is the maximum length of the id of a server in bytes, as in host.CheckID.
const MaxID = 32

// SuggestID returns the valid id (see host.CheckID) that is most similar to a name, or "" if
// there is none.
func SuggestID(name string) string {
	var b strings.Builder
	var last byte = '-'
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9':
		case strings.IndexByte("._-", last) >= 0:
			continue
		case strings.IndexByte("._-", c) < 0:
			c = '-'
		}
		if b.Len() == MaxID {
			break
		}
		b.WriteByte(c)
		last = c
	}
	return strings.TrimRight(b.String(), "._-")
}
