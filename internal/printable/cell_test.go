package printable

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"字字", 4, "字字"}, {"字字字", 5, "字字…"}, {"字字字", 4, "字…"},
		{"a\x1b[1m\nb", 9, "a^[[1m^Jb"}, {"abe\u0301", 3, "abe\u0301"}, {"", 0, ""},
	} {
		assert.Equal(t, Cut(c.text, c.columns), c.want)
	}
}
