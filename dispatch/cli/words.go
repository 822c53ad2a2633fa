package cli

import (
	"io"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// A splitter reads command lines and splits them into words as [shellwords] does. It reads no byte
// after the end of a command line.
type splitter struct {
	in   io.ByteReader
	line int // the number of the line of the last byte, from 0
}

// A command is the words of a command line, nil if it is empty, and the number of its first line,
// from 1.
type command struct {
	words []string
	line  int
}

const maxCommand = 1 << 20 // bytes

// next returns the next command line, or io.EOF. For another error the command has no words, and
// its line is where the cause is. next must not be called after an error.
func (s *splitter) next() (c command, err error) {
	c.line = s.line + 1
	var words shellwords.Splitter
	var opened int // the line of the open quote
	finished := func() (command, error) {
		for _, word := range words.Words() {
			c.words = append(c.words, word.Text)
		}
		return c, nil
	}
	for n := 0; ; n++ {
		b, err := s.in.ReadByte()
		open := words.Open()
		switch {
		case err == io.EOF && open == '\\':
			return command{line: c.line},
				dispatch.Errorf(dispatch.InvalidInput, `nothing follows the last \`)
		case err == io.EOF && open != 0:
			return command{line: opened},
				dispatch.Errorf(dispatch.InvalidInput, "the quote %c is never closed", open)
		case err == io.EOF && n > 0:
			return finished()
		case err == io.EOF:
			return c, io.EOF
		case err != nil:
			return command{line: c.line},
				dispatch.Errorf(dispatch.InvalidInput, "cannot read standard input: %w", err)
		case n == maxCommand:
			return command{line: c.line},
				dispatch.Errorf(dispatch.InvalidInput, "the command line has more than %d bytes",
					maxCommand)
		}
		if b == '\n' {
			s.line++
		}
		if words.Add(b) {
			return finished()
		}
		if now := words.Open(); open == 0 && now != 0 {
			opened = s.line + 1
		}
	}
}
