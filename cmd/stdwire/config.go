package main

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
