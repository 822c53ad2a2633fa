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

func TestCutWords(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"one two three", 0, "one two three"},
		{"one two three", 13, "one two three"},
		{"one two three", 12, "one two…"},
		{"one two three", 8, "one two…"},
		{"one two three", 7, "one…"},
		{"abcdefghij", 5, "abcd…"},
		{"a bcdefghij", 6, "a bcd…"}, // not half of it
		{"ünï cödé", 7, "ünï…"},
		{"ünï cödé", 8, "ünï cödé"},
		{"x", 1, "x"},
		{"xy", 1, "…"},
	} {
		assert.Equal(t, CutWords(tt.text, tt.most), tt.want, "%q %d", tt.text, tt.most)
	}
}
