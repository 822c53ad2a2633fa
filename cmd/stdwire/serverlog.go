package main

import "strings"

// A serverLog copies a server's stderr to the console, line by line: two servers' lines, or a line and the status, are not mixed up, and nothing in
// them works on a terminal.
type serverLog struct {
	console *console
	line    []byte
}

const maxLogLine = 8 << 10 // a longer line is printed in pieces

func (l *serverLog) Write(p []byte) (int, error) {
	if !l.console.terminal {
		return l.console.Write(p)
	}
	for _, b := range p {
		if l.line = append(l.line, b); b == '\n' || len(l.line) == maxLogLine {
			l.flush()
		}
	}
	return len(p), nil
}

// flush prints what is there of a line.
func (l *serverLog) flush() {
	if len(l.line) > 0 {
		l.console.printf("%s", strings.TrimRight(string(l.line), "\r\n"))
		l.line = l.line[:0]
	}
}
