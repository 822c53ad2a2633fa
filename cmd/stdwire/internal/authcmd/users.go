package authcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	userlogin "github.com/stdwire/stdwire/cmd/stdwire/internal/login"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/near"
)

func authUsersCommand() command.Command {
	return command.Command{
		Name: "auth users", Usage: "[-o text|json] [--credentials-file FILE]",
		Summary: "list the logins of the users of stdwire serve",
		Help: `Prints for each login of a user at a server whether it is valid; renewable, if its token has
expired and can be renewed without him; or expired, then the user, his client, the server, when it
is forgotten unless it is renewed, and its scopes. Tokens are not printed, and the key is not
needed. The authorization servers are not asked. stdwire help credentials explains it.`,
		Make: func() (command.Grammar, command.Runner) {
			u := new(users)
			return command.Grammar{Flags: []command.Flag{
				command.FormatFlag(&u.output, "text", "json"), u.FileFlag()}}, u.list
		},
	}
}

// users are the flags and arguments of the commands for the logins of users.
type users struct {
	userlogin.Flags
	output       string
	user, server string
	config       target.ConfiguredServer
}

// A listedLogin is what stdwire auth users prints of a login.
type listedLogin struct {
	State string `json:"state"` // valid, renewable, expired
	userlogin.Login
}

func stateOf(l *userlogin.Login, now time.Time) string {
	switch {
	case !l.IsValid(now):
		return "expired"
	case !l.Expires.IsZero() && !now.Before(l.Expires):
		return "renewable"
	}
	return "valid"
}

func (u *users) list(_ context.Context, std *term.Streams) error {
	store, err := u.Open(target.StateFile)
	if err != nil {
		return err
	}
	logins, err := store.All()
	if err != nil {
		return err
	}
	all := []listedLogin{}
	for _, l := range logins {
		all = append(all, listedLogin{stateOf(&l, time.Now()), l})
	}
	if u.output == "json" {
		return std.Out.PrintValue(all)
	}
	var rows [][]string
	for _, l := range all {
		rows = append(rows, []string{l.State, l.User, l.Client, l.Server,
			l.Until.Local().Format("2006-01-02 15:04"), strings.Join(l.Scopes, " ")})
	}
	std.Out.PrintTable(rows, 0)
	if len(all) == 0 {
		std.Err.Printf("no user has logged in to a server")
	}
	return nil
}

func authRevokeCommand() command.Command {
	return command.Command{
		Name: "auth revoke",
		Usage: "USER [SERVER] [--credentials-key-env NAME] [--credentials-file FILE] " +
			"[--config FILE]… [--input ID=VALUE]…",
		Summary: "revoke logins of a user of stdwire serve",
		Help: `Deletes the logins of a user, as stdwire auth users prints him, at a server or at all, and revokes
them at their authorization servers if these support that. A running stdwire serve ends the user's
connections to the servers within a second, and asks him to log in again when he calls one.

Without the key of the file the logins are only deleted, which a warning says. A client with a
secret revokes with that of the configuration.

  stdwire auth revoke https://login.example.com#ada orders --credentials-key-env KEY`,
		Make: func() (command.Grammar, command.Runner) {
			u := new(users)
			return command.Grammar{
				Flags: append(u.Flags.Flags(), u.config.ConfigFlags.Flags()...),
				Check: func(command.Given) error { return u.Check() },
				Word:  command.Arguments(&u.user, &u.server)}, u.revoke
		},
	}
}

func (u *users) revoke(ctx context.Context, std *term.Streams) error {
	if u.user == "" {
		return command.Usagef("which user?").WithHint("stdwire auth users prints them")
	}
	store, err := u.Open(target.StateFile)
	if err != nil {
		return err
	}
	all, err := store.All()
	if err != nil {
		return err
	}
	var names, servers []string
	var found []userlogin.Login
	for _, l := range all {
		names = append(names, l.User)
		if l.User == u.user {
			if servers = append(servers, l.Server); u.server == "" || u.server == l.Server {
				found = append(found, l)
			}
		}
	}
	if found == nil {
		why, hint := fmt.Sprintf("%q has no login", u.user), near.DidYouMean(u.user, names)
		if servers != nil {
			why = fmt.Sprintf("%q has no login at %q", u.user, u.server)
			hint = near.Instead(u.server, servers)
		}
		return &command.Failure{Code: "config", Why: why, Hint: hint}
	}
	for _, l := range found {
		unrevoked, err := store.Revoke(ctx, l.Key(), func() auth.Options {
			return u.options(ctx, std, l.Server)
		})
		if err != nil {
			return &command.Failure{Code: "config", Server: l.Server, Why: err.Error()}
		}
		if unrevoked != nil {
			std.Err.Printf("warning: %s: the authorization server was not asked to revoke it, or did not: %v",
				l.Server, unrevoked)
		}
		std.Err.Printf("revoked the login of %s at %s", l.User, l.Server)
	}
	return nil
}

// options returns the options of the client of a server, as far as the configuration has it.
func (u *users) options(ctx context.Context, std *term.Streams, id string) auth.Options {
	s := target.ConfiguredServer{ConfigFlags: u.config.ConfigFlags, ID: id}
	if !s.Has(id) || s.Resolve(ctx, std) != nil {
		return auth.Options{Name: "stdwire"}
	}
	e, secure, err := target.UserEndpoint(s.Endpoint)
	if err != nil {
		return auth.Options{Name: "stdwire"}
	}
	return userlogin.Options(e, secure)
}
