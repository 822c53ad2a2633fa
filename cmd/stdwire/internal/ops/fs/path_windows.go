package fs

import (
	"path/filepath"
	"strings"
	"unicode/utf16"

	"github.com/stdwire/stdwire/dispatch"
)

// maxName is how many UTF-16 code units the name of a file may have.
const maxName = 255

// allowed returns an error if a clean path has a name that Windows takes for another one, or for
// something that is no file. Through such a name, one file would be known by two.
func allowed(name string) error {
	for element := range strings.SplitSeq(name, "/") {
		why := ""
		switch {
		case element == "." || element == "..":
			continue
		case strings.ContainsFunc(element, func(c rune) bool { return c < ' ' }):
			why = "it holds a control character"
		case strings.ContainsAny(element, `<>:"|?*`):
			why = `it holds one of <>:"|?*`
		case strings.HasSuffix(element, ".") || strings.HasSuffix(element, " "):
			why = "it ends with a dot or a space"
		case !filepath.IsLocal(element):
			why = "it is the name of a device"
		case len(utf16.Encode([]rune(element))) > maxName:
			return dispatch.Errorf(dispatch.InvalidInput, "the name %q is too long; "+
				"at most %d characters are allowed", element, maxName)
		}
		if why != "" {
			return dispatch.Errorf(dispatch.InvalidInput,
				"Windows does not allow the name %q: %s", element, why)
		}
	}
	return nil
}
