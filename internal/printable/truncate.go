package printable

import (
	"strings"
	"unicode/utf8"
)

// TruncateBytes returns s, or its first n bytes and "…" if it has more. A character that is cut in
// two is left out, as is other invalid UTF-8.
func TruncateBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// TrimPartialRune removes an incomplete character from the end of a text.
func TrimPartialRune(text []byte) []byte {
	for i := len(text) - 1; i >= 0 && i > len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}

// TruncateRunes returns s, or its first n-1 characters and "…" if it has more than n.
func TruncateRunes(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// CutWords returns the words at the beginning of a text that fit into n characters, with "…" in
// place of the rest. A word that is more than half of that is cut. 0 is no limit.
func CutWords(s string, n int) string {
	if n <= 0 || len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	kept := string(runes[:n-1])
	// with the next character, so that a whole word at the end stays
	if space := strings.LastIndexAny(string(runes[:n]), " \t\n"); space >= len(kept)/2 {
		kept = kept[:min(space, len(kept))]
	}
	return strings.TrimRight(kept, " \t\n") + "…"
}
