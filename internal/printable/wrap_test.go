package printable

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestWrap(t *testing.T) {
	long, exact := strings.Repeat("x", Width+1), strings.Repeat("é", Width-4)
	for _, tc := range []struct {
		text        string
		first, rest int
		want        string
	}{
		{"", 0, 2, ""},
		{" a\n b\t", 1, 2, " a b"},
		{"abc " + exact, 0, 2, "abc " + exact},
		{"abc " + exact + " d", 0, 2, "abc " + exact + "\n  d"},
		{"abcd " + exact, 0, 2, "abcd\n  " + exact},
		{"abcd " + exact, 0, 0, "abcd\n" + exact},
		{"a " + long + " b", 1, 2, " a\n  " + long + "\n  b"},
	} {
		assert.Equal(t, Wrap(tc.text, tc.first, tc.rest), tc.want)
	}
	assert.Equal(t, WrapWords([]string{"a b", exact}, 0, 1), "a b "+exact)
	assert.Equal(t, WrapWords([]string{"a bc", exact}, 0, 1), "a bc\n "+exact)
	assert.Equal(t, WrapAfter("é", "a "+exact, 4), "é   a\n    "+exact)
	assert.Equal(t, WrapAfter("long head", "a", 4), "long head a")
}
