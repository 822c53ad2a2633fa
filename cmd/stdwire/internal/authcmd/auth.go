// Package authcmd is stdwire auth: logging in to servers at a URL, logging out, the state of stored
// credentials, the logins of the users of stdwire serve, and the tokens of those who may use it.
package authcmd

import (
	"context"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// AuthCommand is stdwire auth.
func AuthCommand() command.Command {
	all := authCommands()
	return command.Command{
		Name: "auth", Usage: "login|status|logout|users|revoke|token [ARGUMENT]… [FLAG]… [-h]",
		Summary: "log in to servers with a URL, and tokens for one",
		Help: `A server may require authorization and name an authorization server (OAuth). Log in there once:
all commands and stdwire serve use the stored credentials and renew them. No other command opens
a browser; without credentials they end with exit code 3 and a hint.

SERVER is the id of a configured server, or a URL. Credentials are in
~/.local/state/stdwire/credentials, on Windows %LOCALAPPDATA%\stdwire\credentials, or
stdwire/credentials in $XDG_STATE_HOME, in files that only you can read.

` +
			all.List(),
		Subcommands: all,
		Make:        all.Make,
	}
}

// authCommands are the words that may follow "auth".
func authCommands() command.Subcommands {
	return command.Subcommands{authLoginCommand(), authStatusCommand(), authLogoutCommand(),
		authUsersCommand(), authRevokeCommand(), authTokenCommand()}
}

// An account is a server at a URL and the user's credentials for it.
type account struct {
	selected target.ConfiguredServer
	endpoint config.Endpoint // its URL as given, or all of it from the configuration
}

func (a *account) flags() []command.Flag { return a.selected.ConfigFlags.Flags() }

// word parses the server: an id or a URL.
func (a *account) word(word string) error {
	if a.given() || word == "" {
		return command.Usagef("unexpected argument %q", word)
	}
	if strings.Contains(word, "://") {
		r := new(target.Remote)
		err := r.SetURL(word)
		a.endpoint.URL = r.URL
		return err
	}
	a.selected.ID = word
	return nil
}

func (a *account) given() bool { return a.endpoint.URL != "" || a.selected.ID != "" }

// name returns the name of the server in messages.
func (a *account) name() string {
	if a.selected.ID != "" {
		return a.selected.ID
	}
	return (&target.Remote{URL: a.endpoint.URL}).Host()
}

// find finds the server in the configuration.
func (a *account) find(ctx context.Context, std *term.Streams) error {
	if !a.given() {
		return command.Usagef("which server?").WithHint("its id in the configuration, or its URL")
	}
	if extra := a.selected.ConfigFlags.Given(); a.endpoint.URL != "" && extra != "" {
		return command.Usagef("%s is for a server of the configuration", extra)
	}
	if a.endpoint.URL != "" {
		return nil
	}
	if err := a.selected.Resolve(ctx, std); err != nil {
		return err
	}
	e := a.selected.Endpoint
	why := target.NoLoginReason(e)
	if why != "" {
		return &command.Failure{Code: "config", Server: a.name(), Why: why}
	}
	a.endpoint = *e
	return nil
}
