// Package installcmd is stdwire install and stdwire uninstall, which add servers to the files of
// other applications and remove them.
package installcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/appfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/configfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// InstallCommand is stdwire install.
func InstallCommand() command.Command {
	return command.Command{
		Name:    "install",
		Usage:   "[APP [-s ID | URL | --root DIR… | -- COMMAND…] [--name NAME] [--workspace] [--print]]",
		Summary: "add a server to an application, such as an editor",
		Help: `APP is ` + strings.Join(names(), ", ") + `. Without it, the applications are listed with their
files.

The server is one of the configuration (-s), one at a URL, the command after --, or else stdwire's
own: stdwire serve with the flags that are given, of which the root is by default the working
directory.

The server is added to the user's own file of the application, or with --workspace to the file
that the application reads in the working directory. All else in the file stays as it is, with
comments and layout. The file as it was is kept beside it, with .stdwire.bak added to its name. A
file that is not valid, or that a symbolic link outside of your home directory or the working
directory leads to, is not touched.

Applications start servers in another directory, so in the user's file relative paths become
absolute: those with a ./ or ../ before them, and the names of files. Others may have the file in the
working directory: there paths stay relative, and stdwire is looked up in PATH. Variables such as
${TOKEN} are written as the application expands them, and refused if it expands none; their values
are never written. --env NAME=VALUE and --header write the value that you give.

  stdwire install cursor -- stdwire serve --servers
  stdwire install cursor https://gw.lan/mcp --header 'Authorization: Bearer ${T}'
  stdwire install claude-code --root ~/notes --write
  stdwire install vscode -s github --workspace
  stdwire install zed --name memory -- npx -y @modelcontextprotocol/server-memory
  stdwire install codex --env API_KEY -- ./my-server --data ./data`,
		Make: func() (command.Grammar, command.Runner) {
			in := &installation{source: source{variables: map[string]string{},
				naming: "give it a --name"}}
			flags := slices.Concat([]command.Flag{command.TextFlag(&in.id, "-s", "ID",
				"a server from the configuration, see stdwire config"), in.from.FileFlag()},
				[]command.Flag{
					in.urlFlag(),
					in.headerFlag(),
					{Name: "--name", Value: "NAME",
						Help: "the name in the application (default: the server's own)", Set: in.setName},
					{Name: "--env", Value: "NAME[=VALUE]", Many: true,
						Help: "a variable of the server; without VALUE, the application's own variable",
						Set:  in.setVariable},
					command.SwitchFlag(&in.workspace, "--workspace",
						"change the application's file in the working directory"),
					command.SwitchFlag(&in.print, "--print",
						"print what would change, without secrets, and change nothing"),
					command.SwitchFlag(&in.force, "--force",
						"replace a different server of that name"),
					command.FormatFlag(&in.output, "text", "json"),
				}, in.builtin.ServerFlags())
			return command.Grammar{Flags: flags, Word: in.word, Address: in.address,
				Command: func(words []string) { in.words = words }}, in.run
		},
	}
}

// An installation is the arguments of stdwire install.
type installation struct {
	place
	source
	output string
	force  bool
}

func (in *installation) word(word string) error {
	if in.application != "" {
		return command.Usagef("unexpected argument %q", word).
			WithHint("a server command follows --: -- " + word)
	}
	return command.Arguments(&in.application)(word)
}

