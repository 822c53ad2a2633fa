package config

import "fmt"

// A Position is a place in a file. Line and Column count from 1, the column in characters; Line is
// 0 where the file as a whole is meant.
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

// A Severity says what a [Diagnostic] means for what it is about.
type Severity uint8

const (
	// Warning: it works, but perhaps not as was meant.
	Warning Severity = iota + 1
	// Error: the server, or if none is named the file, cannot be used.
	Error
)

func (s Severity) String() string {
	if s == Error {
		return "error"
	}
	return "warning"
}

// A Diagnostic says what is wrong in a file, and what to do about it. It never quotes a value that
// may be secret.
type Diagnostic struct {
	Position
	Severity Severity
	Server   string // the id of the server that it is about; "" is the file
	Message  string
}

// Error is the place, the server and the message on one line.
func (d Diagnostic) Error() string {
	where := d.Position.String() + ": "
	if d.Server != "" {
		where += fmt.Sprintf("server %q: ", d.Server)
	}
	return where + d.Message
}
