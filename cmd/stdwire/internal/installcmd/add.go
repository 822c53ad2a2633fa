package installcmd

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/appfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/configfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// AddCommand is stdwire add.
func AddCommand() command.Command {
	return command.Command{
		Name:    "add",
		Usage:   "[NAME] URL | [NAME] -- COMMAND… | --from APP [NAME]… [--workspace] [--print]",
		Summary: "add a server to your configuration",
		Help: `The server is one at a URL, or the command after --. Without NAME it gets the name of its package or
host. It is added to your own file, ~/.config/stdwire/mcp.json or the one in STDWIRE_CONFIG, to the
one of --config, or with --workspace to that of the working directory. The rest of the file stays
as it is, with comments and layout, and the file as it was is kept beside it, with .stdwire.bak
added to its name. The change is printed, without secrets; --print changes nothing. The server is
not started.

--from adds the servers of an application that are not configured yet, or those that are named. APP
is one that stdwire install lists. Servers of the working directory need your trust: stdwire trust.

In your own file relative paths become absolute, as in stdwire install. Variables such as ${TOKEN}
are written as they are, and expanded when the server is started. --env NAME takes a variable from
the environment of stdwire; --env NAME=VALUE and --header write the value that you give.

  stdwire add memory -- npx -y @modelcontextprotocol/server-memory
  stdwire add github --env GITHUB_TOKEN -- github-mcp-server stdio
  stdwire add docs https://example.com/mcp --header 'X-Key: ${DOCS_KEY}'
  stdwire add --from cursor`,
		Make: func() (command.Grammar, command.Runner) {
			a := &addition{source: source{variables: map[string]string{},
				naming: "give it a name: stdwire add NAME URL, or NAME -- COMMAND…"}}
			flags := []command.Flag{
				{Name: "--from", Value: "APP", Help: "add servers of this application", Set: a.setFrom},
				{Name: "--env", Value: "NAME[=VALUE]", Many: true,
					Help: "a variable of the server; without VALUE, that of stdwire's environment",
					Set:  a.setVariable},
				a.headerFlag(),
			}
			return command.Grammar{Flags: append(flags, a.place.flags()...), Word: a.word,
				Address: a.address, Command: func(words []string) { a.words = words }}, a.run
		},
	}
}

// An addition is the arguments of stdwire add.
type addition struct {
	source
	place ownFile
	from  *appfile.Application // nil if not given
	names []string             // arguments that are no URL
}

func (a *addition) setFrom(name string) error {
	app, err := application(name)
	a.from = &app
	return err
}

func (a *addition) word(word string) error {
	if word == "" {
		return command.Usagef("an argument is empty")
	}
	a.names = append(a.names, word)
	return nil
}

// check returns an error if arguments contradict each other.
func (a *addition) check() error {
	switch {
	case a.from != nil && a.url != "":
		return command.Usagef("--from and a URL exclude each other")
	case a.from != nil && a.words != nil:
		return command.Usagef("--from and a command after -- exclude each other")
	case a.from != nil && len(a.variables) > 0:
		return command.Usagef("--env and --from exclude each other")
	case a.from != nil && len(a.headers) > 0:
		return command.Usagef("--header and --from exclude each other")
	case a.from != nil:
		return nil
	case a.url != "" && a.words != nil:
		return command.Usagef("a URL and a command after -- exclude each other")
	case a.url == "" && a.words == nil && len(a.names) > 1:
		return command.Usagef("unexpected argument %q", a.names[1]).WithHint(
			"a server command follows --: stdwire add " + a.names[0] + " -- " +
				shellwords.Quote(a.names[1]) + "…")
	case a.url == "" && a.words == nil:
		return command.Usagef("which server?").WithHint(
			"give its URL, or its command: stdwire add NAME -- COMMAND…")
	case len(a.names) > 1:
		return command.Usagef("unexpected argument %q", a.names[1])
	case len(a.names) == 1:
		if err := a.setName(a.names[0]); err != nil {
			return command.Usagef("%v", err)
		}
	}
	return a.source.check()
}