func (in *installation) run(ctx context.Context, std *term.Streams) error {
	env, err := config.System("")
	if err != nil {
		return err
	}
	if in.application == "" {
		if in.given() || in.workspace || in.print || in.force {
			return command.Usagef("into which application?").
				WithHint("there are " + strings.Join(names(), ", "))
		}
		return list(std, env, in.output)
	}
	if in.output != "text" {
		return command.Usagef("-o is for the list of applications").WithHint(
			"leave out -o, or " + in.application)
	}
	app, path, err := in.find(env)
	if err != nil {
		return err
	}
	server, err := in.server(std, env, in.workspace)
	if err != nil {
		return err
	}
	changed, err := in.edit(ctx, std, env, path, func(data, _ []byte) (*appfile.Change, error) {
		return app.Install(env, path, data, appfile.Installation{Server: server,
			Workspace: in.workspace, Replace: in.force})
	})
	switch {
	case err != nil:
		return err
	case !changed:
		std.Err.Printf("%s already has %s as it should be", path, server.ID)
	case in.print:
	default:
		what := server.ID
		if in.isOwn() {
			words := []string{"stdwire"}
			for _, arg := range server.Args {
				words = append(words, shellwords.Quote(arg))
			}
			what += " (" + strings.Join(words, " ") + ")"
		}
		std.Err.Printf("%s: %s is added; restart %s to use it", path, what, app.Title)
		if in.isOwn() && in.builtin.FirstFlag() == "" {
			std.Err.Printf("note: it offers files; to offer the servers of your configuration: "+
				"stdwire install %s --name servers -- stdwire serve --servers", app.Name)
		}
	}
	return nil
}

// A place is where a server is added or removed.
type place struct {
	application string
	workspace   bool
	print       bool
}

// edit changes a file of an application, or prints the change.
func (p *place) edit(ctx context.Context, std *term.Streams, env *config.Environment, path string,
	change func(data, backup []byte) (*appfile.Change, error)) (changed bool, err error) {
	file := configfile.File{Env: env, Path: path, Workspace: p.workspace}
	return p.editAndShow(ctx, std, file, p.print, change)
}

// editAndShow changes a file unless p.print is set, and prints the change if show is set.
func (p *place) editAndShow(ctx context.Context, std *term.Streams, file configfile.File, show bool,
	change func(data, backup []byte) (*appfile.Change, error)) (changed bool, err error) {
	explained := func(data, backup []byte) (*appfile.Change, error) {
		c, err := change(data, backup)
		if err != nil {
			return nil, failure(err)
		}
		return c, nil
	}
	var c *appfile.Change
	if p.print {
		c, err = file.Preview(explained)
	} else {
		c, err = file.Edit(ctx, explained)
	}
	if err != nil {
		return false, err
	}
	for _, note := range c.Notes {
		std.Err.Printf("note: %s", note)
	}
	if show {
		std.Out.PrintDiff(c.Diff())
	}
	return c.Changed(), nil
}

// find returns the application and its file.
func (p *place) find(env *config.Environment) (appfile.Application, string, error) {
	app, err := application(p.application)
	if err != nil {
		return app, "", err
	}
	if !p.workspace {
		return app, app.UserFile(env), nil
	}
	path := app.WorkspaceFile(env)
	if path == "" {
		return app, "", command.Usagef("%s reads no file of a workspace", app.Title).
			WithHint("leave out --workspace, for the user's file")
	}
	return app, path, nil
}

// application returns the application of that name.
func application(name string) (appfile.Application, error) {
	all := appfile.Applications()
	i := slices.IndexFunc(all, func(a appfile.Application) bool { return a.Name == name })
	if name == "systemd" {
		return appfile.Application{}, command.Usagef("systemd is no application with MCP servers").
			WithHint("stdwire help systemd has units to copy")
	}
	if i < 0 {
		return appfile.Application{}, command.Usagef("there is no application %q", name).
			WithHint(near.Instead(name, names()))
	}
	return all[i], nil
}

// names returns the names of the applications.
func names() (all []string) {
	for _, a := range appfile.Applications() {
		all = append(all, a.Name)
	}
	return all
}

// failure returns an error of a change as a failure.
func failure(err error) error {
	if e, ok := errors.AsType[*appfile.ExistsError](err); ok {
		return &command.Failure{Code: "config", Why: e.Error(),
			Hint: "--force replaces it, with the comments within; or give it another name"}
	}
	if _, ok := errors.AsType[*command.Failure](err); ok {
		return err
	}
	return &command.Failure{Code: "config", Why: err.Error()}
}

// checkName returns an error for a name that is no id.
func checkName(name string) error {
	if err := itemname.CheckID(name); err != nil {
		if id := itemname.SuggestID(name); id != "" {
			return fmt.Errorf("%w; did you mean %s?", err, id)
		}
		return err
	}
	return nil
}
