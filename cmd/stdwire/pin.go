package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
		name: "pin", usage: "diff|accept|rm [TOOL]… -s ID [FLAG]… [-- SERVER-COMMAND…]",
		summary: "see and accept what has become of the tools of a server",
		help: `When stdwire serve offers what other servers have, it remembers what their tools look like, all of it, at the first time. A tool that is another later, or that a server did not have, is not offered until it is accepted: a server could tell a model something else than what you have seen.

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
	tools  []string
}

func (p *pinning) word(word string) error {
	if p.action != "" {
		p.tools = append(p.tools, word)
		return nil
	}
	actions := []string{"diff", "accept", "rm"}
	if !slices.Contains(actions, word) {
		return usagef("%q is none of %s", word, strings.Join(actions, ", ")).withHint(near.DidYouMean(word, actions))
	}
	p.action = word
	return nil
}

// openPins opens the user's file of pins (XDG Base Directory Specification).
func openPins() (*pin.Lock, error) {
	path, err := stateFile("pins.json")
	if err != nil {
		return nil, err
	}
	lock, err := pin.Open(path)
	if err != nil {
		return nil, &failure{code: "config", why: err.Error()}
	}
	return lock, nil
}

// stateFile is where something is kept from one run to the next.
func stateFile(name string) (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "stdwire", name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "stdwire", name), nil
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
		return p.done(lock.Forget(id, p.tools...))
	}
	return p.target.useAs(ctx, std, gateway.Declare, func(c *client.Client) error {
		var definitions []json.RawMessage
		for text, err := range c.ToolDefinitions(ctx) {
			if err != nil {
				return err
			}
			definitions = append(definitions, text)
		}
		server, err := gateway.Pinned(id, c)
		if err != nil {
			return err
		}
		if p.action == "accept" {
			return p.done(lock.Accept(server, definitions, p.tools...))
		}
		report, err := lock.Compare(server, definitions)
		if err != nil {
			return &failure{code: "config", why: err.Error()}
		}
		return p.show(std, &report)
	})
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
func (p *pinning) show(std *streams, r *pin.Report) error {
	different := 0
	if r.Another != "" {
		std.out.print(fmt.Sprintf("the server is another than it was: %s\n", printable.Line(r.Another)))
	}
	for _, v := range r.Verdicts {
		if len(p.tools) > 0 && !slices.Contains(p.tools, v.Tool) || v.Usable() {
			continue
		}
		different++
		std.out.print(fmt.Sprintf("%s is %s\n", printable.Line(v.Tool), v.State))
		for _, change := range v.Changes {
			std.out.print("  " + change.String() + "\n")
		}
	}
	for _, name := range r.Missing {
		std.out.print(fmt.Sprintf("%s is not there any more\n", printable.Line(name)))
	}
	if different == 0 {
		return nil
	}
	return &failure{code: "findings", why: count(different, "tool") + " not as accepted", hint: "if that is right: stdwire pin accept"}
}
