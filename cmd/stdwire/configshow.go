package main

import (
	"context"
	"slices"

	"github.com/stdwire/stdwire/client/host/config"
)

func configShowCommand() command {
	return command{
		name: "config show", usage: "[ID]… [--profile NAME] [--config FILE]…",
		summary: "print the servers in one form, without secrets",
		help: "The form is stdwire's own, whatever the files have. Values of variables and headers, users and queries of URLs, and arguments that may be secrets are …; variables are " +
			"shown as they are written.",
		make: func() (grammar, runner) {
			var from configuration
			var profile string
			var ids []string
			word := func(w string) error {
				ids = append(ids, w)
				return nil
			}
			flags := append([]flag{profileFlag(&profile)}, from.flags()[:1]...)
			return grammar{flags: flags, word: word}, func(_ context.Context, std *streams) error { return showConfig(std, &from, profile, ids) }
		},
	}
}

func showConfig(std *streams, from *configuration, profile string, ids []string) error {
	c, _, err := from.load()
	if err != nil {
		return err
	}
	servers, err := c.Select(profile)
	if err != nil {
		return misconfigured(err)
	}
	for _, id := range ids {
		if _, err := c.Server(id); err != nil {
			return misconfigured(err)
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
	std.out.json(config.Encode(shown, nil, profiles))
	if errors := errorsAmong(c.Diagnostics); ids == nil && len(errors) > 0 {
		printDiagnostics(std, errors)
		return &failure{code: "config", why: "what has errors is left out: " + count(broken, "server")}
	}
	return nil
}
