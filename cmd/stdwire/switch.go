package main

import (
	"context"

	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
)

func enableCommand() command {
	return switchCommand("enable", "[ID]… [--profile NAME] [--pid N]", "have servers of a running gateway offered again", "is enabled",
		"What was disabled, by this command's opposite or by the configuration, is started and offered: the servers that are named, and those of a profile. It lasts until the gateway ends.")
}

func disableCommand() command {
	return switchCommand("disable", "[ID]… [--profile NAME] [--pid N]", "stop servers of a running gateway, and withdraw what they offer", "is disabled",
		"The servers that are named, and those of a profile, are stopped; calls that are under way fail, and clients are told that there are other tools. That lasts until stdwire enable or the end of the "+
			"gateway, also if the configuration changes meanwhile. To disable one for longer, write \"disabled\": true into the configuration.")
}

func restartCommand() command {
	return switchCommand("restart", "ID… [--pid N]", "start servers of a running gateway anew", "is started anew",
		"Each server that is named is stopped, calls that are under way fail, and it is started at once, also one that has failed and is left alone for a while. What its file says of it by now is let in, if it waits for that. stdwire status shows what came of it, and "+
			"stdwire logs what it says.")
}

// switchCommand is a command that changes the state of servers with the operation of the same name.
func switchCommand(name, usage, summary, done, help string) command {
	return command{
		name: name, usage: usage, summary: summary, help: help,
		make: func() (grammar, runner) {
			s := &switching{operation: "host." + name, done: done}
			flags := []flag{pidFlag(&s.pid)}
			if name != "restart" {
				flags = append(flags, flag{name: "--profile", value: "NAME", help: "the servers of a profile, a set that the configuration has a name for", set: func(value string) error {
					s.profile = value
					return nil
				}})
			}
			word := func(w string) error {
				s.ids = append(s.ids, w)
				return nil
			}
			return grammar{flags: flags, word: word}, s.run
		},
	}
}

// A switching is what the command line says of servers to be switched.
type switching struct {
	operation string
	done      string // what is to be said of a server then
	ids       []string
	profile   string
	pid       int
}

// run looks for all gateways first, so that nothing is changed if something is wrong.
func (s *switching) run(ctx context.Context, std *streams) error {
	if s.ids == nil && s.profile == "" {
		return usagef("which servers?").withHint("name them; stdwire status shows which there are")
	}
	all, err := running(ctx, std)
	if err != nil {
		return err
	}
	defer hangUp(all)
	among, err := of(all, s.pid)
	if err != nil {
		return err
	}
	type change struct {
		g    *controlled
		what ops.ServerOrProfile
		name string
	}
	var changes []change
	for _, id := range s.ids {
		g, err := withServer(among, id)
		if err != nil {
			return err
		}
		changes = append(changes, change{g, ops.ServerOrProfile{Server: id}, id})
	}
	if s.profile != "" {
		g, err := withProfile(among, s.profile)
		if err != nil {
			return err
		}
		changes = append(changes, change{g, ops.ServerOrProfile{Profile: s.profile}, "the profile " + s.profile})
	}
	for _, c := range changes {
		var after ops.Statuses
		if err := c.g.ask(ctx, s.operation, c.what, &after); err != nil {
			return err
		}
		done := s.done
		if s.operation == "host.restart" && c.g.waits(ops.WaitingServer, c.what.Server) {
			done += ", as its file has it by now"
		}
		std.err.printf("%s %s", c.name, done)
		for _, id := range after.Missing {
			std.err.printf("note: %s is not offered by %s", id, c.g.name())
		}
	}
	return nil
}
