package shellwords

import (
	"errors"
	"fmt"
)

// CommandLine splits a command line into words by the rules of [Native]. The error says that a
// quote is not closed or that there is no command.
func CommandLine(text string) (words []string, err error) {
	s := Native()
	for i := range len(text) {
		s.Add(text[i])
	}
	if open := s.Open(); open != 0 {
		return nil, fmt.Errorf("%q is incomplete: the closing %c is missing", text, open)
	}
	for _, word := range s.Words() {
		words = append(words, word.Text)
	}
	if words == nil || words[0] == "" {
		return nil, errors.New("the command is missing")
	}
	return words, nil
}
