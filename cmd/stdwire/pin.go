package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/host/pin"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/printable"
)

func pinCommand() command {
	return command{
		name: "pin", usage: "diff|accept|rm [NAME]… -s ID [FLAG]… [-- SERVER-COMMAND…]",
		summary: "see and accept what has become of the tools of a server",
		help: `When stdwire serve offers what other servers have, it remembers what their tools, prompts, resources and resource templates look like, all of it, at the first time. One that is another later, or that a server did not have, is withheld until it is accepted: a server could tell a model something else than what you have seen. A stdwire serve that runs offers it a second after that.

A NAME is that of a tool or prompt, a URI or a URI template.

  diff     compare the tools with what they were; exit code 10 if any differs
  accept   remember them as they are now: those that are named, or all
  rm       forget them: those that are named, or the whole server

The id is that of the configuration, also where another way to the server is given.

  stdwire pin diff -s files
  stdwire pin accept read_file -s files`,
		make: func() (grammar, runner) {
			p := &pinning{target: newTarget()}
			return grammar{flags: p.target.flags(), word: p.word, command: p.target.command}, p.run
		},
	}
}

// A pinning is what the command line says of pins.
type pinning struct {
	target *target
	action string
	names  []string
}

func (p *pinning) word(word string) error {
	if p.action != "" {
		p.names = append(p.names, word)
		return nil
	}
	actions := []string{"diff", "accept", "rm"}
	if !slices.Contains(actions, word) {
		return usagef("%q is none of %s", word, strings.Join(actions, ", ")).withHint(near.DidYouMean(word, actions))
	}
	p.action = word
	return nil
}

func (p *pinning) run(ctx context.Context, std *streams) error {
	switch {
	case p.action == "":
		return usagef("what about them?").withHint("there are diff, accept and rm")
	case p.target.selected.id == "":
		return usagef("which server?").withHint("say which: -s ID")
	}
	id := p.target.selected.id
	lock, err := openPins()
	if err != nil {
		return err
	}
	if p.action == "rm" {
		return p.done(lock.Forget(id, p.names...))
	}
	return p.target.useAs(ctx, std, gateway.Declare, func(c *client.Client) error {
		server, err := gateway.Pinned(id, c)
		if err != nil {
			return err
		}
		var all []compared
		for _, kind := range pin.Kinds() {
			definitions, err := gateway.Definitions(ctx, c, kind)
			if err != nil {
				return err
			}
			report, err := lock.Compare(server, kind, definitions)
			if err != nil {
				return &failure{code: "config", why: err.Error()}
			}
			all = append(all, compared{kind, definitions, report})
		}
		if p.action == "accept" {
			return p.done(p.accept(lock, server, all))
		}
		return p.show(std, all)
	})
}

// A compared is what a server has of a kind, beside its pins.
type compared struct {
	kind        pin.Kind
	definitions []json.RawMessage
	report      pin.Report
}

// accept pins those that are named, of whatever kind, or all.
func (p *pinning) accept(lock *pin.Lock, server pin.Server, all []compared) error {
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
			return fmt.Errorf("%w tool, prompt, resource or template: %.100q of the server %q", pin.ErrNotThere, name, server.ID)
		}
	}
	for i, c := range all {
		if len(p.names) > 0 && len(accepted[i]) == 0 {
			continue
		}
		if err := lock.Accept(server, c.kind, c.definitions, accepted[i]...); err != nil {
			return err
		}
	}
	return nil
}

func (p *pinning) done(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pin.ErrNotThere):
		return &failure{code: "not_found", why: err.Error()}
	}
	return &failure{code: "config", why: err.Error()}
}

// show prints what is different, and is a failure if anything is.
func (p *pinning) show(std *streams, all []compared) error {
	different := 0
	if another := all[0].report.Another; another != "" {
		std.out.print(fmt.Sprintf("the server is another than it was: %s\n", printable.Line(another)))
	}
	known := slices.ContainsFunc(all, func(c compared) bool { return !c.report.First })
	for _, c := range all {
		if known && c.report.First { // it is pinned when it is used for the first time
			continue
		}
		before := string(c.kind) + " "
		if c.kind == pin.Tool {
			before = ""
		}
		for _, v := range c.report.Verdicts {
			if len(p.names) > 0 && !slices.Contains(p.names, v.Name) || v.Usable() {
				continue
			}
			different++
			std.out.print(fmt.Sprintf("%s%s is %s\n", before, printable.Line(v.Name), v.State))
			for _, change := range v.Changes {
				std.out.print("  " + change.String() + "\n")
			}
		}
		for _, name := range c.report.Missing {
			std.out.print(fmt.Sprintf("%s%s is not there any more\n", before, printable.Line(name)))
		}
	}
	if different == 0 {
		return nil
	}
	return &failure{code: "findings", why: count(different, "definition") + " not as accepted", hint: "if that is right: stdwire pin accept"}
}
