package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/rpc"
)

func lsCommand() command {
	return command{
		name: "ls", usage: "[tools|resources|templates|prompts] [-o text|json] [FLAG]… [-- SERVER-COMMAND…]",
		summary: "list what a server has: tools, resources, templates, prompts",
		help: "Without an argument it is a short list of all, each as it is typed; with one, that kind with how its descriptions begin. json is what the server wrote: " +
			"of one kind an array, of all an object of them.",
		make: func() (grammar, runner) {
			t := newTarget()
			var form, only string
			word := func(w string) error {
				names := kindNames()
				switch {
				case only != "":
					return usagef("unexpected argument %q", w)
				case !slices.Contains(names, w):
					return usagef("%q is none of %s", w, strings.Join(names, ", ")).withHint(near.DidYouMean(w, names))
				}
				only = w
				return nil
			}
			flags := append([]flag{format(&form, "text", "json"), listTimeoutFlag(&t.listTimeout)}, t.flags()...)
			return grammar{flags: flags, word: word, command: t.command}, func(ctx context.Context, std *streams) error {
				return t.use(ctx, std, func(c *client.Client) error {
					for _, k := range t.kinds() {
						if k.name == only {
							return k.list(ctx, c, std, form)
						}
					}
					return listAll(ctx, c, std, t.kinds(), form)
				})
			}
		},
	}
}

func kindNames() (names []string) {
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// listAll prints all of every kind that the server has.
func listAll(ctx context.Context, c *client.Client, std *streams, kinds []kind, form string) error {
	var parts []string
	for _, k := range kinds {
		part, err := k.all(ctx, c, form)
		switch {
		case errors.Is(err, rpc.ErrMethodNotFound): // it has none
		case err != nil:
			return err
		case part != "":
			parts = append(parts, part)
		}
	}
	switch {
	case form == "json":
		std.out.json([]byte("{" + strings.Join(parts, ",") + "}"))
	case parts == nil:
		std.err.printf("the server has nothing")
	default:
		std.out.print(strings.Join(parts, "\n"))
	}
	return nil
}
