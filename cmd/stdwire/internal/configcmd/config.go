// Package configcmd is stdwire config, which checks, shows and imports configurations, and stdwire
// pin, which compares the tools of a server with their definitions at the first use.
package configcmd

import (
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// ConfigCommand is stdwire config.
func ConfigCommand() command.Command {
	all := configCommands()
	return command.Command{
		Name: "config", Usage: "check|show|where|import|schema [FLAG]… [-h]",
		Summary: "check, show and import configurations",
		Help: `Servers come from the files that --config names, or else from the file in STDWIRE_CONFIG, or
else from the first of mcp.json, .mcp.json, .dispatch/mcp.json, .vscode/mcp.json, opencode.json
and opencode.jsonc in the working directory that has servers, and from the user's own file:
~/.config/stdwire/mcp.json, on Windows %APPDATA%\stdwire\mcp.json, or stdwire/mcp.json in
$XDG_CONFIG_HOME. stdwire config where lists them. The file formats of all common applications are
supported.

` +
			all.List(),
		Subcommands: all,
		Make:        all.Make,
	}
}

// configCommands returns the commands that begin with "config".
func configCommands() command.Subcommands {
	return command.Subcommands{configCheckCommand(), configShowCommand(), configWhereCommand(),
		configImportCommand(), configSchemaCommand()}
}
