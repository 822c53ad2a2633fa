package config

import "fmt"

// A Position is a place in a file. Line and Column count from 1, the column in characters. Line is
// 0 for the file as a whole.
type Position struct {
	File         string
	Line, Column int
}

func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// The severities of a [Diagnostic].
const (
	// SeverityWarning: it works, but perhaps not as intended.
	SeverityWarning = "warning"
	// SeverityError: the server, or the file if no server is named, cannot be used.
	SeverityError = "error"
)

// A Diagnostic describes a problem in a file and its remedy. It never quotes a value that may be
// secret.
type Diagnostic struct {
	Position
	Severity string // SeverityWarning, SeverityError
	Server   string // the id of the server, or ""
	Message  string
}

// Error returns the position, the server and the message on one line.
func (d Diagnostic) Error() string {
	where := d.Position.String() + ": "
	if d.Server != "" {
		where += fmt.Sprintf("server %q: ", d.Server)
	}
	return where + d.Message
}
