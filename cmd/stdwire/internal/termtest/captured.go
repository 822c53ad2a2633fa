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

// Capture returns streams with empty input. terminal says whether all three are terminals.
func Capture(terminal bool) Captured {
	c := Captured{Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)}
	c.Streams = &term.Streams{In: strings.NewReader(""), InTerminal: terminal,
		DiscardInput: func() {}, Out: term.NewOutput(c.Stdout, terminal),
		Err: &term.Console{W: c.Stderr, Terminal: terminal}}
	return c
}
