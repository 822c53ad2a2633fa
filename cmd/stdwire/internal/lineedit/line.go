package lineedit

import (
	"slices"
	"unicode"

	"github.com/stdwire/stdwire/internal/printable"
)

// MaxLine is the maximum length of a line in bytes.
const MaxLine = 1 << 20

// A line is a text with a cursor, which is between two characters or at an end; see
// [printable.CharacterLen].
type line struct {
	text []rune
	pos  int
}

func (l *line) set(text string) {
	l.text = []rune(text)
	l.pos = len(l.text)
}

// insert puts text before the cursor, and returns false if the line would be too long.
func (l *line) insert(text ...rune) bool {
	if len(string(l.text))+len(string(text)) > MaxLine {
		return false
	}
	l.text = slices.Insert(l.text, l.pos, text...)
	l.pos += len(text)
	return true
}

// remove deletes and returns the text between the cursor and another position.
func (l *line) remove(to int) []rune {
	from := min(l.pos, to)
	removed := slices.Clone(l.text[from:max(l.pos, to)])
	l.text = slices.Delete(l.text, from, from+len(removed))
	l.pos = from
	return removed
}

// before returns the position one character before the cursor.
func (l *line) before() int {
	if l.pos == 0 {
		return 0
	}
	start, _ := l.characterAt(l.pos - 1)
	return start
}

// characterAt returns the start and the end of the character that contains a rune.
func (l *line) characterAt(pos int) (start, end int) {
	for pos >= end {
		start = end
		end += printable.CharacterLen(l.text[start:])
	}
	return start, end
}

// after returns the position one character after the cursor.
func (l *line) after() int {
	if l.pos == len(l.text) {
		return l.pos
	}
	_, end := l.characterAt(l.pos)
	return end
}

// wordStart returns the start of the word that the cursor is in or after. in reports whether a
// character belongs to a word.
func (l *line) wordStart(in func(rune) bool) int {
	pos := l.pos
	for pos > 0 && !in(l.text[pos-1]) {
		pos--
	}
	for pos > 0 && in(l.text[pos-1]) {
		pos--
	}
	if pos < len(l.text) {
		pos, _ = l.characterAt(pos)
	}
	return pos
}

// wordEnd returns the end of the word that the cursor is in or before.
func (l *line) wordEnd(in func(rune) bool) int {
	pos := l.pos
	for pos < len(l.text) && !in(l.text[pos]) {
		pos++
	}
	for pos < len(l.text) && in(l.text[pos]) {
		pos++
	}
	if pos > 0 {
		_, pos = l.characterAt(pos - 1)
	}
	return pos
}

// alphanumeric reports whether a character belongs to a word for moving by words.
func alphanumeric(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || printable.Combines(r)
}

// notBlank reports whether a character belongs to a word for Ctrl-W.
func notBlank(r rune) bool { return !unicode.IsSpace(r) }

// transpose swaps the characters around the cursor, or the last two at the end of the line, and
// moves the cursor after them.
func (l *line) transpose() {
	at := *l
	if at.pos == len(at.text) {
		at.pos = at.before()
	}
	if at.pos == 0 {
		return
	}
	from, mid, to := at.before(), at.pos, at.after()
	swapped := slices.Concat(l.text[mid:to], l.text[from:mid])
	copy(l.text[from:], swapped)
	l.pos = to
}
