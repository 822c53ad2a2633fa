package lineedit

import "strings"

// A search looks for lines of the history that have a text in them.
type search struct {
	query string
	at    int // the line of the history that is shown; as many as there are for none
	found line
	lost  bool // there is none, or none older
}

func (e *Editor) startSearch() {
	e.search = &search{at: len(e.history.lines), found: line{}}
}

func (s *search) show(d *display) {
	what := "search"
	if s.lost {
		what = "not found"
	}
	d.draw("("+what+": "+s.query+") ", &s.found)
}

// extend looks for more text. No line of the history has more than so much.
func (s *search) extend(lines []string, text string) {
	if len(s.query)+len(text) <= maxHistoryLine {
		s.query += text
		s.find(lines, s.at)
	}
}

// find looks for the newest line that has the query in it, from one on to the older ones.
func (s *search) find(lines []string, from int) {
	s.lost = true
	if s.query == "" {
		*s = search{at: len(lines)}
		return
	}
	for i := min(from, len(lines)-1); i >= 0; i-- {
		if before, _, ok := strings.Cut(lines[i], s.query); ok {
			s.at, s.lost = i, false
			s.found.set(lines[i])
			s.found.pos = len([]rune(before))
			return
		}
	}
}

// searching does what a key says during a search, and reports whether that was all. Keys that are of no use for searching end it, and do what they always do
// with the line that was found.
func (e *Editor) searching(k key) bool {
	s, lines := e.search, e.history.lines
	switch {
	case k.code == character && !k.alt:
		s.extend(lines, string(k.r))
	case k.code == pasted:
		s.extend(lines, strings.TrimRight(k.text, "\r\n"))
	case k.code == pasteStart || k.code == pasteEnd:
	case k == key{code: backspace}:
		if runes := []rune(s.query); len(runes) > 0 {
			s.query = string(runes[:len(runes)-1])
		}
		s.find(lines, len(lines))
	case k == ctrl('r'):
		s.find(lines, s.at-1)
	case k == ctrl('g') || k == ctrl('c') || k.code == escape:
		e.search = nil // the line is as it was
	default:
		e.accept()
		return false
	}
	return true
}

// accept ends the search with what was found.
func (e *Editor) accept() {
	if s := e.search; s.at < len(e.history.lines) {
		if e.at == len(e.history.lines) {
			e.draft = string(e.text)
		}
		e.at, e.line = s.at, s.found
	}
	e.search = nil
}
