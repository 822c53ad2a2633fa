package lineedit

import "strings"

// A search searches the history for lines that contain a text.
type search struct {
	query    string
	at       int // index of the history line shown; the length of the history if none is
	match    line
	notFound bool // no line, or no older line, matches
}

func (e *Editor) startSearch() {
	e.search = &search{at: len(e.history.lines), match: line{}}
}

func (s *search) show(d *display) {
	what := "search"
	if s.notFound {
		what = "not found"
	}
	d.draw("("+what+": "+s.query+") ", &s.match)
}

// extend adds text to the query, up to the maximum length of a history line.
func (s *search) extend(lines []string, text string) {
	if len(s.query)+len(text) <= maxHistoryLine {
		s.query += text
		s.find(lines, s.at)
	}
}

// find searches for the newest line at or before from that contains the query.
func (s *search) find(lines []string, from int) {
	s.notFound = true
	if s.query == "" {
		*s = search{at: len(lines)}
		return
	}
	for i := min(from, len(lines)-1); i >= 0; i-- {
		if before, _, ok := strings.Cut(lines[i], s.query); ok {
			s.at, s.notFound = i, false
			s.match.set(lines[i])
			s.match.pos = len([]rune(before))
			return
		}
	}
}

// handleSearchKey handles a key during a search, and reports whether the key is done. A key without
// a meaning for the search ends it, and then acts on the line that was found as usual.
func (e *Editor) handleSearchKey(k key) bool {
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
		e.search = nil // the line is unchanged
	default:
		e.accept()
		return false
	}
	return true
}

// accept ends the search and makes the match the current line.
func (e *Editor) accept() {
	if s := e.search; s.at < len(e.history.lines) {
		if e.at == len(e.history.lines) {
			e.draft = string(e.text)
		}
		e.at, e.line = s.at, s.match
	}
	e.search = nil
}
