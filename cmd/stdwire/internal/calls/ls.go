package calls

import (
	"context"
	"errors"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/rpc"
)

// LsCommand is stdwire ls.
func LsCommand() command.Command {
	return command.Command{
		Name: "ls", Usage: "[tools|resources|templates|prompts|skills] [--cost] [-o text|json|raw] [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "list the tools, resources, prompts and skills of a server",
		Help: `Without an argument it prints a short list of everything; with one, that kind with the beginning
of each description. Optional arguments are in brackets, and a tool that only apps may call is
marked (not for models). json prints the definitions as the server wrote them: an array for one
kind, an object of arrays for all. raw prints the results of the list's method, one a line.

--cost prints the size of each tool's definition, the largest first, and about how many tokens of a
model it is: a quarter of the bytes. Applications that do not search for tools send all of them to
the model, in every conversation.

stdwire tools is short for stdwire ls tools.`,
		Hidden: command.Table{toolsCommand()},
		Make: func() (command.Grammar, command.Runner) {
			t := target.NewTarget().OrServers()
			var only string
			word := func(w string) error {
				if err := command.CheckChoice(w, listNames()...); err != nil {
					if t.Configured.Has(w) {
						err.Hint = "did you mean -s " + w + "?"
					}
					return err
				}
				return command.Arguments(&only)(w)
			}
			grammar, run := list(t, &only)
			grammar.Word = word
			return grammar, run
		},
	}
}

// toolsCommand is stdwire tools, which is stdwire ls tools.
func toolsCommand() command.Command {
	return command.Command{
		Name: "tools", Usage: "[--cost] [-o text|json|raw] [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "list the tools of a server",
		Help:    "It is short for stdwire ls tools.",
		Make: func() (command.Grammar, command.Runner) {
			t, only := target.NewTarget().OrServers(), "tools"
			grammar, run := list(t, &only)
			grammar.IsServer = t.Configured.Has
			return grammar, run
		},
	}
}

// list returns the flags and the runner that prints the list only of t, or all if only is "".
func list(t *target.Target, only *string) (command.Grammar, command.Runner) {
	var form string
	var cost bool
	return t.Grammar(nil, command.FormatFlag(&form, "text", "json", "raw"),
			command.SwitchFlag(&cost, "--cost", "what the definitions of the tools cost a model"),
			output.ListTimeoutFlag(&t.ListTimeout)),
		func(ctx context.Context, std *term.Streams) error {
			switch {
			case cost && *only != "" && *only != "tools":
				return command.Usagef("--cost is for tools, not for %s", *only)
			case cost && form == "raw":
				return command.Usagef("--cost has no -o raw").WithHint("the numbers: -o json")
			}
			if form == "raw" && *only == "" {
				return command.Usagef("-o raw is for one kind").WithHint(
					"name it: stdwire ls tools -o raw")
			}
			return t.Use(ctx, std, func(c *client.Client) error {
				defer t.WarnDown(ctx, std, c)
				if cost {
					list, err := t.Lists()[0].JSON(ctx, c)
					if err != nil {
						return err
					}
					return output.PrintCost(std, list, t.IDs(), form)
				}
				for _, l := range t.Lists() {
					if l.Name() == *only {
						return l.Print(ctx, c, std, form)
					}
				}
				return listAll(ctx, c, std, t.Lists(), form)
			})
		}
}

func listNames() (names []string) {
	for _, l := range output.Lists() {
		names = append(names, l.Name())
	}
	return names
}

// listAll prints all definitions of the server, kind by kind.
func listAll(ctx context.Context, c *client.Client, std *term.Streams, lists []output.List,
	form string) error {
	var parts []string
	for _, l := range lists {
		part, err := l.Overview(ctx, c, std, form)
		switch {
		case errors.Is(err, rpc.ErrMethodNotFound): // the server lacks this kind
		case err != nil:
			return err
		case part != "":
			parts = append(parts, part)
		}
	}
	switch {
	case form == "json":
		std.Out.PrintJSON([]byte("{" + strings.Join(parts, ",") + "}"))
	case parts == nil:
		std.Err.Printf("the server has nothing")
	default:
		std.Out.Print(strings.Join(parts, "\n"))
	}
	return nil
}
