package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/near"
)

// subcommands are commands whose names begin with the same word: "auth login", "auth status".
type subcommands []command

// list says what they do, a line each, for a help text.
func (all subcommands) list() string {
	width := 0
	for _, c := range all {
		width = max(width, len(c.name))
	}
	var lines []string
	for _, c := range all {
		lines = append(lines, fmt.Sprintf("  stdwire %-*s   %s", width, c.name, c.summary))
	}
	return strings.Join(lines, "\n")
}

// make takes the words that follow, the first of which names one.
func (all subcommands) make() (grammar, runner) {
	var words []string
	rest := func(w []string) { words = w }
	return grammar{rest: rest}, func(ctx context.Context, std *streams) error {
		var names []string
		for _, c := range all {
			_, word, _ := strings.Cut(c.name, " ")
			names = append(names, word)
		}
		if words == nil {
			return usagef("what about it?").withHint("there are " + strings.Join(names, ", "))
		}
		i := slices.Index(names, words[0])
		if i < 0 {
			return usagef("%q is none of %s", words[0], strings.Join(names, ", ")).withHint(near.DidYouMean(words[0], names))
		}
		return all[i].dispatch(ctx, words[1:], std)
	}
}
