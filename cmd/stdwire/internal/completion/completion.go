// Package completion completes command lines in shells: stdwire completion prints a script for a
// shell, which runs stdwire __complete. That answers from the table of commands, the configuration,
// the remembered tools of servers and running connections. It starts no server.
package completion

import (
	"context"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch/cli"
	"github.com/stdwire/stdwire/internal/printable"
)

// CompletionCommand is stdwire completion.
func CompletionCommand() command.Command {
	return command.Command{
		Name: "completion", Usage: "bash|zsh|fish|powershell",
		Summary: "print a script that completes commands in a shell",
		Help: `The script completes commands, flags and their values, servers, connections, tools, their
arguments and values, and the names of files. It runs stdwire, which starts no server for a
completion: the tools of a configured server are those that a gateway or stdwire run ID --help has
listed before, and those of a connection (@NAME) come from its server.

  source <(stdwire completion bash)           in ~/.bashrc
  source <(stdwire completion zsh)            in ~/.zshrc, after compinit
  stdwire completion fish | source            in ~/.config/fish/config.fish
  stdwire completion powershell | Out-String | Invoke-Expression   in $PROFILE`,
		Make: func() (command.Grammar, command.Runner) {
			var shell string
			word := func(w string) error {
				if err := command.CheckChoice(w, shells...); err != nil {
					return err
				}
				return command.Arguments(&shell)(w)
			}
			return command.Grammar{Word: word}, func(_ context.Context, std *term.Streams) error {
				if shell == "" {
					return command.Usagef("which shell?").WithHint("name one of " +
						strings.Join(shells, ", "))
				}
				script, err := cli.CompletionScript("stdwire", shell)
				std.Out.Print(script)
				return err
			}
		},
	}
}

var shells = []string{"bash", "zsh", "fish", "powershell"}

// A Candidate is a word that may stand in place of the typed one, and what it means.
type Candidate struct{ Word, Doc string }

const (
	// Timeout is the time limit of a completion.
	Timeout       = time.Second
	maxCandidates = 500
	maxWord       = 200 // bytes of a candidate
)

// Print prints the candidates for the last of words, one a line. It prints nothing if there are
// none, or if complete has not returned when ctx ends. Candidates that do not begin with the typed
// word, or that a terminal would not show as they are, are left out.
func Print(ctx context.Context, std *term.Streams, words []string,
	complete func(ctx context.Context) []Candidate) {
	found := make(chan []Candidate, 1)
	go func() { found <- complete(ctx) }()
	var all []Candidate
	select {
	case all = <-found:
	case <-ctx.Done():
		return
	}
	typed, seen := words[len(words)-1], map[string]bool{}
	for _, c := range all {
		if seen[c.Word] || !strings.HasPrefix(c.Word, typed) || len(c.Word) > maxWord ||
			strings.ContainsAny(c.Word, "\t\n") || printable.Text(c.Word) != c.Word {
			continue
		}
		if seen[c.Word] = true; len(seen) > maxCandidates {
			return
		}
		line := c.Word
		if doc := printable.FirstSentence(c.Doc); doc != "" {
			line += "\t" + doc
		}
		_, _ = std.Out.WriteString(line + "\n")
	}
}
