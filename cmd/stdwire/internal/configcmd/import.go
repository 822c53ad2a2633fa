package configcmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/appfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/registry"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/shellwords"
)

func configImportCommand() command.Command {
	return command.Command{
		Name: "config import", Usage: "FILE|- [ID]… [--into FILE [--force]]",
		Summary: "import servers from another application's file",
		Help: `Prints a configuration file with all servers, or with those that are named, including their
secrets. A name that is not a valid id becomes the most similar valid one. A file whose name ends
with .toml is read as a file of Codex.

With --into the servers are added to a file, which is created if needed and otherwise keeps its
content, comments included. If it has a different server with the same id, nothing is written;
--force replaces the server, with the comments within it.

FILE may also be the server.json of a registry. Its first package or remote that can be used is
imported, or those whose ids are named; values that it requires become ${input:ID}. Nothing is
downloaded or run.

  stdwire config import ~/.cursor/mcp.json
  stdwire config import ~/.codex/config.toml
  stdwire config import .vscode/mcp.json github --into ~/.config/stdwire/mcp.json`,
		Make: func() (command.Grammar, command.Runner) {
			im := new(importOptions)
			flags := []command.Flag{
				command.FileFlag(&im.into, "--into", "add the servers to this file"),
				command.SwitchFlag(&im.force, "--force", "replace different servers with the same ids"),
			}
			return command.Grammar{Flags: flags, Word: im.word}, im.run
		},
	}
}

// importOptions are the options of stdwire config import.
type importOptions struct {
	file  string
	ids   []string // none: all
	into  string
	force bool
}

func (im *importOptions) word(word string) error {
	switch {
	case word == "":
		return command.Usagef("an argument is empty")
	case im.file == "":
		im.file = word
	default:
		im.ids = append(im.ids, word)
	}
	return nil
}

func (im *importOptions) run(_ context.Context, std *term.Streams) error {
	switch {
	case im.file == "":
		return command.Usagef("from which file?")
	case im.force && im.into == "":
		return command.Usagef("--force is for --into")
	}
	env, err := config.System("")
	if err != nil {
		return err
	}
	f, err := im.read(std, env)
	if err != nil {
		return err
	}
	servers, err := im.selectServers(std, f)
	if err != nil {
		return err
	}
	if im.into == "" {
		profiles := f.Profiles
		if im.ids != nil {
			profiles = nil // they may name other servers
		}
		std.Out.PrintJSON(config.Encode(servers, f.Inputs, profiles))
		return nil
	}
	if len(f.Profiles) > 0 {
		std.Err.Printf("note: profiles are not taken along")
	}
	return im.merge(std, env, servers, f.Inputs)
}

func (im *importOptions) read(std *term.Streams, env *config.Environment) (*config.File, error) {
	source := config.Source{Path: im.file, Workspace: env.Dir, Rename: true}
	var data []byte
	var err error
	if im.file == "-" {
		source.Path = "stdin"
		data, err = io.ReadAll(io.LimitReader(std.In, config.MaxFile+1))
	} else {
		data, err = env.ReadFile(im.file)
	}
	if err != nil {
		return nil, &command.Failure{Code: "config", Why: err.Error()}
	}
	if bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		return nil, &command.Failure{Code: "config", Why: source.Path +
			": this is a ZIP file, not a configuration",
			Hint: "if it is a bundle of a server: stdwire bundle run " +
				shellwords.Quote(source.Path)}
	}
	described, err := registry.Parse(data)
	switch {
	case errors.Is(err, registry.ErrOther):
		return config.Parse(env, source, data), nil
	case err != nil:
		return nil, &command.Failure{Code: "config", Why: source.Path + ": " + err.Error()}
	}
	chosen, err := im.chooseAlternatives(std, source.Path, described.Alternatives())
	if err != nil {
		return nil, err
	}
	return config.Parse(env, source, registry.File(chosen)), nil
}

// chooseAlternatives returns the alternatives that are named, or else the first that can be used.
// It says what the others are, and what the user has to do.
func (im *importOptions) chooseAlternatives(std *term.Streams, path string,
	all []registry.Alternative) (chosen []registry.Alternative, err error) {
	var others []string
	for _, a := range all {
		named := slices.Contains(im.ids, a.ID)
		switch {
		case a.Problem != "" && named:
			return nil, &command.Failure{Code: "config", Server: a.ID, Why: a.Problem}
		case a.Problem != "":
			std.Err.Printf("warning: %s: %s (%s) cannot be used: %s", path, a.ID,
				printable.Line(a.Type), printable.Line(a.Problem))
			continue
		case im.ids != nil && !named, im.ids == nil && chosen != nil:
			others = append(others, a.ID)
			continue
		}
		chosen = append(chosen, a)
		for _, input := range a.Inputs {
			std.Err.Printf("note: %s requires ${input:%s}: %s", a.ID, input.ID,
				printable.Line(cmp.Or(input.Description, "no description")))
		}
		if a.Left != nil {
			std.Err.Printf("note: %s: not set, because they are optional: %s", a.ID,
				printable.Line(strings.Join(a.Left, ", ")))
		}
		if a.Note != "" {
			std.Err.Printf("note: %s: %s", a.ID, printable.Line(a.Note))
		}
	}
	if chosen == nil && im.ids == nil {
		return nil, &command.Failure{Code: "config", Why: path + ": there is nothing that can be used"}
	}
	if others != nil {
		std.Err.Printf("note: there are others, which can be named: %s", strings.Join(others, ", "))
	}
	return chosen, nil
}

// selectServers returns the servers to import. Errors of other servers do not matter.
func (im *importOptions) selectServers(std *term.Streams, f *config.File) ([]*config.Server,
	error) {
	wanted := func(id string) bool { return im.ids == nil || slices.Contains(im.ids, id) }
	about := slices.DeleteFunc(f.Diagnostics,
		func(d config.Diagnostic) bool { return d.Server != "" && !wanted(d.Server) })
	target.PrintDiagnostics(std, about)
	if n := len(target.ErrorsAmong(about)); n > 0 {
		return nil, &command.Failure{Code: "config", Why: command.Plural(n, "error") +
			"; nothing is imported"}
	}
	chosen := slices.DeleteFunc(slices.Clone(f.Servers),
		func(s *config.Server) bool { return !wanted(s.ID) })
	for _, id := range im.ids {
		if _, err := (&config.Config{Servers: f.Servers}).Server(id); err != nil {
			return nil, target.ConfigFailure(err)
		}
	}
	return chosen, nil
}

func (im *importOptions) merge(std *term.Streams, env *config.Environment, servers []*config.Server,
	inputs []config.Input) error {
	data, err := env.ReadFile(im.into)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	merged, err := appfile.Merge(env, im.into, data, servers, inputs, im.force)
	if e, ok := errors.AsType[*appfile.ExistsError](err); ok {
		return &command.Failure{Code: "config", Why: e.Error(),
			Hint: "--force replaces it, with the comments within; or name the servers that you want"}
	}
	if err != nil {
		return &command.Failure{Code: "config", Why: err.Error()}
	}
	if merged.Changed() {
		if err := os.MkdirAll(filepath.Dir(im.into), 0o700); err != nil {
			return err
		}
		const mode = 0o600 // there may be secrets in it
		if err := atomicfile.Write(im.into, merged.After, mode); err != nil {
			return err
		}
	}
	std.Err.Printf("%s has %s", im.into, strings.Join(target.IDs(servers), ", "))
	return nil
}
