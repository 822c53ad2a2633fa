package main

import (
	"context"
	"encoding/json"

	"github.com/stdwire/stdwire/client/host/config"
)

func configWhereCommand() command {
	return command{
		name: "config where", usage: "[--config FILE]… [-o text|json]",
		summary: "list the files that are searched, and what was found",
		help:    "What wins comes first. A file is used; absent; empty, if it has no place for servers; shadowed, if one before it in the same directory has; or broken, which stdwire config check explains.",
		make: func() (grammar, runner) {
			var from configuration
			var output string
			flags := append([]flag{format(&output, "text", "json")}, from.flags()[:1]...)
			return grammar{flags: flags}, func(_ context.Context, std *streams) error { return whereConfig(std, &from, output) }
		},
	}
}

func whereConfig(std *streams, from *configuration, output string) error {
	c, env, err := from.load()
	if err != nil {
		return err
	}
	type file struct {
		Path    string       `json:"path"`
		State   config.State `json:"state"`
		Servers int          `json:"servers"`
		Project bool         `json:"project"` // its servers want to be trusted
	}
	files, rows := []file{}, [][]string{}
	for _, f := range c.Files {
		files = append(files, file{f.Path, f.State, f.Servers, f.Project})
		what := ""
		if f.State == config.Used || f.State == config.Shadowed {
			what = count(f.Servers, "server")
		}
		rows = append(rows, []string{string(f.State), f.Path, what})
	}
	if output == "json" {
		text, err := json.Marshal(struct {
			Files []file `json:"files"`
			Trust string `json:"trust"`
		}{files, config.UserStore(env).Path})
		std.out.json(text)
		return err
	}
	std.out.print(table(rows) + "\nTrusted servers of projects are remembered in " + config.UserStore(env).Path + ".\n")
	return nil
}
