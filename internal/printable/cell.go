package printable

import (
	"fmt"
	"strings"
	"unicode"
)

// wide contains the characters that take two columns: those of East Asian Width W and F, and emoji
// that need no variation selector (Unicode Standard Annexes 11 and 51).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x2329, 0x232a, 1}, {0x23e9, 0x23ec, 1},
		{0x23f0, 0x23f3, 3}, {0x25fd, 0x25fe, 1}, {0x2614, 0x2615, 1},
		{0x2648, 0x2653, 1}, {0x267f, 0x2693, 0x14}, {0x26a1, 0x26a1, 1}, {0x26aa, 0x26ab, 1},
		{0x26bd, 0x26be, 1}, {0x26c4, 0x26c5, 1}, {0x26ce, 0x26d4, 6},
		{0x26ea, 0x26ea, 1}, {0x26f2, 0x26f3, 1}, {0x26f5, 0x26fa, 5}, {0x26fd, 0x26fd, 1},
		{0x2705, 0x2705, 1}, {0x270a, 0x270b, 1}, {0x2728, 0x2728, 1},
		{0x274c, 0x274e, 2}, {0x2753, 0x2755, 1}, {0x2757, 0x2757, 1}, {0x2795, 0x2797, 1},
		{0x27b0, 0x27bf, 0xf}, {0x2b1b, 0x2b1c, 1}, {0x2b50, 0x2b55, 5},
		{0x2e80, 0x303e, 1}, {0x3041, 0x4dbf, 1}, {0x4e00, 0xa4cf, 1}, {0xa960, 0xa97c, 1},
		{0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe10, 0xfe19, 1},
		{0xfe30, 0xfe6f, 1}, {0xff01, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x18cff, 1}, {0x1aff0, 0x1b2ff, 1}, {0x1f004, 0x1f004, 1}, {0x1f0cf, 0x1f0cf, 1},
		{0x1f18e, 0x1f18e, 1}, {0x1f191, 0x1f19a, 1},
		{0x1f200, 0x1f265, 1}, {0x1f300, 0x1f320, 1}, {0x1f32d, 0x1f335, 1}, {0x1f337, 0x1f37c, 1},
		{0x1f37e, 0x1f393, 1}, {0x1f3a0, 0x1f3ca, 1},
		{0x1f3cf, 0x1f3d3, 1}, {0x1f3e0, 0x1f3f0, 1}, {0x1f3f4, 0x1f3f4, 1}, {0x1f3f8, 0x1f43e, 1},
		{0x1f440, 0x1f440, 1}, {0x1f442, 0x1f4fc, 1},
		{0x1f4ff, 0x1f53d, 1}, {0x1f54b, 0x1f54e, 1}, {0x1f550, 0x1f567, 1}, {0x1f57a, 0x1f57a, 1},
		{0x1f595, 0x1f596, 1}, {0x1f5a4, 0x1f5a4, 1},
		{0x1f5fb, 0x1f64f, 1}, {0x1f680, 0x1f6c5, 1}, {0x1f6cc, 0x1f6cc, 1}, {0x1f6d0, 0x1f6d2, 1},
		{0x1f6d5, 0x1f6d7, 1}, {0x1f6dc, 0x1f6df, 1},
		{0x1f6eb, 0x1f6ec, 1}, {0x1f6f4, 0x1f6fc, 1}, {0x1f7e0, 0x1f7eb, 1}, {0x1f7f0, 0x1f7f0, 1},
		{0x1f90c, 0x1f93a, 1}, {0x1f93c, 0x1f945, 1},
		{0x1f947, 0x1f9ff, 1}, {0x1fa70, 0x1faff, 1}, {0x20000, 0x3fffd, 1},
	},
}

// Combines reports whether a character combines with the one before it and takes no column.
func Combines(r rune) bool {
	const nonJoiner = 0x200c
	return r >= 0x300 &&
		(unicode.In(r, unicode.Mn, unicode.Me) || r == nonJoiner || r == joiner || 0x1160 <= r &&
			r <= 0x11ff)
}

// isInvisible reports whether a character is a control, format or separator character.
func isInvisible(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// A Cell is the text shown for a character and its width in columns. A single wide character takes
// two.
type Cell struct {
	Text    string
	Columns int
	// several characters of one column each stand for one
	IsReplacement bool
}

// CellOf returns the cell of a character: control characters as ^C, other invisible ones as <200b>.
func CellOf(r rune) Cell {
	switch {
	case ' ' <= r && r < 0x7f:
		return Cell{Text: string(r), Columns: 1}
	case r == '\t':
		return Cell{"  ", 2, true}
	case r < ' ' || r == 0x7f:
		return Cell{"^" + string(r^0x40), 2, true}
	case Combines(r):
		return Cell{Text: string(r)}
	case isInvisible(r):
		text := fmt.Sprintf("<%04x>", r)
		return Cell{text, len(text), true}
	case unicode.Is(wide, r):
		return Cell{Text: string(r), Columns: 2}
	}
	return Cell{Text: string(r), Columns: 1}
}

// Cut truncates text to a width in columns, and ends it in … if it is longer. Control characters
// are replaced by visible ones, such as a line end by ^J.
func Cut(text string, columns int) string {
	var b strings.Builder
	used, fits := 0, 0 // columns; bytes of b before which … still fits
	for c := range Cells(text) {
		if used+c.Columns > columns {
			return b.String()[:fits] + "…"
		}
		b.WriteString(c.Text)
		if used += c.Columns; used < columns {
			fits = b.Len()
		}
	}
	return b.String()
}

// ColumnsOf returns the width of a text in columns.
func ColumnsOf(text string) (n int) {
	for c := range Cells(text) {
		n += c.Columns
	}
	return n
}
