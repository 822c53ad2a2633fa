package bundlecmd

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/registry"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

func serverJSONCommand() command.Command {
	return command.Command{
		Name: "bundle server-json", Usage: "FILE --name NAMESPACE/NAME --url URL [--remote URL]…",
		Summary: "print a server.json, to publish a bundle",
		Help: `Prints the description of the bundle for registries (schema 2025-12-11), with its digest and the URL
at which it can be downloaded. The official registry accepts only releases at GitHub and GitLab.
--remote adds the URL at which the same server runs.
stdwire config import reads such files.

  stdwire bundle server-json weather-1.0.0.mcpb --name io.github.ada/weather \
      --url https://example.com/weather-1.0.0.mcpb > server.json`,
		Make: func() (command.Grammar, command.Runner) {
			var file, name, address string
			var remotes []registry.Remote
			flags := []command.Flag{
				command.TextFlag(&name, "--name", "NAME",
					"the name in the registry, such as io.github.ada/weather"),
				{Name: "--url", Value: "URL", Help: "where the bundle can be downloaded",
					Set: func(value string) error {
						address = value
						return checkURL(value)
					}},
				{Name: "--remote", Value: "URL", Many: true, Help: "where the server runs",
					Set: func(value string) error {
						remotes = append(remotes, registry.Remote{Type: "streamable-http", URL: value})
						return checkURL(value)
					}},
			}
			return command.Grammar{Word: command.Arguments(&file), Flags: flags},
				func(_ context.Context, std *term.Streams) error {
					if name == "" || address == "" {
						return command.Usagef("--name and --url are needed")
					}
					s := &registry.Server{Name: name, Remotes: remotes}
					return describeBundle(std, s, file, address)
				}
		},
	}
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return errors.New("the value is not an https: URL without a user")
	}
	return nil
}

// describeBundle prints s with what the bundle says.
func describeBundle(std *term.Streams, s *registry.Server, file, address string) error {
	b, err := open(file)
	if err != nil {
		return err
	}
	defer b.Close()
	m := b.Manifest
	s.Schema, s.Title, s.Description, s.Version = registry.Schema, m.DisplayName, m.Description,
		m.Release
	s.WebsiteURL = m.Homepage
	// The official registry refuses a bundle with a version of its own.
	s.Packages = []registry.Package{{Type: "mcpb", ID: address, SHA256: b.Digest,
		Transport: registry.Transport{Type: "stdio"}}}
	if err := s.Check(); err != nil {
		return failure(err)
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	std.Out.PrintJSON(text)
	return nil
}
