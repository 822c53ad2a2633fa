// Package shellwords splits command lines into words and quotes words, as a POSIX shell does. It
// interprets quotes, backslashes and comments only, and expands nothing. Use [Native] for command
// lines that contain paths of this system.
package shellwords

import (
	"path/filepath"
	"strings"
)

// A Splitter splits text into words, one byte at a time. The zero value is ready for use.
type Splitter struct {
	words   []Word
	word    []byte
	start   int
	at      int  // number of bytes added
	quote   byte // the open quote, or 0
	inWord  bool // a word has begun; it may be empty, as in ""
	escaped bool // the last byte was a backslash that escapes the next
	comment bool // in a comment, which extends to the end of the line
	literal bool // backslashes do not escape
}

// Native returns a Splitter for a command line with paths of this system. On Windows, backslashes
// separate path elements and escape nothing, even in quotes: C:\x\y.exe is one word, and so is
// "C:\Program Files\". To include a quote in a word, use quotes of the other kind around it.
func Native() Splitter { return Splitter{literal: filepath.Separator == '\\'} }

// A Word is a word of a command line.
type Word struct {
	Text  string // without quotes and escaping backslashes
	Start int    // offset in the bytes added, of a quote if the word begins with one
}

// Add adds the next byte and reports whether it ends a command line, that is, whether it is a
// newline that is neither quoted nor escaped. Add may be called again after the end of a line.
func (s *Splitter) Add(b byte) (ended bool) {
	s.at++
	switch {
	case s.comment && b != '\n':
	case s.escaped:
		s.escaped = false
		if b == '\n' {
			break // the line continues
		}
		if s.quote == '"' && !strings.ContainsRune("\"\\$`", rune(b)) {
			s.word = append(s.word, '\\')
		}
		s.begin(s.at - 2)
		s.word = append(s.word, b)
	case s.quote != 0 && b == s.quote:
		s.quote = 0
	case b == '\\' && s.quote != '\'' && !s.literal:
		s.escaped = true
	case s.quote != 0:
		s.word = append(s.word, b)
	case b == '\'' || b == '"':
		s.begin(s.at - 1)
		s.quote = b
	case b == '\n' || b == ' ' || b == '\t' || b == '\r':
		s.end()
		s.comment = false
		return b == '\n'
	case b == '#' && !s.inWord:
		s.comment = true
	default:
		s.begin(s.at - 1)
		s.word = append(s.word, b)
	}
	return false
}

func (s *Splitter) begin(at int) {
	if !s.inWord {
		s.inWord, s.start = true, at
	}
}

func (s *Splitter) end() {
	if s.inWord {
		s.words = append(s.words, Word{string(s.word), s.start})
	}
	s.word, s.inWord = s.word[:0], false
}

// Words ends the current word, if any, and returns all words.
func (s *Splitter) Words() []Word {
	s.end()
	return s.words
}

// Open returns the quote that is not closed, a backslash if no byte follows it yet, or 0.
func (s *Splitter) Open() byte {
	if s.quote == 0 && s.escaped {
		return '\\'
	}
	return s.quote
}

// InWord reports whether a word has begun and not ended.
func (s *Splitter) InWord() bool { return s.inWord }

// InComment reports whether a comment has begun and not ended.
func (s *Splitter) InComment() bool { return s.comment }

// Quote quotes a word for a shell if necessary. It prefers double quotes, which cmd.exe and
// PowerShell understand too. Words that these would read differently get single quotes, which
// cmd.exe does not support.
func Quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:,./@+"
	const special = "\"$`!%\n“”„" // in double quotes, to a shell, cmd.exe or PowerShell
	switch {
	case word != "" && strings.Trim(word, plain) == "":
		return word
	case strings.ContainsAny(word, special), strings.Contains(word, `\\`),
		strings.HasSuffix(word, `\`):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return `"` + word + `"`
}
