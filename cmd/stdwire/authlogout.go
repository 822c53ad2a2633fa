package main

import (
	"context"
	"errors"

	"github.com/stdwire/stdwire/client/auth"
)

func authLogoutCommand() command {
	return command{
		name: "auth logout", usage: "SERVER [--config FILE]… [--input ID=VALUE]…",
		summary: "forget credentials, and have them taken back",
		help: "The registration with its authorization server is forgotten with them. That is told to take back what it has granted, if it can be; where that fails there is a warning, and the credentials are " +
			"forgotten nevertheless.",
		make: func() (grammar, runner) {
			var a account
			return grammar{flags: a.flags(), word: a.word}, a.logout
		},
	}
}

func (a *account) logout(ctx context.Context, std *streams) error {
	if err := a.find(ctx, std); err != nil {
		return err
	}
	store, err := openCredentials()
	if err != nil {
		return err
	}
	there, err := store.Find(a.url)
	if err != nil {
		std.err.printf("warning: %v", err)
	}
	if len(there) == 0 {
		std.err.printf("there are no credentials for %s", a.name())
		return nil
	}
	by, err := authorizer(a.url, a.oauth, nil)
	if err != nil {
		return &failure{code: "config", server: a.name(), why: err.Error()}
	}
	err = by.Logout(ctx)
	if left, _ := store.Find(a.url); len(left) > 0 {
		return &failure{code: "config", server: a.name(), why: "the credentials could not be deleted: " + err.Error()}
	}
	if e, ok := errors.AsType[*auth.Error](err); ok {
		std.err.printf("warning: the authorization server has not taken them back: %v", e)
	}
	std.err.printf("logged out of %s", a.name())
	return nil
}
