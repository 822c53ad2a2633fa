package lineedit

import (
	"slices"
	"unicode"
)

// MaxLine is the maximum length of a line in bytes.
const MaxLine = 1 << 20

// A line is a text with a cursor, which is between two characters or at an end. The cursor does not
// separate a character from its combining characters.
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
	pos := max(0, l.pos-1)
	for pos > 0 && combines(l.text[pos]) {
		pos--
	}
	return pos
}

// after returns the position one character after the cursor.
func (l *line) after() int {
	pos := min(len(l.text), l.pos+1)
	for pos < len(l.text) && combines(l.text[pos]) {
		pos++
	}
	return pos
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
	return pos
}

// alphanumeric reports whether a character belongs to a word for moving by words.
func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || combines(r) }

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
