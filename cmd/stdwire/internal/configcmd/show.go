package configcmd

import (
	"context"
	"slices"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

func configShowCommand() command.Command {
	return command.Command{
		Name: "config show", Usage: "[ID]… [--profile NAME] [--config FILE]…",
		Summary: "print the servers in one form, without secrets",
		Help: `Prints the servers in stdwire's own form, whatever the form of their files. Values of variables
and headers, users and queries of URLs, and arguments that may be secret are replaced by …;
variables are not expanded.`,
		Make: func() (command.Grammar, command.Runner) {
			var from target.ConfigFlags
			var profile string
			var ids []string
			word := func(w string) error {
				ids = append(ids, w)
				return nil
			}
			flags := []command.Flag{target.ProfileFlag(&profile), from.FileFlag()}
			return command.Grammar{Flags: flags, Word: word},
				func(_ context.Context, std *term.Streams) error {
					return showConfig(std, &from, profile, ids)
				}
		},
	}
}

func showConfig(std *term.Streams, from *target.ConfigFlags, profile string, ids []string) error {
	c, _, err := from.Load()
	if err != nil {
		return err
	}
	servers, err := c.Select(profile)
	if err != nil {
		return target.ConfigFailure(err)
	}
	for _, id := range ids {
		if _, err := c.Server(id); err != nil {
			return target.ConfigFailure(err)
		}
	}
	var shown []*config.Server
	broken := 0
	for _, s := range servers {
		switch {
		case ids != nil && !slices.Contains(ids, s.ID):
		case s.Err != nil:
			broken++
		default:
			shown = append(shown, s.Redacted())
		}
	}
	profiles := c.Profiles
	if profile != "" || ids != nil {
		profiles = nil
	}
	std.Out.PrintJSON(config.Encode(shown, nil, profiles))
	if errors := target.ErrorsAmong(c.Diagnostics); ids == nil && len(errors) > 0 {
		target.PrintDiagnostics(std, errors)
		return &command.Failure{Code: "config", Why: "servers with errors are left out: " +
			command.Plural(broken, "server")}
	}
	return nil
}
