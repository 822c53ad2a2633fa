package bundlecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/bundle"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/userfile"
)

func createCommand() command.Command {
	return command.Command{
		Name: "bundle create",
		Usage: "DIR|--name NAME --version VERSION --description TEXT --author NAME [-o FILE] " +
			"[--exclude PATTERN]… [-- PROGRAM ARG…]",
		Summary: "write a bundle of a directory or a program",
		Help: `DIR has a manifest.json, which is checked. The files of DIR are written to NAME-VERSION.mcpb, or to
the file that -o names, which is replaced. The same files give the same bundle byte for byte. The
bundle leaves out files of version control and of editors, other bundles, .env and .npmrc files,
files that .mcpbignore lists, and files that --exclude names: a name or a path, with the wildcards *
and ?.

Without DIR, the program after -- becomes the server of a bundle for this system. Its arguments may
contain the variables of manifests, such as ${HOME}.

  stdwire bundle create ./weather
  stdwire bundle create --name weather --version 1.0.0 --author Ada \
      --description "Weather of today" -- ./weather-server --stdio`,
		Make: func() (command.Grammar, command.Runner) {
			c := new(createOptions)
			return command.Grammar{Word: command.Arguments(&c.dir), Check: c.check,
				Command: func(words []string) { c.words = words },
				Flags: []command.Flag{
					command.FileFlag(&c.out, "-o", "the file to write"),
					{Name: "--exclude", Value: "PATTERN", Many: true, Help: "files to leave out",
						Set: func(value string) error {
							c.exclude = append(c.exclude, value)
							return nil
						}},
					command.TextFlag(&c.name, "--name", "NAME",
						"the name of the bundle of a program"),
					command.TextFlag(&c.version, "--version", "VERSION", "its version"),
					command.TextFlag(&c.description, "--description", "TEXT",
						"what its server does"),
					command.TextFlag(&c.author, "--author", "NAME", "who has written it"),
				}}, c.run
		},
	}
}

// createOptions are the options of stdwire bundle create.
type createOptions struct {
	dir                                string
	words                              []string // a program and its arguments
	out                                string
	exclude                            []string
	name, version, description, author string
}

// check returns an error if a flag has no effect.
func (c *createOptions) check(given command.Given) error {
	if flag := given.Except("-o", "--exclude"); c.dir != "" && flag != "" {
		return command.Usagef("a directory has its manifest; %s is for a program after --", flag)
	}
	if c.dir == "" && c.exclude != nil {
		return command.Usagef("--exclude is for a directory").WithHint(
			"the bundle of a program has no other files")
	}
	return nil
}

func (c *createOptions) run(ctx context.Context, std *term.Streams) error {
	switch {
	case c.dir == "" && c.words == nil:
		return command.Usagef("of what?").WithHint("name a directory, or a program after --")
	case c.dir != "" && c.words != nil:
		return command.Usagef("a directory and a program after -- exclude each other")
	case c.dir == "" && (c.name == "" || c.version == "" || c.description == "" || c.author == ""):
		return command.Usagef("a program needs --name, --version, --description and --author")
	}
	dir := c.dir
	if c.words != nil {
		temp, err := os.MkdirTemp("", "stdwire")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		if err := c.writeProgram(temp); err != nil {
			return failure(err)
		}
		dir = temp
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return failure(err)
	}
	defer root.Close()
	files := userfile.FS(root)
	if err := c.readIgnore(files); err != nil {
		return failure(err)
	}
	return c.write(ctx, std, files)
}

// maxIgnore is the maximum size of .mcpbignore in bytes.
const maxIgnore = 1 << 20

// readIgnore adds the patterns of .mcpbignore.
func (c *createOptions) readIgnore(root fs.FS) error {
	text, err := userfile.Text(userfile.ReadFS(root, ".mcpbignore", maxIgnore))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	patterns, errPatterns := bundle.IgnorePatterns(text)
	if err := errors.Join(err, errPatterns); err != nil {
		return fmt.Errorf(".mcpbignore: %w", err)
	}
	c.exclude = append(c.exclude, patterns...)
	return nil
}

// write writes the bundle beside its destination, and moves it there when it is whole.
func (c *createOptions) write(ctx context.Context, std *term.Streams, root fs.FS) error {
	manifest, err := userfile.ReadFS(root, bundle.ManifestName, bundle.DefaultLimits.Manifest)
	if err != nil {
		return failure(err)
	}
	m, err := bundle.ParseManifest(manifest)
	if err != nil {
		return failure(err)
	}
	if c.out == "" {
		c.out = filepath.Base(m.Name+"-"+m.Release) + ".mcpb"
	}
	temp, err := os.CreateTemp(filepath.Dir(c.out), ".stdwire-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	files, err := bundle.Create(ctx, temp, root, c.exclude, bundle.DefaultLimits)
	if err := errors.Join(err, temp.Close()); err != nil {
		return failure(err)
	}
	written, err := bundle.Open(temp.Name(), bundle.DefaultLimits)
	if err != nil {
		return failure(err)
	}
	written.Close()
	if err := os.Chmod(temp.Name(), 0o644); err != nil {
		return err
	}
	if err := atomicfile.Move(temp.Name(), c.out); err != nil {
		return err
	}
	std.Err.Printf("%s has %s, SHA-256 %s", c.out, command.Plural(len(files), "file"),
		written.Digest)
	return nil
}

// writeProgram writes the program and a manifest to a directory.
func (c *createOptions) writeProgram(dir string) error {
	in, _, err := userfile.Open(c.words[0])
	if err != nil {
		return err
	}
	defer in.Close()
	name := "server/" + filepath.Base(c.words[0])
	m := bundle.Manifest{Version: bundle.ManifestVersion, Name: c.name, Release: c.version,
		Description: c.description, Author: bundle.Author{Name: c.author},
		Server: bundle.Server{Type: "binary", EntryPoint: name, Config: bundle.Config{
			Launch: bundle.Launch{Command: "${__dirname}/" + name, Args: c.words[1:]}}},
		Platforms: &bundle.Compatibility{Platforms: []string{bundle.Platform(runtime.GOOS)}}}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, bundle.ManifestName), text, 0o600); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "server"), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(dir, filepath.FromSlash(name)),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
