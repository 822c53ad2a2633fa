package control

import (
	"context"
	"errors"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// enableCommand returns the command stdwire enable.
func enableCommand() command.Command {
	return switchCommand("enable", "[ID]… [--profile NAME] [--pid N]",
		"enable servers of a running gateway", "is enabled",
		`Offers servers that stdwire stop, stdwire disable or the configuration disabled: those that are
named, and those of a profile. A server whose lists are known is started by its next call, and is
stopped until then. This lasts until the gateway ends. Gateways that share a store do so together:
see stdwire help store.`)
}

// disableCommand returns the command stdwire disable.
func disableCommand() command.Command {
	return switchCommand("disable", "[ID]… [--profile NAME] [--pid N]",
		"disable servers of a running gateway", "is disabled",
		`Stops the servers that are named, and those of a profile. Their running calls fail, and
clients are told that the tools have changed. This lasts until stdwire enable or the end of
the gateway, even if the configuration changes; of gateways that share a store, all do, until
stdwire enable. To disable a server for longer, write "disabled": true into the configuration.`)
}

// restartCommand returns the command stdwire restart.
func restartCommand() command.Command {
	return switchCommand("restart", "ID… [--pid N]", "restart servers of a running gateway",
		"is being restarted",
		`Stops each server that is named and starts it again at once, also one whose start is delayed
because it failed. Running calls fail. A waiting change of its definition is accepted.
stdwire status shows the outcome, and stdwire logs what the server writes.`)
}

// switchCommand returns a command that runs the operation of the same name, which changes the state
// of servers.
func switchCommand(name, usage, summary, done, help string) command.Command {
	return command.Command{
		Name: name, Usage: usage, Summary: summary, Help: help,
		Make: func() (command.Grammar, command.Runner) {
			s := &switchOptions{operation: "host." + name, message: done}
			flags := []command.Flag{pidFlag(&s.pid)}
			if name != "restart" {
				flags = append(flags, command.TextFlag(&s.profile, "--profile", "NAME",
					"the servers of a profile of the configuration"))
			}
			word := func(w string) error {
				s.ids = append(s.ids, w)
				return nil
			}
			return command.Grammar{Flags: flags, Word: word}, s.run
		},
	}
}

// switchOptions are the options of enable, disable and restart.
type switchOptions struct {
	operation string
	message   string // printed after the name of a server or profile
	ids       []string
	profile   string
	pid       int
}

// run finds all gateways before it changes any, so that an error changes nothing.
func (s *switchOptions) run(ctx context.Context, std *term.Streams) error {
	if s.ids == nil && s.profile == "" {
		return command.Usagef("which servers?").WithHint(
			"name them; stdwire status lists the servers")
	}
	all, err := runningGateways(ctx, std)
	if err != nil {
		return err
	}
	defer closeAll(all)
	return s.apply(ctx, std, all)
}

// apply is run for these gateways.
func (s *switchOptions) apply(ctx context.Context, std *term.Streams, all []*gatewayClient) error {
	selected, err := withPid(all, s.pid)
	if err != nil {
		return err
	}
	type change struct {
		g    *gatewayClient
		what ops.ServerOrProfile
		name string
	}
	var changes []change
	for _, id := range s.ids {
		g, err := withServer(selected, id)
		if err != nil {
			return err
		}
		if s.operation != "host.restart" && !g.offers(id) {
			return &command.Failure{Code: "denied", Server: id,
				Why:  "a change of it waits, and it is not offered",
				Hint: "to accept it: stdwire trust " + id}
		}
		changes = append(changes, change{g, ops.ServerOrProfile{Server: id}, id})
	}
	if s.profile != "" {
		g, err := withProfile(selected, s.profile)
		if err != nil {
			return err
		}
		changes = append(changes,
			change{g, ops.ServerOrProfile{Profile: s.profile}, "the profile " + s.profile})
	}
	for _, c := range changes {
		var after ops.Statuses
		if err := c.g.call(ctx, s.operation, c.what, &after); err != nil {
			if f, ok := errors.AsType[*command.Failure](err); ok && c.g.isDisabled(c.what.Server) {
				return f.WithHint("stdwire enable " + c.name)
			}
			return err
		}
		done := s.message
		if s.operation == "host.restart" && c.g.isWaiting(ops.PendingServer, c.what.Server) {
			done += ", with the definition that its file has now"
		}
		std.Err.Printf("%s %s", c.name, done)
		for _, id := range after.Missing {
			std.Err.Printf("note: %s is not offered by %s", id, c.g.name())
		}
	}
	return nil
}