func (a *addition) run(ctx context.Context, std *term.Streams) error {
	if err := a.check(); err != nil {
		return err
	}
	env, err := config.System("")
	if err != nil {
		return err
	}
	c, source, err := a.place.find(env)
	if err != nil {
		return err
	}
	var ids []string
	var change func(data, _ []byte) (*appfile.Change, error)
	if a.from != nil {
		servers, inputs, err := a.ofApplication(std, env, c)
		if err != nil || servers == nil {
			return err
		}
		ids = target.IDs(servers)
		change = func(data, _ []byte) (*appfile.Change, error) {
			return appfile.Merge(env, source.Path, data, servers, inputs, a.place.force)
		}
	} else {
		server, err := a.server(std, env, a.place.workspace)
		if err != nil {
			return err
		}
		ids = []string{server.ID}
		change = func(data, _ []byte) (*appfile.Change, error) {
			return appfile.Parse(env, source, data).Add(server, a.place.workspace, a.place.force)
		}
	}
	changed, err := a.place.edit(ctx, std, env, source, change)
	names := strings.Join(ids, ", ")
	switch {
	case err != nil:
		return err
	case !changed:
		std.Err.Printf("%s already has %s as it should be", source.Path, names)
	case a.place.print:
	default:
		next := "stdwire ls -s " + ids[0]
		switch {
		case source.Project:
			next = "stdwire trust " + strings.Join(ids, " ")
		case a.place.file != "":
			next += " --config " + shellwords.Quote(a.place.file)
		}
		std.Err.Printf("%s has %s; next: %s", source.Path, names, next)
	}
	for _, s := range c.Servers {
		if s.Project && !source.Project && slices.Contains(ids, s.ID) {
			std.Err.Printf("note: in this directory another %s is used, the one at %v", s.ID,
				s.Position)
		}
	}
	return nil
}

// ofApplication returns the servers of the application that are named, or else those that are not
// configured yet; nil if there are none. It says which it leaves out.
func (a *addition) ofApplication(std *term.Streams, env *config.Environment,
	c *config.Config) (servers []*config.Server, inputs []config.Input, err error) {
	path := a.from.UserFile(env)
	data, err := env.ReadFile(path)
	if err != nil {
		return nil, nil, &command.Failure{Code: "config", Why: err.Error(),
			Hint: "stdwire install lists the files of the applications"}
	}
	f := config.Parse(env, config.Source{Path: path, Workspace: env.Dir, Rename: true}, data)
	if err := f.Err(); err != nil {
		return nil, nil, &command.Failure{Code: "config", Why: err.Error()}
	}
	all := &config.Config{Servers: f.Servers}
	for _, name := range a.names {
		s, err := all.Server(name)
		if err != nil {
			return nil, nil, target.ConfigFailure(err)
		}
		if !slices.Contains(servers, s) {
			servers = append(servers, s)
		}
	}
	if a.names != nil {
		return servers, f.Inputs, nil
	}
	for _, s := range f.Servers {
		configured := slices.ContainsFunc(c.Servers,
			func(other *config.Server) bool { return other.ID == s.ID })
		switch {
		case s.Err != nil:
			std.Err.Printf("warning: %v; it is left out", s.Err)
		case configured:
			std.Err.Printf("note: %s is configured already", s.ID)
		default:
			servers = append(servers, s)
		}
	}
	if servers == nil {
		std.Err.Printf("%s has no other servers", path)
	}
	return servers, f.Inputs, nil
}

// An ownFile is the configuration file of stdwire that a command changes.
type ownFile struct {
	file      string // of --config
	workspace bool
	print     bool
	force     bool
}

// flags returns the flags of stdwire add for the file.
func (o *ownFile) flags() []command.Flag {
	return append(o.changeFlags(),
		command.SwitchFlag(&o.workspace, "--workspace",
			"change the configuration file of the working directory"),
		command.SwitchFlag(&o.force, "--force", "replace a different server of that name"))
}

// changeFlags returns the flags of all commands that change the file.
func (o *ownFile) changeFlags() []command.Flag {
	return []command.Flag{
		command.FileFlag(&o.file, "--config", "the configuration file to change"),
		command.SwitchFlag(&o.print, "--print",
			"print what would change, without secrets, and change nothing"),
	}
}

// find returns the file to which servers are added, and the configuration that is read with it.
func (o *ownFile) find(env *config.Environment) (c *config.Config, at config.Source, err error) {
	switch {
	case o.file != "" && o.workspace:
		return nil, at, command.Usagef("--config and --workspace exclude each other")
	case o.file != "":
		c = config.Load(env, o.file)
	default:
		c = config.Load(env)
	}
	var found *config.FileStatus
	for i, f := range c.Files {
		used := f.State == config.StateUsed || f.State == config.StateBroken
		if f.Project == o.workspace && (found == nil || used) {
			found = &c.Files[i]
		}
	}
	switch {
	case found == nil:
		return nil, at, command.Usagef("STDWIRE_CONFIG names the only file that is read").
			WithHint("leave out --workspace, for that file")
	case !filepath.IsAbs(found.Path): // it would be written, but never read
		return nil, at, target.ConfigFailure(found.Err)
	}
	return c, found.Source, nil
}

// edit changes a file and prints the change.
func (o *ownFile) edit(ctx context.Context, std *term.Streams, env *config.Environment,
	source config.Source, change func(data, backup []byte) (*appfile.Change, error)) (bool, error) {
	p := place{workspace: source.Project, print: o.print}
	return p.editAndShow(ctx, std, configfile.File{Env: env, Path: source.Path,
		Workspace: source.Project}, true, change)
}
