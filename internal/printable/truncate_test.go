package printable

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestTruncate(t *testing.T) {
	for _, tc := range []struct {
		in           string
		n            int
		bytes, runes string
	}{
		{"", 0, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "abc…", "ab…"},
		{"äbcd", 1, "…", "…"},
		{"äbcd", 3, "äb…", "äb…"},
		{"äöüß", 4, "äö…", "äöüß"},
		{"a\xffcd", 3, "ac…", "a\uFFFD…"},
	} {
		assert.Equal(t, TruncateBytes(tc.in, tc.n), tc.bytes)
		assert.Equal(t, TruncateRunes(tc.in, tc.n), tc.runes)
	}
}

func TestTrimPartialRune(t *testing.T) {
	for text, whole := range map[string]string{
		"": "", "a": "a", "ä": "ä", "a\xc3": "a", "…": "…", "\xe2": "", "\xe2\x80": "",
		"a😀": "a😀", "a\xf0\x9f\x98": "a", "\x98\x80": "\x98\x80",
		"a\x80\x80\x80": "a\x80\x80\x80", "a\xff": "a\xff",
	} {
		assert.Equal(t, string(TrimPartialRune([]byte(text))), whole)
	}
}
