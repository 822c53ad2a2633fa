package terminal

import (
	"cmp"
	"os"
)

// A Style is how a terminal shows text: the parameters of the control sequence SGR (ECMA-48).
type Style string

// The styles. Plain is that of other text.
const (
	Plain   Style = ""
	Faint   Style = "2"
	Red     Style = "31"
	Green   Style = "32"
	Yellow  Style = "33"
	Magenta Style = "35"
	Cyan    Style = "36"
)

// Colors reports whether a file is a terminal that shows colours: it obeys escape sequences,
// and the environment variable NO_COLOR is empty or not set.
func Colors(f *os.File) bool { return os.Getenv("NO_COLOR") == "" && EnableEscapes(f) }

// Paint returns a text in a style. The text must be printable and have no line end.
func (s Style) Paint(text string) string {
	if s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Width returns the number of columns of a terminal, or otherwise if it is unknown.
func Width(f *os.File, otherwise int) int {
	columns, _, err := Size(f)
	if err != nil {
		return otherwise
	}
	return cmp.Or(columns, otherwise)
}
