package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

func configImportCommand() command {
	return command{
		name: "config import", usage: "FILE|- [ID]… [--into FILE [--force]]",
		summary: "bring servers from another application's file",
		help: `Prints a file with the servers, all of them or those that are named, with the secrets that are written there. A name that can be no id becomes the most similar one that can.

With --into, the servers are added to a file, or a new one: what is there stays, comments too. If another server of the same id is there, nothing is written, unless --force is given: then it is replaced, and comments within it are lost.

  stdwire config import ~/.cursor/mcp.json
  stdwire config import .vscode/mcp.json github --into ~/.config/stdwire/mcp.json`,
		make: func() (grammar, runner) {
			im := new(importing)
			flags := []flag{
				{name: "--into", value: "FILE", help: "add the servers to this file", set: func(value string) error {
					if value == "" {
						return errors.New("the name of the file is empty")
					}
					im.into = value
					return nil
				}},
				toggle(&im.force, "--force", "replace servers that are there"),
			}
			return grammar{flags: flags, word: im.word}, im.run
		},
	}
}

// An importing is what the command line says of one.
type importing struct {
	file  string
	ids   []string // none: all
	into  string
	force bool
}

func (im *importing) word(word string) error {
	switch {
	case word == "":
		return usagef("an argument is empty")
	case im.file == "":
		im.file = word
	default:
		im.ids = append(im.ids, word)
	}
	return nil
}

func (im *importing) run(_ context.Context, std *streams) error {
	switch {
	case im.file == "":
		return usagef("from which file?")
	case im.force && im.into == "":
		return usagef("--force is for --into")
	}
	env, err := config.System("")
	if err != nil {
		return err
	}
	f, err := im.read(std, env)
	if err != nil {
		return err
	}
	servers, err := im.choose(std, f)
	if err != nil {
		return err
	}
	if im.into == "" {
		profiles := f.Profiles
		if im.ids != nil {
			profiles = nil // they may be about others
		}
		std.out.json(config.Encode(servers, f.Inputs, profiles))
		return nil
	}
	if len(f.Profiles) > 0 {
		std.err.printf("note: profiles are not taken along")
	}
	return im.merge(std, env, servers, f.Inputs)
}

func (im *importing) read(std *streams, env *config.Environment) (*config.File, error) {
	source := config.Source{Path: im.file, Workspace: env.Dir, Rename: true}
	var data []byte
	var err error
	if im.file == "-" {
		source.Path = "stdin"
		data, err = io.ReadAll(io.LimitReader(std.in, config.MaxFile+1))
	} else {
		data, err = env.ReadFile(im.file)
	}
	if err != nil {
		return nil, &failure{code: "config", why: err.Error()}
	}
	return config.Parse(env, source, data), nil
}

// choose returns the servers that are wanted. What is wrong with others does not matter.
func (im *importing) choose(std *streams, f *config.File) ([]*config.Server, error) {
	wanted := func(id string) bool { return im.ids == nil || slices.Contains(im.ids, id) }
	about := slices.DeleteFunc(f.Diagnostics, func(d config.Diagnostic) bool { return d.Server != "" && !wanted(d.Server) })
	printDiagnostics(std, about)
	if n := len(errorsAmong(about)); n > 0 {
		return nil, &failure{code: "config", why: count(n, "error") + "; nothing is imported"}
	}
	chosen := slices.DeleteFunc(slices.Clone(f.Servers), func(s *config.Server) bool { return !wanted(s.ID) })
	for _, id := range im.ids {
		if _, err := (&config.Config{Servers: f.Servers}).Server(id); err != nil {
			return nil, misconfigured(err)
		}
	}
	return chosen, nil
}

func (im *importing) merge(std *streams, env *config.Environment, servers []*config.Server, inputs []config.Input) error {
	data, err := env.ReadFile(im.into)
	mode := fs.FileMode(0o600) // there may be secrets in it
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	merged, err := config.Merge(env, im.into, data, servers, inputs, im.force)
	if e, ok := errors.AsType[*config.ExistsError](err); ok {
		return &failure{code: "config", why: e.Error(), hint: "--force replaces it, with the comments within; or name the servers that you want"}
	}
	if err != nil {
		return &failure{code: "config", why: err.Error()}
	}
	if string(merged) != string(data) {
		if err := os.MkdirAll(filepath.Dir(im.into), 0o700); err != nil {
			return err
		}
		if err := atomicfile.Write(im.into, merged, mode); err != nil {
			return err
		}
	}
	var ids []string
	for _, s := range servers {
		ids = append(ids, s.ID)
	}
	std.err.printf("%s has %s", im.into, strings.Join(ids, ", "))
	return nil
}
