package authcmd

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/elicit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
)

func authLoginCommand() command.Command {
	return command.Command{
		Name:    "auth login",
		Usage:   "SERVER [--scope SCOPE]… [--timeout DURATION] [--config FILE]… [--input ID=VALUE]…",
		Summary: "log in to a server in the browser",
		Help: `Opens the page of the authorization server in the browser and waits until you have agreed there.
Without a terminal or a browser it prints the URL of the page on stderr, for you to open on this
machine. If your browser is on another machine, it ends at an address that does not answer:
enter that address at the terminal. The exit code is 3 if you do not agree in time.`,
		Make: func() (command.Grammar, command.Runner) {
			l := &login{timeout: 5 * time.Minute, browse: elicit.Browse}
			flags := append([]command.Flag{
				{Name: "--scope", Value: "SCOPE", Many: true,
					Help: "ask for this too, beside what the server wants",
					Set: func(value string) error {
						l.scopes = append(l.scopes, strings.Fields(value)...)
						return nil
					}},
				command.DurationFlag(&l.timeout, "--timeout", "how long you may take"),
			}, l.flags()...)
			return command.Grammar{Flags: flags, Word: l.word}, l.run
		},
	}
}

// A login holds the options of stdwire auth login.
type login struct {
	account
	scopes  []string
	timeout time.Duration
	browse  func(url string) error
}

func (l *login) run(ctx context.Context, std *term.Streams) error {
	if err := l.find(ctx, std); err != nil {
		return err
	}
	pages := elicit.LoginPages{Std: std, Browse: l.browse}
	grant := auth.AuthorizationCode{OpenBrowser: pages.Show, Timeout: l.timeout}
	if grant.Timeout < 0 {
		grant.Timeout = 365 * 24 * time.Hour // for ever
	}
	if l.endpoint.OAuth != nil {
		grant.RedirectURL = l.endpoint.OAuth.RedirectURI
		l.scopes = append(strings.Fields(l.endpoint.OAuth.Scope), l.scopes...)
	}
	a, err := target.Authorizer(&l.endpoint, grant)
	if err != nil {
		return &command.Failure{Code: "config", Server: l.name(), Why: err.Error()}
	}
	err = a.Login(ctx, l.scopes...)
	pages.Done()
	if err != nil {
		return l.failure(ctx, err)
	}
	c, _ := a.Credentials()
	if err := storageError(c); err != nil {
		return &command.Failure{Code: "config", Server: l.name(),
			Why: "the credentials could not be stored for other commands: " +
				err.Error()}
	}
	std.Err.Printf("logged in to %s at %s%s", l.name(), printable.Line(c.Issuer), formatScopes(c))
	return nil
}

// storageError returns why credentials were not stored.
func storageError(c auth.Credentials) error {
	store, err := target.OpenCredentials()
	if err != nil {
		return err
	}
	all, err := store.Find(c.Endpoint)
	if slices.ContainsFunc(all,
		func(k auth.Credentials) bool { return k.AccessToken == c.AccessToken }) {
		return nil
	}
	return cmp.Or(err, errors.New("they are not in "+store.Dir))
}

// failure returns the failure of a login.
func (l *login) failure(ctx context.Context, err error) error {
	f := &command.Failure{Code: "auth_required", Server: l.name(), Why: err.Error()}
	e, ok := errors.AsType[*auth.Error](err)
	switch {
	case ctx.Err() != nil:
		return err
	case ok && e.Step == auth.StepRegistration && l.endpoint.OAuth == nil:
		f.Hint = `if it knows stdwire by a client id, that belongs into the configuration: "oauth": {"clientId": …}`
	case ok && e.Step == auth.StepResource && e.Status == 0:
		f.Code = "unreachable"
	}
	return f
}

// formatScopes describes the scopes of credentials, if the authorization server named them.
func formatScopes(c auth.Credentials) string {
	granted := c.Granted
	if granted == "" {
		granted = strings.Join(c.Scopes, " ")
	}
	if granted == "" {
		return ""
	}
	return ", for " + printable.Line(granted)
}
