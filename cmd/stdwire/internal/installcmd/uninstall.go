package installcmd

import (
	"context"
	"errors"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/appfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/configfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/near"
)

// UninstallCommand is stdwire uninstall.
func UninstallCommand() command.Command {
	return command.Command{
		Name: "uninstall", Usage: "APP NAME [--workspace] [--print]",
		Summary: "remove a server from an application",
		Help: `Removes a server from the user's own file of an application, or with --workspace from the file in
the working directory. The rest of the file stays unchanged, comments included. A copy of the
previous file is kept beside it, with .stdwire.bak added to the name. stdwire install lists the
applications.

  stdwire uninstall cursor github`,
		Make: func() (command.Grammar, command.Runner) {
			un := new(uninstallation)
			flags := []command.Flag{
				command.SwitchFlag(&un.workspace, "--workspace",
					"change the application's file in the working directory"),
				command.SwitchFlag(&un.print, "--print",
					"print what would change, without secrets, and change nothing"),
			}
			return command.Grammar{Flags: flags,
				Word: command.Arguments(&un.application, &un.name)}, un.run
		},
	}
}

// An uninstallation is the arguments of stdwire uninstall.
type uninstallation struct {
	place
	name string
}

func (un *uninstallation) run(ctx context.Context, std *term.Streams) error {
	env, err := config.System("")
	if err != nil {
		return err
	}
	if un.application == "" {
		return command.Usagef("from which application?").WithHint("stdwire install lists them")
	}
	app, path, err := un.find(env)
	if err != nil {
		return err
	}
	if un.name == "" {
		return command.Usagef("which server?").WithHint(near.Instead("", installed(env, path)))
	}
	_, err = un.edit(ctx, std, env, path, func(data, backup []byte) (*appfile.Change, error) {
		c, err := app.Uninstall(path, data, backup, un.name)
		if errors.Is(err, appfile.ErrNotInstalled) {
			return nil, command.Usagef("%s has no server %q", path, un.name).
				WithHint(near.Instead(un.name, installed(env, path)))
		}
		return c, err
	})
	if err == nil && !un.print {
		std.Err.Printf("%s: %s is removed", path, un.name)
	}
	return err
}

// installed returns the names of the servers of a file, as they are written there.
func installed(env *config.Environment, path string) []string {
	servers, _ := configfile.Servers(env, path) // without an error, for a list of names
	return target.IDs(servers)
}
