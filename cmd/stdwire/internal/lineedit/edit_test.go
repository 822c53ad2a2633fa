package lineedit

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/printable"
)

// A testEditor is an editor and its screen.
type testEditor struct {
	*Editor
	screen *screen
}

func newTestEditor(columns, height int, o Options) *testEditor {
	s := newScreen(columns, height)
	e := New(strings.NewReader(""), s, o)
	e.display.size = func() (int, int) { return s.columns, s.height }
	return &testEditor{e, s}
}

// begin starts a new line.
func (e *testEditor) begin(prompt string) { e.Editor.begin(e.newEntry(prompt)) }

// typeText types text, and waits a moment.
func (e *testEditor) typeText(text string) {
	e.pending = append(e.pending, text...)
	e.processKeys(false)
	e.processKeys(true)
}

// String returns the line, with | at the cursor.
func (e *testEditor) String() string { return string(e.text[:e.pos]) + "|" + string(e.text[e.pos:]) }

func TestEditing(t *testing.T) {
	const left, right = "\x1b[D", "\x1b[C"
	for _, c := range []struct{ typed, want string }{
		{"abc", "abc|"},
		{"abc" + left + left + "x", "ax|bc"},
		{"ac" + "\x02b" + "\x06d", "abcd|"},
		{"abc\x01x\x05y", "xabcy|"},
		{"abc\x1b[Hx\x1b[Fy", "xabcy|"},
		{"ab" + right, "ab|"},
		{left + "a", "a|"},
		{"abc\x7f\x08", "a|"},
		{"\x7f", "|"},
		{"abc\x01\x04\x1b[3~", "|c"},
		{"abc\x04", "abc|"},
		{"one two.three  \x1bb", "one two.|three  "},
		{"one two.three\x1bb\x1bb\x1bb\x1bb", "|one two.three"},
		{"one two.three\x01\x1bf\x1bf", "one two|.three"},
		{"one two\x1b[1;5Dx\x1b[1;5Cy", "one xtwoy|"},
		{"one two.three \x17", "one |"},
		{"one two.three \x1b\x7f", "one two.|"},
		{"one two\x01\x1bd", "| two"},
		{"one two\x01\x1bD", "| two"},
		{"one two three\x17\x17\x19\x19", "one two threetwo three|"},
		{"one two three\x01\x1bd\x1bd\x05\x19", " threeone two|"},
		{"one two\x17x\x17\x19", "one x|"},
		{"one two\x02\x02\x02\x0b\x01\x19", "two|one "},
		{"one two\x02\x02\x02\x15", "|two"},
		{"one\x15two\x15\x15\x15\x19", "two|"},
		{"\x19", "|"},
		{"ab\x14", "ba|"},
		{"abc\x02\x14", "acb|"},
		{"a\x14", "a|"},
		{"abc\x01\x14", "|abc"},
		// Combining characters stay with their base.
		{"ae\u0301\x02x", "ax|e\u0301"},
		{"ae\u0301\x7f", "a|"},
		{"ae\u0301b\x02\x02\x04", "a|b"},
		{"ae\u0301\x14", "e\u0301a|"},
		{"字é\x02\x02x", "x|字é"},
		// A paste does not press Enter; nothing in it works.
		{"\x1b[200~one\r\ntwo\r\x1b[201~", "one\ntwo|"},
		{"\x1b[200~\x1b[201~", "|"},
		{"\x1b[200~\x1b[A\t\x01\x1b[201~", "\x1b[A\t\x01|"},
		{"a\x1b[200~\n\x1b[201~b", "ab|"},
		// These do nothing.
		{"a\x1b[Z\x1bx\x1b\x1b[15~\x00\x1a\t\x07b", "ab|"},
	} {
		e := newTestEditor(80, 24, Options{})
		e.begin("> ")
		e.typeText(c.typed)
		assert.Equal(t, e.String(), c.want, "%q", c.typed)
	}
}

func TestEndOfALine(t *testing.T) {
	for _, c := range []struct {
		typed, line string
		err         error
		screen      string
	}{
		{"one\rtwo", "one", nil, "> one\n|"},
		{"one\x01\n", "one", nil, "> one\n|"},
		{"one\x01\x03", "", ErrInterrupted, "> one^C\n|"},
		{"\x04", "", io.EOF, ">\n|"},
		{"o\x7f\x04", "", io.EOF, ">\n|"},
	} {
		e := newTestEditor(80, 24, Options{})
		e.begin("> ")
		e.typeText(c.typed)
		assert.Assert(t, e.ended)
		assert.Equal(t, string(e.text), c.line)
		assert.Equal(t, e.err, c.err)
		assert.Equal(t, e.screen.String(), c.screen, "%q", c.typed)
	}
	e := newTestEditor(80, 24, Options{})
	e.begin("> ")
	e.typeText("one\rtwo")
	e.begin("> ")
	e.processKeys(false)
	assert.Equal(t, e.String(), "two|", "typed ahead")
}

