package configcmd

import (
	"context"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

func configWhereCommand() command.Command {
	return command.Command{
		Name: "config where", Usage: "[--config FILE]… [-o text|json]",
		Summary: "list the files that are searched, and what was found",
		Help: `The files are listed by precedence, the first one first. A file is used; absent; empty, if it has no
servers; shadowed, if an earlier file of the same directory is used; or broken, which stdwire config
check explains.`,
		Make: func() (command.Grammar, command.Runner) {
			var from target.ConfigFlags
			var output string
			flags := []command.Flag{command.FormatFlag(&output, "text", "json"), from.FileFlag()}
			return command.Grammar{Flags: flags}, func(_ context.Context, std *term.Streams) error {
				return whereConfig(std, &from, output)
			}
		},
	}
}

func whereConfig(std *term.Streams, from *target.ConfigFlags, output string) error {
	c, env, err := from.Load()
	if err != nil {
		return err
	}
	type file struct {
		Path    string       `json:"path"`
		State   config.State `json:"state"`
		Servers int          `json:"servers"`
		Project bool         `json:"project"` // its servers must be trusted first
	}
	files, rows := []file{}, [][]string{}
	for _, f := range c.Files {
		files = append(files, file{f.Path, f.State, f.Servers, f.Project})
		what := ""
		if f.State == config.StateUsed || f.State == config.StateShadowed {
			what = command.Plural(f.Servers, "server")
		}
		rows = append(rows, []string{string(f.State), f.Path, what})
	}
	if output == "json" {
		return std.Out.PrintValue(struct {
			Files []file `json:"files"`
			Trust string `json:"trust"`
		}{files, config.UserStore(env).Path})
	}
	std.Out.PrintTable(rows)
	std.Out.Print("\nTrusted servers of projects are remembered in " + config.UserStore(env).Path +
		".\n")
	return nil
}
