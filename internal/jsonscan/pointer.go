package jsonscan

import "strings"

var (
	pointerEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// EscapePointer returns name as a reference token of a JSON Pointer (RFC 6901, section 3).
func EscapePointer(name string) string {
	if strings.IndexByte(name, '~') < 0 && strings.IndexByte(name, '/') < 0 {
		return name // much faster than the replacer
	}
	return pointerEscaper.Replace(name)
}

// UnescapePointer returns the member name that a reference token of a JSON Pointer stands for.
func UnescapePointer(token string) string {
	if strings.IndexByte(token, '~') < 0 {
		return token
	}
	return pointerUnescaper.Replace(token)
}
