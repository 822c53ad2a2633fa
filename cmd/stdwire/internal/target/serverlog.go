package target

import (
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// A ServerLog copies the stderr of a server to the console in whole lines, so that lines of two
// servers, or a line and the status, do not mix. Control characters are escaped on a terminal.
type ServerLog struct {
	Console *term.Console
	line    []byte
}

const MaxLogLine = 8 << 10 // a longer line is printed in pieces

func (l *ServerLog) Write(p []byte) (int, error) {
	if !l.Console.Terminal {
		return l.Console.Write(p)
	}
	for _, b := range p {
		if l.line = append(l.line, b); b == '\n' || len(l.line) == MaxLogLine {
			l.flush()
		}
	}
	return len(p), nil
}

// flush prints the incomplete line.
func (l *ServerLog) flush() {
	if len(l.line) > 0 {
		l.Console.Printf("%s", strings.TrimRight(string(l.line), "\r\n"))
		l.line = l.line[:0]
	}
}
