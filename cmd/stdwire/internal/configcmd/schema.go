package configcmd

import (
	"context"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

func configSchemaCommand() command.Command {
	return command.Command{
		Name: "config schema", Usage: "",
		Summary: "print the JSON Schema of a configuration file",
		Help: `Editors complete and check a file with the schema, in JSON Schema 2020-12. It accepts all that
stdwire config check accepts, in the form of any application. stdwire help config-file explains
each member.

  stdwire config schema > stdwire.schema.json`,
		Make: func() (command.Grammar, command.Runner) {
			return command.Grammar{}, func(_ context.Context, std *term.Streams) error {
				std.Out.Print(string(config.Schema()) + "\n")
				return nil
			}
		},
	}
}
