package authcmd

import (
	"context"
	"errors"

	"github.com/stdwire/stdwire/client/auth"
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
	by, err := target.Authorizer(&a.endpoint, nil)
	if err != nil {
		return &command.Failure{Code: "config", Server: a.name(), Why: err.Error()}
	}
	err = by.Logout(ctx)
	if left, _ := store.Find(a.endpoint.URL); len(left) > 0 {
		return &command.Failure{Code: "config", Server: a.name(),
			Why: "the credentials could not be deleted: " + err.Error()}
	}
	if e, ok := errors.AsType[*auth.Error](err); ok {
		std.Err.Printf("warning: the authorization server did not revoke them: %v", e)
	}
	std.Err.Printf("logged out of %s", a.name())
	return nil
}
