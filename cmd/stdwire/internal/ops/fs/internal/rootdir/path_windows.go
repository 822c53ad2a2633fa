package rootdir

import (
	"path/filepath"
	"strings"
	"unicode/utf16"

	"github.com/stdwire/stdwire/dispatch"
)

// maxName is the maximum length of a file name in UTF-16 code units.
const maxName = 255

// checkName returns an error if an element of a clean path is a name that Windows maps to another
// file or to a device. Such a name would be a second name of a file.
func checkName(name string) error {
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
