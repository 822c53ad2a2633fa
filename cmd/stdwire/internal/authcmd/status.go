package authcmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

func authStatusCommand() command.Command {
	return command.Command{
		Name: "auth status", Usage: "[SERVER] [-o text|json] [--config FILE]… [--input ID=VALUE]…",
		Summary: "list the servers with stored credentials",
		Help: `Prints each server as valid; renewable, if its token has expired and can be renewed without you;
or expired. With a SERVER the exit code is 3 if you have to log in. The authorization server is
not asked, so a revoked token may be shown as valid. Tokens are not printed.`,
		Make: func() (command.Grammar, command.Runner) {
			var a account
			var output string
			flags := append([]command.Flag{command.FormatFlag(&output, "text", "json")},
				a.flags()...)
			return command.Grammar{Flags: flags, Word: a.word},
				func(ctx context.Context, std *term.Streams) error {
					return a.status(ctx, std, output)
				}
		},
	}
}

func (a *account) status(ctx context.Context, std *term.Streams, output string) error {
	if a.given() {
		if err := a.find(ctx, std); err != nil {
			return err
		}
	}
	if given := a.selected.ConfigFlags.Given(); !a.given() && given != "" {
		return command.Usagef("%s is for a server of the configuration", given).WithHint(
			"name one, or leave out " + given)
	}
	store, err := target.OpenCredentials()
	if err != nil {
		return err
	}
	all, err := store.All()
	if err != nil {
		std.Err.Printf("warning: %v", err)
	}
	holdings := []target.CredentialStatus{}
	usable := false
	for _, c := range all {
		if a.given() && c.Endpoint != a.endpoint.URL {
			continue
		}
		h := target.NewCredentialStatus(c, time.Now())
		usable = usable || h.State != "expired"
		holdings = append(holdings, h)
	}
	slices.SortFunc(holdings, func(a, b target.CredentialStatus) int {
		return strings.Compare(a.Server+" "+a.Issuer, b.Server+" "+b.Issuer)
	})
	if err := printStatus(std, holdings, output); err != nil {
		return err
	}
	if !a.given() && len(holdings) == 0 {
		std.Err.Printf("there are no credentials for any server")
	}
	if a.given() && !usable {
		return &command.Failure{Code: "auth_required", Server: a.name(),
			Why: "there are no valid credentials for it", Hint: "log in: " +
				target.LoginCommand(a.selected.ID, a.endpoint.URL)}
	}
	return nil
}

func printStatus(std *term.Streams, all []target.CredentialStatus, output string) error {
	if output == "json" {
		return std.Out.PrintValue(all)
	}
	var rows [][]string
	for _, h := range all {
		until := ""
		if !h.Expires.IsZero() {
			until = h.Expires.Local().Format("2006-01-02 15:04")
		}
		rows = append(rows,
			[]string{h.State, h.Server, h.Issuer, until, strings.Join(h.Scopes, " ")})
	}
	std.Out.PrintTable(rows, 0)
	return nil
}
