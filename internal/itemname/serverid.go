package itemname

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/lazyregexp"
)

// MaxID is the maximum length of the ID of a server in bytes.
const MaxID = 32

// CheckID returns an error unless id is a valid server ID: 1 to 32 letters, digits, '.', '_' and
// '-', beginning with a letter or digit, and without "__", which separates it from the names of
// tools.
func CheckID(id string) error {
	switch {
	case !idPattern().MatchString(id):
		return fmt.Errorf(
			"the server ID %.50q is not 1 to 32 letters, digits, '.', '_' and '-', beginning with a letter or digit",
			id)
	case strings.Contains(id, Separator):
		return fmt.Errorf(
			"the server ID %q contains %q, which separates it from the names of its tools", id,
			Separator)
	}
	return nil
}

var idPattern = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)

// SuggestID returns the valid ID (see [CheckID]) that is most similar to a name, or "" if there is
// none.
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
