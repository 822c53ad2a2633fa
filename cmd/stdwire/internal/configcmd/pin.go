package configcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// PinCommand is stdwire pin.
func PinCommand() command.Command {
	return command.Command{
		Name: "pin", Usage: "[list | diff | accept|rm [NAME]… -s ID] [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "compare and accept the changed tools of a server",
		Help: `stdwire serve records the definitions of tools, prompts, resources, resource templates and skills
of a server, and its instructions, when the server is first used. What is new or differs later is
withheld until you accept it, because a server could mislead a model with it. A running stdwire
serve offers an accepted definition within a few seconds. The page of an app is recorded when it is
first read. Records of a server that are older than those of instructions accept the first ones.

A NAME is the name of a tool or prompt, a URI, a URI template, or "instructions".

  list     list the servers with records; so does stdwire pin alone
  diff     compare the definitions with the recorded ones; exit code 10 if any
           differs; without -s, of all servers with records
  accept   record the current definitions: those that are named, or all
  rm       delete records: those that are named, or all of the server

diff and accept show a new definition whole, and of one that has changed the parts that differ, with
a little of what surrounds them: … stands for what is equal. Characters that are invisible, or that
make two texts look equal, are spelled out, as in \u200b. With -o json they print an object for each
server, with whole definitions.

The ID is that of the configuration, even if a command or URL selects the server. Two files that
define a server with the same ID have records of their own: the file that is in use counts, so run
the command where stdwire serve runs, or with the same --config.

  stdwire pin diff -s files
  stdwire pin accept read_file -s files`,
		Make: func() (command.Grammar, command.Runner) {
			p := &pinOptions{target: target.NewTarget()}
			flags := append([]command.Flag{command.FormatFlag(&p.output, "text", "json"),
				output.ListTimeoutFlag(&p.target.ListTimeout)}, p.target.Flags()...)
			return command.Grammar{Flags: flags, Word: p.word, Command: p.target.Command,
				Check: p.check}, p.run
		},
	}
}

// pinOptions are the options of stdwire pin.
type pinOptions struct {
	target *target.Target
	action string
	names  []string
	output string
}

func (p *pinOptions) word(word string) error {
	if p.action != "" {
		p.names = append(p.names, word)
		return nil
	}
	if err := command.CheckChoice(word, "list", "diff", "accept", "rm"); err != nil {
		return err
	}
	p.action = word
	return nil
}

// check returns an error if a flag has no effect.
func (p *pinOptions) check(given command.Given) error {
	comparing := []string{"-o", "--timeout", "-s", "--config", "--input", "--era",
		"--start-timeout", "--max-message", "--env", "--sample", "--server-logs"}
	switch p.action {
	case "", "list":
		if flag := given.Except("-o"); flag != "" {
			return command.Usagef("list prints all servers, and starts none").WithHint("leave out " +
				flag + ", or compare definitions with their records: stdwire pin diff")
		}
	case "rm":
		if flag := given.Except("-o", "-s", "--config"); flag != "" || p.target.Words != nil {
			return command.Usagef("rm starts no server").WithHint(
				"leave out " + cmp.Or(flag, "the command after --"))
		}
	default:
		if flag := given.Except(comparing...); flag != "" || p.target.Words != nil {
			return command.Usagef("%s is for servers of the configuration", p.action).WithHint(
				"leave out " + cmp.Or(flag, "the command after --"))
		}
	}
	return nil
}

func (p *pinOptions) run(ctx context.Context, std *term.Streams) error {
	pins, err := target.OpenPins()
	if err != nil {
		return err
	}
	id := p.target.Configured.ID
	switch {
	case (p.action == "" || p.action == "list") && !p.target.IsBuiltin():
		return command.Usagef("list prints all servers").WithHint(
			"leave out the server, or compare its definitions with its records: stdwire pin diff")
	case p.action == "" || p.action == "list":
		return p.list(std, pins)
	case id == "" && p.action == "diff" && p.names == nil && p.target.IsBuiltin():
		return p.diffAll(ctx, std, pins)
	case id == "":
		hint := "select one: -s ID"
		if len(p.names) > 0 && p.target.Configured.Has(p.names[0]) {
			hint = "did you mean -s " + p.names[0] + "?"
		}
		return command.Usagef("which server?").WithHint(hint)
	case p.action == "rm" && p.output != "text":
		return command.Usagef("rm prints no JSON").WithHint("leave out -o json, or --json")
	case p.action == "rm":
		forgotten := pin.Server{ID: id, Source: p.target.Configured.Source(id)}
		if err := pins.Forget(forgotten, p.names...); err != nil {
			return p.failure(err)
		}
		std.Out.Print(fmt.Sprintf("%s: deleted the records of %s\n", id,
			cmp.Or(printable.Line(strings.Join(p.names, ", ")), "all definitions")))
		return nil
	}
	return p.compare(ctx, std, pins, p.target)
}

