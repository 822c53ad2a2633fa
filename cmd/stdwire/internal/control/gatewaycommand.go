package control

import "github.com/stdwire/stdwire/cmd/stdwire/internal/command"

// GatewayCommand returns the command stdwire gateway.
func GatewayCommand() command.Command {
	short := command.Table{statusCommand(), logsCommand(), enableCommand(), disableCommand(),
		restartCommand()}
	var all command.Subcommands
	for _, c := range short {
		all = append(all, c.Named("gateway "+c.Name))
	}
	return command.Command{
		Name: "gateway", Usage: "status|logs|enable|disable|restart [ARGUMENT]… [-h]",
		Summary: "watch running gateways, and switch their servers",
		Help: `A gateway is a running stdwire serve that offers configured servers; the topic gateway of stdwire
help explains it. The word gateway may be left out, as in stdwire status.

` + all.List(),
		Subcommands: all,
		Hidden:      short,
		Make:        all.Make,
	}
}
