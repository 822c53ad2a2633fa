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
		assert.Equal(t, NoTerminal.Wrap(tc.text, tc.first, tc.rest), tc.want)
	}
	assert.Equal(t, NoTerminal.WrapWords([]string{"a b", exact}, 0, 1), "a b "+exact)
	assert.Equal(t, NoTerminal.WrapWords([]string{"a bc", exact}, 0, 1), "a bc\n "+exact)
	assert.Equal(t, NoTerminal.WrapAfter("é", "a "+exact, 4), "é   a\n    "+exact)
	assert.Equal(t, NoTerminal.WrapAfter("long head", "a", 4), "long head a")
}

func TestColumns(t *testing.T) {
	assert.Equal(t, Columns(6).Wrap("日本 a b", 0, 1), "日本 a\n b")
	assert.Equal(t, NoTerminal.Of("日本"), 2)
	assert.Equal(t, Columns(9).Pad("日本", 5)+"|", "日本 |")
	assert.Equal(t, Columns(9).WrapAfter("e\u0301", "x", 4), "e\u0301   x")
	assert.DeepEqual(t, Columns(9).Widths([][]string{{"日"}, {"a", "é"}}), []int{2, 1})
}

func TestReflow(t *testing.T) {
	const page = `A heading

A paragraph of several lines, which
goes on here.

  name   what it is, on two
         lines
  other  short

  stdwire ls a b c d e f g h i j

    $ stdwire ls tools and a line that is long
    its output, which is also rather long
`
	assert.Equal(t, NoTerminal.Reflow(page), page)
	assert.Equal(t, Columns(80).Reflow(page), `A heading

A paragraph of several lines, which goes on here.

  name   what it is, on two lines
  other  short

  stdwire ls a b c d e f g h i j

    $ stdwire ls tools and a line that is long
    its output, which is also rather long
`)
	assert.Equal(t, Columns(30).Reflow(page), `A heading

A paragraph of several lines,
which goes on here.

  name   what it is, on two
         lines
  other  short

  stdwire ls a b c d e f g h i
      j

    $ stdwire ls tools and a line that is long
    its output, which is also rather long
`)
	assert.Equal(t, Columns(20).Reflow("  name   what it is, on two\n"),
		"  name what it is,\n    on two\n", "no room for columns")
}
