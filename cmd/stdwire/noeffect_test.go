package main

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// A flag of a command with subcommands has no effect on the subcommand after it, and is refused
// there.
func TestFlagsBeforeSubcommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for _, c := range commands() {
		grammar, _ := c.Make()
		for _, sub := range grammar.Subcommands {
			_, word, _ := strings.Cut(sub.Name, " ")
			for _, f := range grammar.Flags {
				args := []string{c.Name, f.Name}
				switch {
				case f.Value == "FILE":
					args = append(args, file)
				case f.Value != "":
					args = append(args, "1")
				}
				got := run(t, append(args, word)...)
				assert.Check(t, got.code == command.ExitCodes["usage"] &&
					strings.Contains(got.stderr, f.Name+" is for"), "%s: exit code %d, %s",
					strings.Join(append(args, word), " "), got.code, got.stderr)
			}
		}
	}
}
