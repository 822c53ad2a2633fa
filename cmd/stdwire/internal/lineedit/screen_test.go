package lineedit

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/printable"
)

// A screen emulates the behaviour of terminals that the editor relies on: it wraps at the right
// margin only when the next character comes, does not split a wide character, scrolls, and rewraps
// rows when its width changes.
type screen struct {
	columns, height int
	rows            []screenRow // all rows; the last height of them are visible
	row, column     int
	unknown         []string          // unknown sequences
	answer          func(text string) // gets its reports; nil for none
}

type screenRow struct {
	cells   []string // "" is the second column of a wide character
	wrapped bool     // the text continues in the next row
}

func newScreen(columns, height int) *screen {
	return &screen{columns: columns, height: height, rows: make([]screenRow, 1)}
}

func (s *screen) Write(p []byte) (int, error) {
	text := string(p)
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == esc:
			n = s.sequence(text)
		case r == '\r':
			s.column = 0
		case r == '\n': // the terminal driver converts it to \r\n
			s.column = 0
			s.down(false)
		default:
			s.put(r)
		}
		text = text[n:]
	}
	return len(p), nil
}

func (s *screen) down(wrapped bool) {
	s.rows[s.row].wrapped = wrapped
	if s.row++; s.row == len(s.rows) {
		s.rows = append(s.rows, screenRow{})
	}
}

func (s *screen) put(r rune) {
	if s.extend(r) {
		return
	}
	width := printable.CellOf(r).Columns
	if width == 0 { // nothing is there that it could combine with
		return
	}
	if s.column+width > s.columns {
		s.column = 0
		s.down(true)
	}
	row := &s.rows[s.row]
	for len(row.cells) < s.column+width {
		row.cells = append(row.cells, " ")
	}
	row.cells[s.column] = string(r)
	if width == 2 {
		row.cells[s.column+1] = ""
	}
	s.column += width
}

// extend adds r to the character before the cursor if it belongs to it, as terminals do that show
// emoji sequences, and returns false if it does not.
func (s *screen) extend(r rune) bool {
	cells := s.rows[s.row].cells
	i := min(s.column, len(cells)) - 1
	for i >= 0 && cells[i] == "" {
		i--
	}
	if i < 0 {
		return false
	}
	whole := []rune(cells[i] + string(r))
	if printable.CharacterLen(whole) < len(whole) {
		return false
	}
	width := s.column - i
	cells[i] = string(whole)
	if printable.CellOfCharacter(whole).Columns > width {
		s.rows[s.row].cells = append(cells[:s.column], "")
		s.column++
	}
	return true
}

// sequence executes an escape sequence and returns its length.
func (s *screen) sequence(text string) int {
	n := 2 + strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' })
	number, _ := strconv.Atoi(text[2:n])
	// moving the cursor cancels a pending wrap
	s.column = min(s.column, s.columns-1)
	switch sequence := text[2 : n+1]; {
	case sequence == "6n":
		if s.answer != nil {
			s.answer(fmt.Sprintf("\x1b[%d;%dR", s.row-s.top()+1, s.column+1))
		}
	case sequence == "?2004h" || sequence == "?2004l":
	case sequence == "J":
		s.rows = s.rows[:s.row+1]
		row := &s.rows[s.row]
		row.cells, row.wrapped = row.cells[:min(len(row.cells), s.column)], false
	case sequence == "H":
		s.row, s.column = s.top(), 0
	case sequence == "2J":
		s.rows = append(s.rows[:s.top()], screenRow{})
		s.row = len(s.rows) - 1
	case text[n] == 'A' && number > 0:
		s.row = max(s.top(), s.row-number)
	case text[n] == 'C' && number > 0:
		s.column = min(s.columns-1, s.column+number)
	default:
		s.unknown = append(s.unknown, sequence)
	}
	return n + 1
}

func (s *screen) top() int { return max(0, len(s.rows)-s.height) }

// resize rewraps all rows.
func (s *screen) resize(columns int) {
	old, cursor, column := s.rows, s.row, s.column
	s.columns, s.rows, s.row, s.column = columns, make([]screenRow, 1), 0, 0
	atRow, atColumn := 0, 0
	for i, row := range old {
		for j, cell := range row.cells {
			if i == cursor && j == column {
				atRow, atColumn = s.row, s.column
				if s.column == columns {
					atRow, atColumn = s.row+1, 0
				}
			}
			if cell != "" {
				s.put([]rune(cell)[0])
				for _, more := range []rune(cell)[1:] {
					s.put(more)
				}
			}
		}
		if i == cursor && column >= len(row.cells) {
			atRow, atColumn = s.row, min(s.column+column-len(row.cells), columns)
		}
		if i < len(old)-1 && !row.wrapped {
			s.column = 0
			s.down(false)
		}
	}
	for len(s.rows) <= atRow {
		s.rows = append(s.rows, screenRow{})
	}
	s.row, s.column = atRow, atColumn
}

// crop changes the width and truncates rows without rewrapping them.
func (s *screen) crop(columns int) {
	s.columns, s.column = columns, min(s.column, columns-1)
	for i := range s.rows {
		row := &s.rows[i]
		row.cells, row.wrapped = row.cells[:min(len(row.cells), columns)], false
	}
}

// String returns the visible text, with | at the cursor.
func (s *screen) String() string {
	var lines []string
	for i, row := range s.rows[s.top():] {
		cells := append([]string{}, row.cells...)
		if i+s.top() == s.row {
			for len(cells) <= s.column {
				cells = append(cells, " ")
			}
			cells[s.column] = "|" + cells[s.column]
		}
		lines = append(lines, strings.TrimRight(strings.Join(cells, ""), " "))
	}
	return strings.Join(append(lines, s.unknown...), "\n")
}
