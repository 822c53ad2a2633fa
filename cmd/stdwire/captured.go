package main

import (
	"bytes"
	"strings"
)

// captured are streams into buffers, for tests.
type captured struct {
	*streams
	stdout, stderr *bytes.Buffer
}

// capture returns streams; terminal says whether all of them are one.
func capture(terminal bool) captured {
	c := captured{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	c.streams = &streams{in: strings.NewReader(""), inTerminal: terminal, forget: func() {}, out: newOutput(c.stdout, terminal), err: &console{w: c.stderr, terminal: terminal}}
	return c
}
