package authcmd

import (
	"cmp"
	"context"
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
		Help: `Opens the page of the authorization server in the browser and waits until you have granted access.
Without a terminal or a browser it prints the URL of the page on stderr; open it on this machine.
If your browser is on another machine, it is redirected to an address that does not answer: enter
that address at the terminal. The exit code is 3 if you do not grant access in time.`,
		Make: func() (command.Grammar, command.Runner) {
			l := &login{timeout: 5 * time.Minute, browse: elicit.Browse}
			flags := append([]command.Flag{
				{Name: "--scope", Value: "SCOPE", Many: true,
					Help: "request this scope in addition to those that the server requires",
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
		grant.Timeout = 365 * 24 * time.Hour // no limit
	}
	c, err := target.Login(ctx, l.name(), &l.endpoint, grant, l.scopes...)
	pages.Done()
	if err != nil {
		return err
	}
	std.Err.Printf("logged in to %s at %s%s", l.name(), printable.Line(c.Issuer), formatScopes(c))
	return nil
}

// formatScopes describes the scopes of credentials, if the authorization server named them.
func formatScopes(c auth.Credentials) string {
	granted := cmp.Or(c.Granted, strings.Join(c.Scopes, " "))
	if granted == "" {
		return ""
	}
	return ", for " + printable.Line(granted)
}
