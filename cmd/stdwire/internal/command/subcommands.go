package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// Subcommands are commands whose names begin with the same word, such as "auth login" and "auth
// status".
type Subcommands []Command

// List returns a line for each command, for the help of the first word.
func (all Subcommands) List() string {
	width := 0
	for _, c := range all {
		width = max(width, len(c.Name))
	}
	var lines []string
	for _, c := range all {
		lines = append(lines, fmt.Sprintf("  stdwire %-*s   %s", width, c.Name, c.Summary))
	}
	return strings.Join(lines, "\n")
}

// Make is [Command].Make of the command that is the first word.
func (all Subcommands) Make() (Grammar, Runner) {
	var words []string
	rest := func(w []string) { words = w }
	run := func(ctx context.Context, std *term.Streams) error {
		var names []string
		for _, c := range all {
			names = append(names, c.Word())
		}
		if words == nil {
			return Usagef("which subcommand?").WithHint("there are " + strings.Join(names, ", "))
		}
		if err := CheckChoice(words[0], names...); err != nil {
			return err
		}
		return all[slices.Index(names, words[0])].Run(ctx, words[1:], std)
	}
	return Grammar{Rest: rest, Subcommands: all}, run
}
