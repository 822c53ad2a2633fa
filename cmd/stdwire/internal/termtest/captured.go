package termtest

import (
	"bytes"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// Captured are streams into buffers, for tests.
type Captured struct {
	*term.Streams
	Stdout, Stderr *bytes.Buffer
}

// Capture returns streams; terminal says whether all of them are one.
func Capture(terminal bool) Captured {
	c := Captured{Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)}
	c.Streams = &term.Streams{In: strings.NewReader(""), InTerminal: terminal, Forget: func() {}, Out: term.NewOutput(c.Stdout, terminal), Err: &term.Console{W: c.Stderr, Terminal: terminal}}
	return c
}
