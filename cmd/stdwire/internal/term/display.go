package term

import (
	"os"

	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/terminal"
)

// A Display describes the abilities of a stream. The zero value is that of a file or pipe.
type Display struct {
	Terminal bool
	Dumb     bool       // a terminal that ignores escape sequences: no status can be erased
	Color    bool       // a terminal that is to show colours
	Width    func() int // the columns of the terminal, which may change; nil means 80
}

// DisplayOf returns the abilities of a stream of this process. On Windows, it makes a console obey
// escape sequences.
func DisplayOf(f *os.File) Display {
	if !terminal.Is(f) {
		return Display{}
	}
	return Display{Terminal: true, Dumb: !terminal.EnableEscapes(f), Color: terminal.Colors(f),
		Width: func() int { return terminal.Width(f, printable.Width) }}
}

// Columns returns the width that text is laid out for.
func (d *Display) Columns() printable.Columns {
	switch {
	case !d.Terminal:
		return printable.NoTerminal
	case d.Width == nil:
		return printable.Width
	}
	return printable.Columns(d.Width())
}
