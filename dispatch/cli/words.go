package cli

import (
	"io"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
)

// A splitter takes command lines off a text while it comes, and splits them into words as a POSIX shell does, but that it expands nothing:
// quotes, backslashes and comments are all that is special. It reads no byte behind the line end of a command line.
type splitter struct {
	in   io.ByteReader
	line int // in which the last byte was, from 0
}

// A command is the words of a command line, none of an empty one, and the number of the line in which it begins, from 1.
type command struct {
	words []string
	line  int
}

const maxCommand = 1 << 20 // bytes

// next returns the next command line; the error is io.EOF if there is none. With another error there are no words, and the line is where to look
// for its reason. After an error nothing else is to be read.
func (s *splitter) next() (c command, err error) {
	c.line = s.line + 1
	var word []byte
	var quote byte     // that is open, 0 for none
	var opened int     // the line where it is
	var inWord bool    // which may be empty still
	var escaped bool   // by a backslash
	var inComment bool // to the end of the line
	endWord := func() {
		if inWord {
			c.words = append(c.words, string(word))
		}
		word, inWord = word[:0], false
	}
	for n := 0; ; n++ {
		b, err := s.in.ReadByte()
		switch {
		case err == io.EOF && quote != 0:
			return command{line: opened}, dispatch.Errorf(dispatch.InvalidInput, "the quote %c is never closed", quote)
		case err == io.EOF && escaped:
			return command{line: c.line}, dispatch.Errorf(dispatch.InvalidInput, `nothing follows the last \`)
		case err == io.EOF && n > 0:
			endWord()
			return c, nil
		case err == io.EOF:
			return c, io.EOF
		case err != nil:
			return command{line: c.line}, dispatch.Errorf(dispatch.InvalidInput, "cannot read standard input: %w", err)
		case n == maxCommand:
			return command{line: c.line}, dispatch.Errorf(dispatch.InvalidInput, "the command line has more than %d bytes", maxCommand)
		}
		if b == '\n' {
			s.line++
		}
		switch {
		case inComment && b != '\n':
		case escaped:
			escaped = false
			if b == '\n' {
				continue // the line goes on
			}
			if quote == '"' && !strings.ContainsRune("\"\\$`", rune(b)) {
				word = append(word, '\\')
			}
			word, inWord = append(word, b), true
		case quote != 0 && b == quote:
			quote = 0
		case b == '\\' && quote != '\'':
			escaped = true
		case quote != 0:
			word = append(word, b)
		case b == '\'' || b == '"':
			quote, opened, inWord = b, s.line+1, true
		case b == '\n':
			endWord()
			return c, nil
		case b == ' ' || b == '\t' || b == '\r':
			endWord()
		case b == '#' && !inWord:
			inComment = true
		default:
			word, inWord = append(word, b), true
		}
	}
}