func TestALineHasABound(t *testing.T) {
	e := newTestEditor(80, 24, Options{})
	e.begin("> ")
	e.insert([]rune(strings.Repeat("ä", MaxLine/2-1))...)
	e.typeText("ö")
	assert.Equal(t, len(string(e.text)), MaxLine)
	e.typeText("\x01x\x1b[200~" + "abc" + "\x1b[201~")
	assert.Equal(t, len(string(e.text)), MaxLine, "no more fits")
	assert.Equal(t, e.pos, 0)
}

func TestHistoryAtThePrompt(t *testing.T) {
	const up, down = "\x1b[A", "\x1b[B"
	for _, c := range []struct{ typed, want string }{
		{up, "three|"},
		{up + up + up + up, "one|"},
		{"own\x02" + up + down, "own|"},
		{"own" + up + up + down + down + down, "own|"},
		{"own\x10\x10\x0e", "three|"},
		{up + "x" + up + down, "three|"},
		{down, "|"},
		// search
		{"\x12o\r", "two"},
		{"\x12o\x05", "two|"},
		{"\x12o\x06", "two|"},
		{"\x12e\x12\x05", "one|"},
		{"\x12e\x12\x12\x12\x12\x05", "one|"},
		{"\x12on\x7f\x05", "two|"},
		{"\x12o\x05" + up, "one|"},
		{"\x12o\x05" + down, "three|"},
		{"own\x12o\x05" + down + down, "own|"},
		{"own\x12tw\x07", "own|"},
		{"own\x12tw\x03", "own|"},
		{"own\x12tw\x1b", "own|"},
		{"own\x12\x05", "own|"},
		{"own\x12missing\x05x", "ownx|"},
		{"\x12\x1b[200~tw\r\x1b[201~\x05", "two|"},
		{"\x12tw\x7f\x7f\x7f\x05", "|"},
		// longer than any history line
		{"\x12tw\x1b[200~" + strings.Repeat("x", maxHistoryLine) + "\x1b[201~\x05", "two|"},
	} {
		h := new(History)
		for _, line := range []string{"one", "two", "three"} {
			assert.NilError(t, h.Add(line))
		}
		e := newTestEditor(80, 24, Options{History: h})
		e.begin("> ")
		e.typeText(c.typed)
		got := e.String()
		if e.ended {
			got = string(e.text)
		}
		assert.Equal(t, got, c.want, "%q", c.typed)
	}
}

func TestSearchIsShown(t *testing.T) {
	h := &History{lines: []string{"call one", "call two"}}
	e := newTestEditor(40, 5, Options{History: h})
	e.begin("> ")
	e.typeText("own\x12")
	assert.Equal(t, e.screen.String(), "(search: ) |")
	e.typeText("ca")
	assert.Equal(t, e.screen.String(), "(search: ca) |call two")
	e.typeText("ll o")
	assert.Equal(t, e.screen.String(), "(search: call o) |call one")
	e.typeText("x")
	assert.Equal(t, e.screen.String(), "(not found: call ox) |call one")
	e.typeText("\x7f\r")
	assert.Equal(t, e.screen.String(), "> call one\n|")
}

func TestCompletion(t *testing.T) {
	complete := func(line string, pos int) ([]string, int) {
		from := strings.LastIndexByte(line[:pos], ' ') + 1
		var found []string
		for _, word := range []string{"alpha ", "alpine ", "beta ", "schön=", "schön:", "字a", "字b",
			"'x y' ", "\x1bz"} {
			if strings.HasPrefix(strings.Trim(word, "'"), line[from:pos]) {
				found = append(found, word)
			}
		}
		return found, from
	}
	for _, c := range []struct{ typed, want, screen string }{
		{"b\t", "beta |", "> beta |"},
		{"al\t", "alp|", "> alp|"},
		{"al\t\t", "alp|", "alpha   alpine\n> alp|"},
		{"x sch\tq", "x schönq|", "> x schönq|"},
		{"字\t", "字|", "字a  字b\n> 字|"},
		{"x b y\x02\x02\t", "x beta | y", "> x beta | y"},
		{"x\t", "'x y' |", "> 'x y' |"},
		{"q\t", "q|", "> q|"},
		{"\t", "|", "alpha   schön=  字b\nalpine  schön:  'x y'\nbeta    字a     ^[z\n> |"},
	} {
		e := newTestEditor(26, 8, Options{Complete: complete})
		e.begin("> ")
		e.typeText(c.typed)
		assert.Equal(t, e.String(), c.want, "%q", c.typed)
		assert.Equal(t, e.screen.String(), c.screen, "%q", c.typed)
	}
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprintf("%03d%s", i, strings.Repeat("x", i%100))
	}
	text := formatColumns(many, 80)
	assert.Equal(t, strings.Count(text, "\n"), 201, "of one that is long, so much is shown")
	assert.Assert(t, strings.HasSuffix(text, "… and 800 more\n"))
	e := newTestEditor(80, 24, Options{Complete: func(string, int) ([]string, int) {
		return []string{"x"}, 7
	}})
	e.begin("> ")
	e.typeText("ab\t")
	assert.Equal(t, e.String(), "ab|", "a place that is not in the line")
	assert.Assert(t, !errors.Is(e.err, io.EOF))
}

