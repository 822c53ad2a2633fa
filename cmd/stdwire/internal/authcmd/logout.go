package authcmd

import (
	"context"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

func authLogoutCommand() command.Command {
	return command.Command{
		Name: "auth logout", Usage: "SERVER [--config FILE]… [--input ID=VALUE]…",
		Summary: "delete and revoke credentials",
		Help: `Deletes the credentials and the client registration, and revokes them at the authorization
server if it supports that. If the revocation fails there is a warning, and the credentials are
deleted nevertheless.`,
		Make: func() (command.Grammar, command.Runner) {
			var a account
			return command.Grammar{Flags: a.flags(), Word: a.word}, a.logout
		},
	}
}

func (a *account) logout(ctx context.Context, std *term.Streams) error {
	if err := a.find(ctx, std); err != nil {
		return err
	}
	store, err := target.OpenCredentials()
	if err != nil {
		return err
	}
	there, err := store.Find(a.endpoint.URL)
	if err != nil {
		std.Err.Printf("warning: %v", err)
	}
	if len(there) == 0 {
		std.Err.Printf("there are no credentials for %s", a.name())
		return nil
	}
	unrevoked, err := target.Logout(ctx, a.name(), &a.endpoint)
	if err != nil {
		return err
	}
	if unrevoked != nil {
		std.Err.Printf("warning: the authorization server did not revoke them: %v", unrevoked)
	}
	std.Err.Printf("logged out of %s", a.name())
	return nil
}
