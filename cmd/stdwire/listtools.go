package main

import (
	"context"

	"github.com/stdwire/stdwire/client"
)

func toolsCommand() command {
	return command{
		name: "tools", usage: "[-o text|json|raw] [-s ID | -- SERVER-COMMAND…]",
		summary: "list the tools of a server",
		help: "As text, each tool is shown as it is called, and how its description begins; optional arguments stand in brackets. json is the list, and raw are " +
			"the results of tools/list, one a line, both as the server wrote them.",
		make: func() (grammar, runner) {
			t := newTarget()
			var form string
			flags := append([]flag{format(&form, "text", "json", "raw"), listTimeoutFlag(&t.listTimeout)}, t.flags()...)
			return grammar{flags: flags, command: t.command}, func(ctx context.Context, std *streams) error {
				return t.use(ctx, std, func(c *client.Client) error { return t.kinds()[0].list(ctx, c, std, form) })
			}
		},
	}
}
