package terminal

import (
	"fmt"
	"io"

	"github.com/stdwire/stdwire/internal/printable"
)

// A StatusLine is a status on the last line of a terminal that obeys escape sequences. The zero
// value shows none. It ignores errors of the writer and is not safe for concurrent use.
type StatusLine struct{ width int } // of the status, in columns; 0 if none is shown

// Show replaces the status. It escapes control characters in the text and truncates it to less than
// the columns of the terminal, because a terminal would break it into two lines.
func (s *StatusLine) Show(w io.Writer, columns int, text string) {
	text = printable.Cut(printable.Line(text), columns-1)
	erase := s.eraser(columns)
	s.width = printable.ColumnsOf(text)
	_, _ = io.WriteString(w, erase+text)
}

// Erase removes the status, if one is shown.
func (s *StatusLine) Erase(w io.Writer, columns int) {
	if s.width > 0 {
		_, _ = io.WriteString(w, s.eraser(columns))
		s.width = 0
	}
}

// eraser returns the sequence that erases the status. A terminal that has become narrower since it
// was shown has wrapped it into more lines, the last of which has the cursor.
func (s *StatusLine) eraser(columns int) string {
	switch rows := (s.width + columns - 1) / columns; rows {
	case 0:
		return ""
	case 1:
		return "\r\x1b[K"
	default:
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows-1)
	}
}
