package host

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stdwire/stdwire/internal/itemname"
)

// DefaultMaxName is the default maximum length of the public names of tools and prompts. Several
// models do not accept longer names.
const DefaultMaxName = 64

// CheckID returns an error unless id is a valid server ID: 1 to 32 letters, digits, '.', '_' and
// '-', beginning with a letter or digit, and without "__", which separates it from the names of
// tools.
func CheckID(id string) error {
	switch {
	case !idPattern.MatchString(id):
		return fmt.Errorf(
			"the server ID %.50q is not 1 to 32 letters, digits, '.', '_' and '-', beginning with a letter or digit",
			id)
	case strings.Contains(id, itemname.Separator):
		return fmt.Errorf(
			"the server ID %q contains %q, which separates it from the names of its tools", id,
			itemname.Separator)
	}
	return nil
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)

// PublicName returns the name of a server's tool or prompt with the server's ID, such as
// "files__read". Characters that are not letters, digits, '_', '-' or '.' become '_'. A name longer
// than maxLen is truncated and ends with '_' and six hexadecimal digits of a digest, so that names
// with the same beginning differ. The result depends on the arguments only.
func PublicName(id, name string, maxLen int) string { return itemname.Public(id, name, maxLen) }
