package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/near"
)

func configCommand() command {
	var list strings.Builder
	for _, c := range configCommands() {
		fmt.Fprintf(&list, "\n  stdwire %-15s %s", c.name, c.summary)
	}
	return command{
		name: "config", usage: "check|show|where|import [FLAG]… [-h]",
		summary: "look at which servers are configured",
		help: `Servers come from the files that --config names, or else from the one in STDWIRE_CONFIG, or else from the first of mcp.json, .mcp.json, .dispatch/mcp.json, .vscode/mcp.json, opencode.json and opencode.jsonc in the working directory that has a place for them, and from the user's own file, ~/.config/stdwire/mcp.json. The forms of all common applications are understood.

` + strings.TrimPrefix(list.String(), "\n"),
		make: func() (grammar, runner) {
			var words []string
			rest := func(w []string) { words = w }
			return grammar{rest: rest}, func(ctx context.Context, std *streams) error {
				names := []string{"check", "show", "where", "import"}
				if words == nil {
					return usagef("what about it?").withHint("there are " + strings.Join(names, ", "))
				}
				i := slices.Index(names, words[0])
				if i < 0 {
					return usagef("%q is none of %s", words[0], strings.Join(names, ", ")).withHint(near.DidYouMean(words[0], names))
				}
				return configCommands()[i].dispatch(ctx, words[1:], std)
			}
		},
	}
}

// configCommands are the words that may follow "config".
func configCommands() []command {
	return []command{configCheckCommand(), configShowCommand(), configWhereCommand(), configImportCommand()}
}

// profileFlag is the flag --profile.
func profileFlag(profile *string) flag {
	return flag{name: "--profile", value: "NAME", help: "only the servers of a profile, a set that the configuration has a name for", set: func(value string) error {
		*profile = value
		return nil
	}}
}

// printDiagnostics prints what is wrong.
func printDiagnostics(std *streams, all []config.Diagnostic) {
	for _, d := range all {
		std.err.printf("%v: %v", d.Severity, d)
	}
}

func errorsAmong(all []config.Diagnostic) (errors []config.Diagnostic) {
	for _, d := range all {
		if d.Severity == config.Error {
			errors = append(errors, d)
		}
	}
	return errors
}

// count is 1 server, 2 servers.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
