package terminal

import (
	"io"

	"github.com/stdwire/stdwire/internal/printable"
)

// A StatusLine is a status on the last line of a terminal that obeys escape sequences. The zero
// value shows none. It ignores errors of the writer and is not safe for concurrent use.
type StatusLine struct{ shown bool }

const eraseLine = "\r\x1b[K"

// Show replaces the status. It escapes control characters in the text and truncates it to less than
// [printable.Width] characters, because a wrapped line cannot be erased.
func (s *StatusLine) Show(w io.Writer, text string) {
	text = printable.TruncateRunes(printable.Line(text), printable.Width-1)
	if s.shown {
		text = eraseLine + text
	}
	s.shown = true
	_, _ = io.WriteString(w, text)
}

// Erase removes the status, if one is shown.
func (s *StatusLine) Erase(w io.Writer) {
	if s.shown {
		s.shown = false
		_, _ = io.WriteString(w, eraseLine)
	}
}
