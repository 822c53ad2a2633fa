package authcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	userlogin "github.com/stdwire/stdwire/cmd/stdwire/internal/login"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/sharedstore"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/transport"
	"github.com/stdwire/stdwire/internal/near"
)

func authUsersCommand() command.Command {
	return command.Command{
		Name: "auth users", Usage: "[-o text|json] [--credentials-file FILE|--store URL]",
		Summary: "list the logins of the users of stdwire serve",
		Help: `Prints for each login of a user at a server whether it is valid; renewable, if its token has
expired and can be renewed without him; or expired, then the user, his client, the server, when it
is forgotten unless it is renewed, and its scopes. Tokens are not printed, and the key of a file is
not needed. The authorization servers are not asked. stdwire help credentials explains it.

The flags of stdwire serve for a store list the logins in the store that gateways share.`,
		Make: func() (command.Grammar, command.Runner) {
			u := new(users)
			flags := []command.Flag{command.FormatFlag(&u.output, "text", "json"), u.FileFlag()}
			return command.Grammar{Flags: append(flags, u.storeFlags()...),
				Check: func(command.Given) error { return u.checkStore() }}, u.list
		},
	}
}

// users are the flags and arguments of the commands for the logins of users.
type users struct {
	userlogin.Flags
	store        sharedstore.Flags
	state        transport.HTTPFlags // only the state key
	output       string
	user, server string
	config       target.ConfiguredServer
}

func (u *users) storeFlags() []command.Flag {
	return append(u.store.Flags(), u.state.StateKeyFlags()...)
}

func (u *users) checkStore() error {
	if key := u.state.StateKeyFlag(); key != "" && !u.store.IsGiven() {
		return command.Usagef("%s is for a store", key).WithHint("add --store URL")
	}
	return cmp.Or(u.store.Check(u.state.StateKey), u.store.CheckLogins(&u.Flags))
}

// open opens the logins. The caller calls close.
func (u *users) open() (logins *userlogin.Store, close func(), err error) {
	shared, err := u.store.Open(u.state.StateKey, slog.New(slog.DiscardHandler))
	switch {
	case err != nil:
		return nil, nil, err
	case shared == nil:
		logins, err = u.Open(target.StateFile)
		return logins, func() {}, err
	}
	logins, err = userlogin.NewShared(shared, u.state.StateKey)
	return logins, shared.Close, err
}

// A listedLogin is what stdwire auth users prints of a login.
type listedLogin struct {
	State string `json:"state"` // valid, renewable, expired
	userlogin.Login
}

func (u *users) list(ctx context.Context, std *term.Streams) error {
	store, closeStore, err := u.open()
	if err != nil {
		return err
	}
	defer closeStore()
	logins, err := listAll(ctx, std, store)
	if err != nil {
		return err
	}
	all := []listedLogin{}
	for _, l := range logins {
		all = append(all, listedLogin{l.State(time.Now()), l})
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

func listAll(ctx context.Context, std *term.Streams, store *userlogin.Store) ([]userlogin.Login,
	error) {
	all, err := store.All(ctx)
	switch {
	case errors.Is(err, userlogin.ErrUnreadable):
		std.Err.Printf("warning: %v", err)
		err = nil
	case err != nil:
		err = &command.Failure{Code: "config", What: "the logins of users", Why: err.Error()}
	}
	return all, err
}

func authRevokeCommand() command.Command {
	return command.Command{
		Name: "auth revoke",
		Usage: "USER [SERVER] [--credentials-key-env NAME] [--credentials-file FILE] " +
			"[--store URL] [--config FILE]… [--input ID=VALUE]…",
		Summary: "revoke logins of a user of stdwire serve",
		Help: `Deletes the logins of a user, as stdwire auth users prints him, at a server or at all, and revokes
them at their authorization servers if these support that. A running stdwire serve ends the user's
connections to the servers within a second, and asks him to log in again when he calls one.

Without the key of the file the logins are only deleted, which a warning says. A client with a
secret revokes with that of the configuration. With the flags of stdwire serve for a store, they are
those in the store, of all gateways that share it.

  stdwire auth revoke https://login.example.com#ada orders --credentials-key-env KEY`,
		Make: func() (command.Grammar, command.Runner) {
			u := new(users)
			return command.Grammar{
				Flags: slices.Concat(u.Flags.Flags(), u.storeFlags(),
					u.config.ConfigFlags.Flags()),
				Check: func(command.Given) error { return cmp.Or(u.Check(), u.checkStore()) },
				Word:  command.Arguments(&u.user, &u.server)}, u.revoke
		},
	}
}

func (u *users) revoke(ctx context.Context, std *term.Streams) error {
	if u.user == "" {
		return command.Usagef("which user?").WithHint("stdwire auth users prints them")
	}
	store, closeStore, err := u.open()
	if err != nil {
		return err
	}
	defer closeStore()
	all, err := listAll(ctx, std, store)
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
