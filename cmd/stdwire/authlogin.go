package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/internal/printable"
)

func authLoginCommand() command {
	return command{
		name: "auth login", usage: "SERVER [--scope SCOPE]… [--timeout DURATION] [--config FILE]… [--input ID=VALUE]…",
		summary: "agree in the browser to what a server wants to know",
		help: "Opens the page of the server's authorization server in the browser, and waits until you have agreed there. Where there is no terminal, or no browser, the page's URL is printed on stderr, for " +
			"you to open on this machine. If the browser is on another, it ends at an address that does not answer there: at a terminal, give that address to stdwire. Whoever does not agree in time gets exit code 3.",
		make: func() (grammar, runner) {
			l := &login{patience: 5 * time.Minute, browse: browse}
			flags := append([]flag{
				{name: "--scope", value: "SCOPE", many: true, help: "ask for this too, beside what the server wants", set: func(value string) error {
					l.scopes = append(l.scopes, strings.Fields(value)...)
					return nil
				}},
				duration(&l.patience, "--timeout", "how long you may take"),
			}, l.flags()...)
			return grammar{flags: flags, word: l.word}, l.run
		},
	}
}

// A login is what the command line says of one.
type login struct {
	account
	scopes   []string
	patience time.Duration
	browse   func(url string) error
}

func (l *login) run(ctx context.Context, std *streams) error {
	if err := l.find(ctx, std); err != nil {
		return err
	}
	pages := pages{std: std, browse: l.browse}
	grant := auth.AuthorizationCode{OpenBrowser: pages.show, Timeout: l.patience}
	if grant.Timeout < 0 {
		grant.Timeout = 365 * 24 * time.Hour // for ever
	}
	if l.oauth != nil {
		grant.RedirectURL = l.oauth.RedirectURI
		l.scopes = append(strings.Fields(l.oauth.Scope), l.scopes...)
	}
	a, err := authorizer(l.url, l.oauth, grant)
	if err != nil {
		return &failure{code: "config", server: l.name(), why: err.Error()}
	}
	err = a.Login(ctx, l.scopes...)
	pages.done()
	if err != nil {
		return l.failed(ctx, err)
	}
	c, _ := a.Credentials()
	if err := kept(c); err != nil {
		return &failure{code: "config", server: l.name(), why: "the credentials could not be kept, so that no other command has them: " + err.Error()}
	}
	std.err.printf("logged in to %s at %s%s", l.name(), printable.Line(c.Issuer), scopesShown(c))
	return nil
}

// kept says why credentials are not where other commands look for them.
func kept(c auth.Credentials) error {
	store, err := openCredentials()
	if err != nil {
		return err
	}
	all, err := store.Find(c.Endpoint)
	if slices.ContainsFunc(all, func(k auth.Credentials) bool { return k.AccessToken == c.AccessToken }) {
		return nil
	}
	return cmp.Or(err, errors.New("they are not in "+store.Dir))
}

// failed says why there was no login.
func (l *login) failed(ctx context.Context, err error) error {
	f := &failure{code: "auth_required", server: l.name(), why: err.Error()}
	e, ok := errors.AsType[*auth.Error](err)
	switch {
	case ctx.Err() != nil:
		return err
	case ok && e.Step == auth.StepRegistration && l.oauth == nil:
		f.hint = `if it knows stdwire by a client id, that belongs into the configuration: "oauth": {"clientId": …}`
	case ok && e.Step == auth.StepResource && e.Status == 0:
		f.code = "unreachable"
	}
	return f
}

// scopesShown says what credentials are good for, as far as the authorization server has said.
func scopesShown(c auth.Credentials) string {
	granted := c.Granted
	if granted == "" {
		granted = strings.Join(c.Scopes, " ")
	}
	if granted == "" {
		return ""
	}
	return ", for " + printable.Line(granted)
}