// compare compares the definitions of a server with their pins and shows or accepts them.
func (p *pinOptions) compare(ctx context.Context, std *term.Streams, pins *pin.File,
	t *target.Target) error {
	id := t.Configured.ID
	return t.UseWith(ctx, std, gateway.DeclareCapabilities, func(c *client.Client) error {
		server, err := target.PinServer(id, t.Configured.Source(id), c)
		if err != nil {
			return err
		}
		var all []comparison
		for kind := range pin.Kinds() {
			definitions, err := definitions(ctx, c, kind, t.ListTimeout)
			if err != nil {
				return err
			}
			report, err := pins.Compare(server, kind, definitions)
			if err != nil {
				return &command.Failure{Code: "config", Why: err.Error()}
			}
			all = append(all, comparison{kind, definitions, report})
		}
		if p.action == "accept" {
			return p.failure(p.accept(std, pins, server, all))
		}
		return p.show(std, server, all)
	})
}

// definitions returns the definitions of one kind that a server has. A negative timeout is no
// limit.
func definitions(ctx context.Context, c *client.Client, kind mcp.Kind,
	timeout time.Duration) ([]json.RawMessage, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	all, err := gateway.Definitions(limited, c, kind)
	if errors.Is(err, context.DeadlineExceeded) && limited.Err() != nil && ctx.Err() == nil {
		return nil, output.ListTimeout(string(kind)+"s", timeout)
	}
	return all, err
}

// A comparison is the definitions of one kind that a server has, compared with their pins.
type comparison struct {
	kind        mcp.Kind
	definitions []json.RawMessage
	report      pin.Report
}

// accept pins the named definitions of every kind, or all, and says which were not as accepted.
func (p *pinOptions) accept(std *term.Streams, pins *pin.File, server pin.Server,
	all []comparison) error {
	named := map[string]bool{}
	accepted := make([][]string, len(all))
	for i, c := range all {
		for _, v := range c.report.Verdicts {
			if slices.Contains(p.names, v.Name) {
				named[v.Name] = true
				accepted[i] = append(accepted[i], v.Name)
			}
		}
	}
	for _, name := range p.names {
		if !named[name] {
			return fmt.Errorf(
				"the tool, prompt, resource or template %.100q of the server %q: %w", name,
				server.ID, pin.ErrNotFound)
		}
	}
	for i, c := range all {
		if len(p.names) > 0 && len(accepted[i]) == 0 {
			continue
		}
		if err := pins.Accept(server, c.kind, c.definitions, accepted[i]...); err != nil {
			return err
		}
	}
	r := newPinReport(server, all, p.names)
	r.Missing = nil
	if p.output == "json" {
		return std.Out.PrintValue(r)
	}
	for _, d := range r.Definitions {
		what := title(d.Kind, d.Name)
		if d.Kind == mcp.KindTool {
			what = "tool " + what
		}
		std.Out.Print(fmt.Sprintf("%s: accepted %s, which was %s\n", server.ID, what, d.State))
		d.printChanges(std)
	}
	if len(r.Definitions) == 0 {
		std.Out.Print(server.ID + ": nothing to accept: no definition differs from its record\n")
	}
	return nil
}

func (p *pinOptions) failure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pin.ErrNotFound):
		return &command.Failure{Code: "not_found", Why: err.Error()}
	}
	return &command.Failure{Code: "config", Why: err.Error()}
}

// show prints the differences. It returns a failure if there are any.
func (p *pinOptions) show(std *term.Streams, server pin.Server, all []comparison) error {
	// A kind without pins is pinned at its first use, so it is a difference only if all are.
	if slices.ContainsFunc(all, func(c comparison) bool { return !c.report.First }) {
		all = slices.DeleteFunc(all, func(c comparison) bool { return c.report.First })
	}
	r := newPinReport(server, all, p.names)
	if p.output == "json" {
		if err := std.Out.PrintValue(r); err != nil {
			return err
		}
	} else {
		r.print(std)
	}
	if len(r.Definitions) == 0 {
		return nil
	}
	which := ""
	if server.Source != "" {
		which = fmt.Sprintf(" for the server %q of %s", server.ID, server.Source)
	}
	return &command.Failure{Code: "findings", Why: command.Plural(len(r.Definitions), "definition") +
		" not as accepted", Hint: "if that is right" + which + ": stdwire pin accept -s " + server.ID}
}
