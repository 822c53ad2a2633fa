package main

import "context"

func authLogoutCommand() command {
	return command{
		name: "auth logout", usage: "SERVER [--config FILE]… [--input ID=VALUE]…",
		summary: "forget the credentials for a server",
		help:    "The registration with its authorization server is forgotten with them. The authorization server is not told: what it has granted is taken back there.",
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
	all, err := store.Find(a.url)
	if err != nil {
		std.err.printf("warning: %v", err)
	}
	for _, c := range all {
		if err := store.Delete(c.Key); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		std.err.printf("there are no credentials for %s", a.name())
		return nil
	}
	std.err.printf("logged out of %s", a.name())
	return nil
}
