package schema

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// valueName returns a JSON Pointer as programmers write a path: size.height, points[0]. A name that
// would be ambiguous is quoted: ["a.b"]. A number is written as an index, even if it is the name of
// a member, because the pointer does not distinguish them.
func valueName(pointer string) string {
	var name strings.Builder
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = jsonscan.UnescapePointer(token)
		switch {
		case pointer == "":
		case isIndex(token):
			name.WriteString("[" + token + "]")
		case !isPlain(token):
			name.WriteString("[" + strconv.Quote(token) + "]")
		case name.Len() > 0:
			name.WriteString("." + token)
		default:
			name.WriteString(token)
		}
	}
	return truncate(name.String())
}

const maxName = 100 // characters of a name or pattern in a message

// truncate returns at most maxName characters of a name or pattern.
func truncate(name string) string {
	runes := 0
	for i := range name {
		if runes == maxName {
			return name[:i] + "…"
		}
		runes++
	}
	return name
}

func isIndex(token string) bool {
	n, err := strconv.ParseUint(token, 10, 63)
	return err == nil && strconv.FormatUint(n, 10) == token
}

// isPlain reports whether a name consists of letters, digits, and punctuation that cannot be taken
// for an end of the name.
func isPlain(token string) bool {
	return token != "" && strings.IndexFunc(token, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_-$@", c)
	}) < 0
}
