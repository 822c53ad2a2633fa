package proc

import (
	"os"
	"slices"
	"strings"
)

// allows reports whether a command is the one that an entry of an allow list names. Windows takes
// either slash, and letters of either case; only those of ASCII are taken for the same here,
// as for others it depends on the disk. It finds "npx.cmd" by the name "npx", so an entry without
// an extension allows those of PATHEXT.
//
// What else Windows takes for the same file is not: dots and spaces at the end, short names, and
// streams ("npx.cmd::$DATA").
func allows(entry, command string) bool {
	rest, ok := strings.CutPrefix(canonical(command), canonical(entry))
	return ok && (rest == "" || slices.Contains(extensions(), rest))
}

// canonical makes a command's small letters and slashes one of two kinds each.
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

// extensions are what PATHEXT says that programs are called, as ".exe".
func extensions() (all []string) {
	for ext := range strings.SplitSeq(canonical(os.Getenv("PATHEXT")), ";") {
		if len(ext) > 1 && ext[0] == '.' && !strings.ContainsAny(ext[1:], `. :\`) {
			all = append(all, ext)
		}
	}
	return all
}
