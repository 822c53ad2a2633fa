package lineedit

import (
	"slices"
	"unicode"
)

// MaxLine is how many bytes a line may have.
const MaxLine = 1 << 20

// A line is a text with a cursor in it, which is between two characters, or at an end. A character and what combines with it stay together.
type line struct {
	text []rune
	pos  int
}

func (l *line) set(text string) {
	l.text = []rune(text)
	l.pos = len(l.text)
}

// insert puts text before the cursor, and reports whether there was room for it.
func (l *line) insert(text ...rune) bool {
	if len(string(l.text))+len(string(text)) > MaxLine {
		return false
	}
	l.text = slices.Insert(l.text, l.pos, text...)
	l.pos += len(text)
	return true
}

// remove takes away what is between the cursor and another place, and returns it.
func (l *line) remove(to int) []rune {
	from := min(l.pos, to)
	removed := slices.Clone(l.text[from:max(l.pos, to)])
	l.text = slices.Delete(l.text, from, from+len(removed))
	l.pos = from
	return removed
}

// before and after are the places one character away.
func (l *line) before() int {
	pos := max(0, l.pos-1)
	for pos > 0 && combines(l.text[pos]) {
		pos--
	}
	return pos
}

func (l *line) after() int {
	pos := min(len(l.text), l.pos+1)
	for pos < len(l.text) && combines(l.text[pos]) {
		pos++
	}
	return pos
}

// wordStart is where the word begins that the cursor is in or behind; wordEnd, where the one ends that it is in or before.
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

// alphanumeric are words for those who move by words; blanks part those that Ctrl-W takes away.
func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || combines(r) }
func notBlank(r rune) bool     { return !unicode.IsSpace(r) }

// transpose swaps the characters around the cursor, at the end of the line those before it, and moves on.
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