// Emoji sequences are one character: for the cursor, for deletion and in width.
func TestEmojiSequences(t *testing.T) {
	const left, right = "\x1b[D", "\x1b[C"
	for name, emoji := range map[string]string{
		"joined":             "\U0001F469\u200d\U0001F680",
		"family":             "\U0001F468\u200d\U0001F469\u200d\U0001F467\u200d\U0001F466",
		"skin tone":          "\U0001F44D\U0001F3FD",
		"joined, skin tone":  "\U0001F469\U0001F3FE\u200d\U0001F4BB",
		"flag":               "\U0001F1EB\U0001F1F7",
		"flag of tags":       "\U0001F3F4\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F",
		"variation selector": "\u2764\ufe0f",
		"selector, joined":   "\u2764\ufe0f\u200d\U0001F525",
		"keycap":             "1\ufe0f\u20e3",
		"one rune":           "\U0001F600",
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct{ typed, want string }{
				{"a" + emoji + "b" + left + left + "x", "ax|" + emoji + "b"},
				{"a" + emoji + "b\x01" + right + right + "x", "a" + emoji + "x|b"},
				{"a" + emoji + "\x7f", "a|"},
				{emoji + "b\x01\x1b[3~", "|b"},
				{emoji + emoji + "\x7f", emoji + "|"},
				{emoji + "b\x14", "b" + emoji + "|"},
				{emoji + " b" + "\x1bb\x1bb", "|" + emoji + " b"},
			} {
				e := newTestEditor(80, 24, Options{})
				e.begin("> ")
				e.typeText(c.typed)
				assert.Equal(t, e.String(), c.want, "%q", c.typed)
			}
			assert.Equal(t, printable.ColumnsOf("a"+emoji+"b"), 4)
			assert.Equal(t, printable.Cut(emoji+emoji+emoji, 5), emoji+emoji+"…")
			e := newTestEditor(8, 24, Options{})
			e.begin("> ")
			e.typeText("abc" + emoji + "d")
			assert.Equal(t, e.screen.String(), "> abc"+emoji+"d\n|")
			e.typeText(left + "x")
			assert.Equal(t, e.screen.String(), "> abc"+emoji+"x\n|d")
		})
	}
	assert.Equal(t, printable.ColumnsOf("\U0001F1EB\U0001F1F7\U0001F1E9\U0001F1EA"), 4, "two flags")
	assert.Equal(t, printable.CharacterLen([]rune("क\u200dष")), 2, "letters are not joined")
	assert.Equal(t, printable.CharacterLen([]rune("a\U0001F3FD")), 1, "a skin tone of nothing")
}

// A line that is incomplete continues in the next row, until an empty row ends it in any case.
func TestLineOfSeveralRows(t *testing.T) {
	incomplete := func(text string) bool {
		return strings.Count(text, "{") > strings.Count(text, "}")
	}
	for _, c := range []struct{ typed, text string }{
		{"a\r", "a"},
		{"a {\rb\r}\r", "a {\nb\n}"},
		{"a {\x01\r}\r", "a {\n}"},
		{"a {\r\r", "a {\n"},
		{"a {\rb\r \r", "a {\nb\n "},
		{"a\x1b\rb\r", "a\nb"},
		{"\x1b\ra\r", "\na"},
	} {
		e := newTestEditor(40, 24, Options{Incomplete: incomplete})
		e.begin("> ")
		e.typeText(c.typed)
		assert.Assert(t, e.ended, "%q", c.typed)
		assert.NilError(t, e.err)
		assert.Equal(t, string(e.text), c.text, "%q", c.typed)
	}
	e := newTestEditor(40, 24, Options{Incomplete: incomplete})
	e.begin("> ")
	e.typeText("{\rb")
	assert.Equal(t, e.screen.String(), "> {\nb|")
	e.typeText("\x03")
	assert.Equal(t, e.err, ErrInterrupted)
}
