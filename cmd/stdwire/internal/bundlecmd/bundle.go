// Package bundlecmd is stdwire bundle, which writes, shows and runs bundles of MCP servers.
package bundlecmd

import (
	"errors"
	"io/fs"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/bundle"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// BundleCommand is stdwire bundle.
func BundleCommand() command.Command {
	all := command.Subcommands{createCommand(), showCommand(), runCommand(), serverJSONCommand()}
	return command.Command{
		Name: "bundle", Usage: "create|show|run|server-json [FLAG]… [-h]",
		Summary: "write, show and run bundles of servers (.mcpb)",
		Help: `A bundle is a ZIP archive of a server with a manifest.json, which other applications install, too.
stdwire help bundle explains the manifest.

` + all.List(),
		Subcommands: all,
		Make:        all.Make,
	}
}

// failure returns an error about a bundle as a failure.
func failure(err error) error {
	if f, ok := errors.AsType[*command.Failure](err); ok {
		return f
	}
	f := &command.Failure{Code: "config", Why: err.Error()}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Code = "usage"
	case errors.Is(err, bundle.ErrLimit):
		f.Code = "too_large"
	}
	return f
}

// open opens the bundle that is named on the command line.
func open(file string) (*bundle.Bundle, error) {
	if file == "" {
		return nil, command.Usagef("which bundle?")
	}
	b, err := bundle.Open(file, bundle.DefaultLimits)
	if err != nil {
		return nil, failure(err)
	}
	return b, nil
}
