package proc

import (
	"os"
	"slices"
	"strings"
)

// allows reports whether an entry of an allow list permits a command. Windows accepts either slash
// and ignores case; allows ignores the case of ASCII letters only, because for others it depends on
// the disk. Windows finds "npx.cmd" by the name "npx", so an entry without an extension permits
// every extension in PATHEXT.
//
// allows does not accept other spellings of a file that Windows accepts: dots and spaces at the
// end, short names, and streams ("npx.cmd::$DATA").
func allows(entry, command string) bool {
	rest, ok := strings.CutPrefix(canonical(command), canonical(entry))
	return ok && (rest == "" || slices.Contains(extensions(), rest))
}

// canonical converts ASCII letters to lower case and slashes to backslashes.
func canonical(command string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '/':
			return '\\'
		case 'A' <= c && c <= 'Z':
			return c + 'a' - 'A'
		}
		return c
	}, command)
}

// extensions returns the extensions of PATHEXT, such as ".exe".
func extensions() (all []string) {
	for ext := range strings.SplitSeq(canonical(os.Getenv("PATHEXT")), ";") {
		if len(ext) > 1 && ext[0] == '.' && !strings.ContainsAny(ext[1:], `. :\`) {
			all = append(all, ext)
		}
	}
	return all
}
