package installcmd

import (
	"context"
	"errors"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/appfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// RemoveCommand is stdwire remove.
func RemoveCommand() command.Command {
	return command.Command{
		Name: "remove", Usage: "NAME [--config FILE] [--print]",
		Summary: "remove a server from your configuration",
		Help: `Removes a server from the file that defines it, which stdwire list names. The rest of the file stays
as it is, comments included, and the file as it was is kept beside it, with .stdwire.bak added to
its name. The change is printed, without secrets. A gateway that runs stops the server; see also
stdwire stop.

  stdwire remove github`,
		Make: func() (command.Grammar, command.Runner) {
			r := new(removal)
			return command.Grammar{Flags: r.place.changeFlags(),
				Word: command.Arguments(&r.id)}, r.run
		},
	}
}

// A removal is the arguments of stdwire remove.
type removal struct {
	id    string
	place ownFile
}

func (r *removal) run(ctx context.Context, std *term.Streams) error {
	if r.id == "" {
		return command.Usagef("which server?").WithHint("stdwire list lists them")
	}
	var from target.ConfigFlags
	if r.place.file != "" {
		from.Files = []string{r.place.file}
	}
	c, env, err := from.Load()
	if err != nil {
		return err
	}
	server, err := c.Server(r.id)
	if server == nil { // one with an error can be removed
		return target.ConfigFailure(err)
	}
	var source config.Source
	for _, f := range c.Files {
		if f.Path == server.File {
			source = f.Source
		}
	}
	_, err = r.place.edit(ctx, std, env, source, func(data, _ []byte) (*appfile.Change, error) {
		c, err := appfile.Parse(env, source, data).Remove(server.ID)
		if errors.Is(err, appfile.ErrNotInstalled) {
			return nil, command.Usagef("%s has no server %q any more", source.Path, server.ID)
		}
		return c, err
	})
	if err != nil || r.place.print {
		return err
	}
	std.Err.Printf("%s: %s is removed", source.Path, server.ID)
	if server.Overrides.File != "" {
		std.Err.Printf("note: %s is now the one at %v", server.ID, server.Overrides)
	}
	return nil
}
