package bundlecmd

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/bundle"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/relay"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/child"
)

func runCommand() command.Command {
	return command.Command{
		Name: "bundle run", Usage: "FILE [--set KEY=VALUE]… [--sha256 DIGEST]",
		Summary: "run the server of a bundle",
		Help: `Use it as a server's command. The bundle is extracted to the cache once, and its server is started
with stdin, stdout and stderr. The server runs with all your rights: run only bundles whose
author you trust, and give the digest that stdwire bundle show prints, so that a replaced file is
refused.

--set gives the values that the bundle asks for. With KEY=@FILE the value is the content of a file,
so that a secret is not in the list of processes. A value may be given several times if the bundle
allows that. The server inherits the same few variables as every configured server.

  stdwire ls -- stdwire bundle run weather.mcpb --set api_key=@key.txt`,
		Make: func() (command.Grammar, command.Runner) {
			r := &runOptions{given: map[string][]string{}}
			return command.Grammar{Word: command.Arguments(&r.file), Flags: []command.Flag{
				{Name: "--set", Value: "KEY=VALUE", Many: true,
					Help: "a value that the bundle asks for; with KEY=@FILE the content of a file",
					Set:  r.set},
				{Name: "--sha256", Value: "DIGEST", Help: "refuse the file unless it has this digest",
					Set: r.setDigest},
			}}, r.run
		},
	}
}

// runOptions are the options of stdwire bundle run.
type runOptions struct {
	file   string
	given  map[string][]string
	digest string
}

func (r *runOptions) set(value string) error {
	key, value, ok := strings.Cut(value, "=")
	if !ok || key == "" {
		return command.Usagef("--set: the value is not KEY=VALUE")
	}
	value, err := target.FlagValue(value)
	r.given[key] = append(r.given[key], value)
	return err
}

func (r *runOptions) setDigest(value string) error {
	if len(value) != 64 || strings.Trim(strings.ToLower(value), "0123456789abcdef") != "" {
		return errors.New("a SHA-256 has 64 hexadecimal digits")
	}
	r.digest = strings.ToLower(value)
	return nil
}

func (r *runOptions) run(ctx context.Context, std *term.Streams) error {
	launch, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	env, err := child.Config{Env: launch.Env}.Environ()
	if err != nil {
		return failure(err)
	}
	all := func(to io.Writer, from io.Reader) error {
		_, err := io.Copy(to, from)
		return err
	}
	words := append([]string{launch.Command}, launch.Args...)
	server := relay.Relay{Words: words, Env: env, Up: all, Down: all}
	status, err := server.Run(ctx, std)
	if err != nil || status == 0 {
		return err
	}
	return status
}

// prepare extracts the bundle and returns its command.
func (r *runOptions) prepare(ctx context.Context) (*bundle.Launch, error) {
	b, err := open(r.file)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	switch {
	case r.digest != "" && b.Digest != r.digest:
		return nil, &command.Failure{Code: "denied", Why: r.file + " is not the file that --sha256 names",
			Hint: "its digest is " + b.Digest}
	case !b.Manifest.RunsOn(runtime.GOOS):
		return nil, &command.Failure{Code: "config", Why: r.file + " is for " +
			strings.Join(b.Manifest.Platforms.Platforms, ", ") + ", not " +
			bundle.Platform(runtime.GOOS)}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	cache, err := target.CacheDir("bundles")
	if err != nil {
		return nil, err
	}
	// Wrong values are reported before anything is extracted.
	launch, err := b.Manifest.Resolve(filepath.Join(cache, b.Digest), home, r.given)
	if missing, ok := errors.AsType[*bundle.MissingError](err); ok {
		return nil, &command.Failure{Code: "usage", Why: r.file + ": " + missing.Error(),
			Hint: "give each: --set " + missing.Keys[0] + "=VALUE, or =@FILE"}
	}
	if err != nil {
		return nil, failure(err)
	}
	dir, err := b.Extract(ctx, cache)
	if err != nil {
		return nil, failure(err)
	}
	// A path is one within the bundle, not in whatever directory this runs in.
	if command := filepath.FromSlash(launch.Command); command != filepath.Base(command) &&
		!filepath.IsAbs(command) {
		launch.Command = filepath.Join(dir, command)
	}
	return launch, nil
}
