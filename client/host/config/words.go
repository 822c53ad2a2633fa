package config

import (
	"errors"
	"strings"
)

// split takes a command line apart at its spaces. Text between quotation marks, of either kind, stays whole; nothing else has a meaning.
func split(line string) (words []string, err error) {
	var word strings.Builder
	var quote rune
	begun := false
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '"' || c == '\'':
			quote, begun = c, true
		case c == ' ' || c == '\t':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quotation mark has no other")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
