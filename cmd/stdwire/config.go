package main

import (
	"fmt"

	"github.com/stdwire/stdwire/client/host/config"
)

func configCommand() command {
	all := configCommands()
	return command{
		name: "config", usage: "check|show|where|import [FLAG]… [-h]",
		summary: "look at which servers are configured",
		help: `Servers come from the files that --config names, or else from the one in STDWIRE_CONFIG, or else from the first of mcp.json, .mcp.json, .dispatch/mcp.json, .vscode/mcp.json, opencode.json and opencode.jsonc in the working directory that has a place for them, and from the user's own file, ~/.config/stdwire/mcp.json, on Windows %APPDATA%\stdwire\mcp.json, or stdwire/mcp.json in $XDG_CONFIG_HOME if that is set; stdwire config where says which it is. The forms of all common applications are understood.

` + all.list(),
		make: all.make,
	}
}

// configCommands are the words that may follow "config".
func configCommands() subcommands {
	return subcommands{configCheckCommand(), configShowCommand(), configWhereCommand(), configImportCommand()}
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
