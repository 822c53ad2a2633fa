package calls

import (
	"context"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// ToolsCommand is stdwire tools.
func ToolsCommand() command.Command {
	return command.Command{
		Name: "tools", Usage: "[-o text|json|raw] [-s ID | -- SERVER-COMMAND…]",
		Summary: "list the tools of a server",
		Help: `text prints the signature of each tool and the beginning of its description; optional arguments are
in brackets, and a tool that only apps may call is marked (not for models). json prints the list, and
raw the results of tools/list, one a line, both as the server wrote them.`,
		Make: func() (command.Grammar, command.Runner) {
			t := target.NewTarget().OrServers()
			var form string
			flags := append(
				[]command.Flag{command.FormatFlag(&form, "text", "json", "raw"),
					output.ListTimeoutFlag(&t.ListTimeout)}, t.Flags()...)
			return command.Grammar{Flags: flags, Connection: t.SetConnection,
					Address:  t.TakeAddress,
					IsServer: t.Configured.Has, Command: t.Command},
				func(ctx context.Context, std *term.Streams) error {
					return t.Use(ctx, std,
						func(c *client.Client) error {
							defer t.WarnDown(ctx, std, c)
							return t.Lists()[0].Print(ctx, c, std, form)
						})
				}
		},
	}
}
