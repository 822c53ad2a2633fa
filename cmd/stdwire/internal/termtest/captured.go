// Package termtest provides streams that write to buffers, for tests of commands.
package termtest

import (
	"bytes"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// Captured is streams with the buffers that they write to.
type Captured struct {
	*term.Streams
	Stdout, Stderr *bytes.Buffer
}

// Capture returns streams with empty input. terminal says whether all three are terminals, without
// colours and of unknown width.
func Capture(terminal bool) Captured { return capture(term.Display{Terminal: terminal}) }

// CaptureTerminal returns streams that are a terminal with colours and a number of columns, and
// have empty input.
func CaptureTerminal(columns int) Captured {
	return capture(term.Display{Terminal: true, Color: true,
		Width: func() int { return columns }})
}

func capture(d term.Display) Captured {
	c := Captured{Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)}
	c.Streams = &term.Streams{In: strings.NewReader(""), InTerminal: d.Terminal,
		DiscardInput: func() {}, Out: term.NewOutput(c.Stdout, d),
		Err: &term.Console{W: c.Stderr, Display: d}}
	return c
}
