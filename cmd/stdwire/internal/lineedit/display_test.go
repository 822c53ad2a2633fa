package lineedit

import (
	"math/rand/v2"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestDisplay(t *testing.T) {
	const left, home, clear = "\x1b[D", "\x01", "\x0c"
	for _, c := range []struct{ name, typed, want string }{
		{"empty", "", "> |"},
		{"one row", "abc" + left, "> ab|c"},
		{"up to the margin", "abcdefg", "> abcdefg|"},
		{"the whole row", "abcdefgh", "> abcdefgh\n|"},
		{"before the last column", "abcdefgh" + left, "> abcdefg|h"},
		{"two rows", "abcdefghij", "> abcdefgh\nij|"},
		{"at the beginning of the second", "abcdefghij" + left + left, "> abcdefgh\n|ij"},
		{"back on the first", "abcdefghij" + left + left + left, "> abcdefg|h\nij"},
		{"home", "abcdefghij" + home, "> |abcdefgh\nij"},
		{"inserted in the first", "abcdefghij" + home + "xyz", "> xyz|abcde\nfghij"},
		{"from two rows to one", "abcdefghij\x7f\x7f\x7f", "> abcdefg|"},
		{"three rows to none", strings.Repeat("x", 25) + "\x15", "> |"},
		{"wide", "字字字字", "> 字字字字\n|"},
		{"wide at the margin", "a字字字字", "> a字字字\n字|"},
		{"before a wide one at the margin", "a字字字字" + left, "> a字字字\n|字"},
		{"combined at the margin", "abcdefge\u0301", "> abcdefge\u0301\n|"},
		{"combined", "e\u0301x" + left + left, "> |e\u0301x"},
		{"control", "\x1b[200~a\tb\x1b[1m\u202e\x1b[201~", "> a  b^[[1\nm<202e>|"},
		{"pasted rows", "\x1b[200~{\n\n b\x1b[201~", "> {\n\n b|"},
		{"on a line end", "\x1b[200~ab\ncd\x1b[201~" + left + left + left, "> ab|\ncd"},
		{"line end at the margin", "\x1b[200~abcdefgh\nx\x1b[201~", "> abcdefgh\n\nx|"},
		{"on a line end at the margin", "\x1b[200~abcdefgh\nx\x1b[201~" + left + left,
			"> abcdefgh\n|\nx"},
		{"another screen", "abcdefghij" + clear, "> abcdefgh\nij|"},
	} {
		e := newTestEditor(10, 6, Options{})
		e.begin("> ")
		for key := range strings.SplitSeq(c.typed, "") {
			// one by one, so that every state is drawn
			e.pending = append(e.pending, key...)
			e.processKeys(false)
		}
		assert.Equal(t, e.screen.String(), c.want, c.name)
	}
}

func TestDisplayOfMoreThanFits(t *testing.T) {
	e := newTestEditor(10, 4, Options{})
	_, _ = e.Write([]byte("before\n"))
	e.begin("> ")
	text := ""
	for row := range 7 {
		text += strings.Repeat(string(rune('a'+row)), 10)
	}
	e.typeText(text)
	assert.Equal(t, e.screen.String(), "ddeeeeeeee\neeffffffff\nffgggggggg\ngg|",
		"the end is to be seen")
	e.typeText("\x01")
	assert.Equal(t, e.screen.String(), "> |aaaaaaaa\naabbbbbbbb\nbbcccccccc\nccdddddddd")
	e.typeText("\x1b[D\x1b[Cx")
	assert.Equal(t, e.screen.String(), "> ax|aaaaaa\naaabbbbbbb\nbbbccccccc\ncccddddddd")
	e.typeText(strings.Repeat("\x1b[C", 35))
	assert.Equal(t, strings.Count(e.screen.String(), "|"), 1)
	e.typeText("\r")
	assert.Equal(t, e.screen.String(), "eeefffffff\nfffggggggg\nggg\n|")
}

func TestPrintAbove(t *testing.T) {
	e := newTestEditor(10, 7, Options{})
	_, _ = e.Write([]byte("one\n"))
	e.begin("> ")
	e.typeText("abcdefghij\x01")
	_, _ = e.Write([]byte("two\n"))
	_, _ = e.Write([]byte("three"))
	assert.Equal(t, e.screen.String(), "one\ntwo\nthree\n> |abcdefgh\nij")
	e.typeText("\r")
	_, _ = e.Write([]byte("four"))
	_, _ = e.Write([]byte(" five\n"))
	assert.Equal(t, e.screen.String(), "one\ntwo\nthree\n> abcdefgh\nij\nfour five\n|",
		"and behind the line, as it is")
	_, _ = e.Write([]byte("no end"))
	e.begin("> ")
	e.typeText("x")
	assert.Equal(t, e.screen.String(), "two\nthree\n> abcdefgh\nij\nfour five\nno end\n> x|",
		"what has no line end is left alone")
}

func TestAnotherSize(t *testing.T) {
	e := newTestEditor(20, 8, Options{})
	_, _ = e.Write([]byte("one\n"))
	e.begin("> ")
	e.typeText("abcdefghijklmnopqrstuvwx")
	assert.Equal(t, e.screen.String(), "one\n> abcdefghijklmnopqr\nstuvwx|")
	for _, tt := range []struct {
		columns int
		want    string
	}{
		{11, "one\n> abcdefghi\njklmnopqrst\nuvwx|"}, {40, "one\n> abcdefghijklmnopqrstuvwx|"},
		{13, "one\n> abcdefghijk\nlmnopqrstuvwx\n|"},
		{10, "one\n> abcdefgh\nijklmnopqr\nstuvwx|"},
	} {
		want := tt.want
		e.screen.resize(tt.columns)
		e.display.redraw(e.screen.column)
		assert.Equal(t, e.screen.String(), want)
		e.typeText("y\x7f")
		assert.Equal(t, e.screen.String(), want)
	}
}

// Text above the line survives a change of width, also on a terminal that does not rewrap rows, and
// on one that does not report the cursor.
func TestLinesAboveSurviveAnotherSize(t *testing.T) {
	for _, typed := range []string{"", "abc", "abcdefghijklmnopqrstuvwx",
		"abcdefghijklmnopqrstuvwx\x01", strings.Repeat("x", 50)} {
		for columns := 5; columns <= 60; columns++ {
			for _, reports := range []bool{true, false} {
				for name, change := range map[string]func(*screen, int){"anew": (*screen).resize,
					"as they are": (*screen).crop} {
					e := newTestEditor(20, 30, Options{})
					_, _ = e.Write([]byte("one\ntwo\n"))
					e.begin("> ")
					e.typeText(typed)
					change(e.screen, columns)
					reported := unknownColumn
					if reports {
						reported = e.screen.column
					}
					e.display.redraw(reported)
					assert.Assert(t, strings.HasPrefix(e.screen.String(), "one\ntwo\n"),
						"%q, %d, %s, %v:\n%s", typed, columns, name, reports, e.screen)
					rows := 1 + (len("> ")+50)/columns
					assert.Assert(t, len(e.screen.rows) <= 2+2*rows+2,
						"what is left over is the line")
				}
			}
		}
	}
}

// Whatever is typed, the screen equals that of a new display.
func TestDisplayEqualsANewOne(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	keys := []string{"a", "b ", "字", "e\u0301", "\U0001F469", "\u200d", "\ufe0f",
		"\U0001F3FD", "\U0001F1EB", "\u2764", "\x1b[200~x\ny\x1b[201~",
		"\x1b[200~\t\x01\x1b[201~", "\x1b[D", "\x1b[C", "\x01", "\x05", "\x7f", "\x17", "\x19",
		"\x14", "\x1bb", "\x1bf", "\x0b"}
	for range 300 {
		columns, height := 3+random.IntN(12), 2+random.IntN(30)
		e := newTestEditor(columns, height, Options{})
		e.begin("> ")
		for range random.IntN(60) {
			e.pending = append(e.pending, keys[random.IntN(len(keys))]...)
			e.processKeys(false)
			fresh := newTestEditor(columns, height, Options{})
			fresh.begin("> ")
			fresh.line = e.line
			fresh.show()
			assert.Equal(t, e.screen.String(), fresh.screen.String(), "%q at %d", string(e.text),
				e.pos)
		}
	}
}
