// Package shellwords splits command lines into words, and quotes words for them, as a POSIX shell
// does; but nothing is expanded: quotes, backslashes and comments are all that is special. A
// command line with paths of this system is for [Native].
package shellwords

import (
	"path/filepath"
	"strings"
)

// A Splitter splits text that comes byte by byte. The zero value is ready for use.
type Splitter struct {
	words   []Word
	word    []byte
	start   int
	at      int  // how many bytes have come
	quote   byte // that is open, 0 for none
	inWord  bool // which may be empty still
	escaped bool // by a backslash
	comment bool // to the end of the line
	literal bool // a backslash is a character like any other
}

// Native returns a Splitter for a command line with paths of this system. On Windows, whose paths
// have them, backslashes are characters like any other, also between quotes: C:\x\y.exe is one
// word, and so is "C:\Program Files\". A quote stands between those of the other kind.
func Native() Splitter { return Splitter{literal: filepath.Separator == '\\'} }

// A Word is what is left of it without its quotes and backslashes, and where it stood with them.
type Word struct {
	Text       string
	Start, End int // in bytes
}

// Add takes the next byte, and reports whether it ended a command line: a line end that is neither
// quoted nor escaped. More may follow, and is split too.
func (s *Splitter) Add(b byte) (ended bool) {
	s.at++
	switch {
	case s.comment && b != '\n':
	case s.escaped:
		s.escaped = false
		if b == '\n' {
			break // the line goes on
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
		s.end(s.at - 1)
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

func (s *Splitter) end(at int) {
	if s.inWord {
		s.words = append(s.words, Word{string(s.word), s.start, at})
	}
	s.word, s.inWord = s.word[:0], false
}

// Words ends the word that is under way, if there is one, and returns all.
func (s *Splitter) Words() []Word {
	s.end(s.at)
	return s.words
}

// Open is what has been begun and not ended: a quote, or a backslash that nothing follows; 0 if
// nothing.
func (s *Splitter) Open() byte {
	if s.quote == 0 && s.escaped {
		return '\\'
	}
	return s.quote
}

// InWord reports whether the next byte would belong to the word under way; InComment, whether to a
// comment.
func (s *Splitter) InWord() bool    { return s.inWord }
func (s *Splitter) InComment() bool { return s.comment }

// Quote is a word as it is typed in a shell. In double quotes it means the same to cmd.exe and to
// PowerShell; a word that would not is in single ones, which cmd.exe does not know.
func Quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:,./@+"
	const special = "\"$`!%\n“”„" // within double quotes, to one of them
	switch {
	case word != "" && strings.Trim(word, plain) == "":
		return word
	case strings.ContainsAny(word, special), strings.Contains(word, `\\`),
		strings.HasSuffix(word, `\`):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return `"` + word + `"`
}
