package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/auth"
)

func authStatusCommand() command {
	return command{
		name: "auth status", usage: "[SERVER] [-o text|json] [--config FILE]… [--input ID=VALUE]…",
		summary: "tell which servers there are credentials for",
		help: "Of each server: valid; renewable, if it has expired and can be renewed without you; or expired. With a SERVER, the exit code is 3 if you would have to log in. Nobody is asked, so what was taken " +
			"back meanwhile is not known. Tokens are not shown.",
		make: func() (grammar, runner) {
			var a account
			var output string
			flags := append([]flag{format(&output, "text", "json")}, a.flags()...)
			return grammar{flags: flags, word: a.word}, func(ctx context.Context, std *streams) error { return a.status(ctx, std, output) }
		},
	}
}

// A holding is what there is for a server.
type holding struct {
	Server  string    `json:"server"` // its URL, without what may be secret in it
	State   string    `json:"state"`  // valid, renewable, expired
	Issuer  string    `json:"issuer"`
	Scopes  []string  `json:"scopes"`
	Expires time.Time `json:"expires,omitzero"`
}

func newHolding(c auth.Credentials, now time.Time) holding {
	h := holding{State: "valid", Issuer: c.Issuer, Scopes: c.Scopes, Expires: c.Expires}
	if h.Server, _ = publicURL(c.Endpoint); c.Granted != "" {
		h.Scopes = strings.Fields(c.Granted)
	}
	if !c.Expires.IsZero() && !now.Before(c.Expires) {
		if h.State = "expired"; c.RefreshToken != "" {
			h.State = "renewable"
		}
	}
	if h.Scopes == nil {
		h.Scopes = []string{}
	}
	return h
}

func (a *account) status(ctx context.Context, std *streams, output string) error {
	if a.given() {
		if err := a.find(ctx, std); err != nil {
			return err
		}
	}
	store, err := openCredentials()
	if err != nil {
		return err
	}
	all, err := store.All()
	if err != nil {
		std.err.printf("warning: %v", err)
	}
	holdings := []holding{}
	usable := false
	for _, c := range all {
		if a.given() && c.Endpoint != a.url {
			continue
		}
		h := newHolding(c, time.Now())
		usable = usable || h.State != "expired"
		holdings = append(holdings, h)
	}
	slices.SortFunc(holdings, func(a, b holding) int { return strings.Compare(a.Server+" "+a.Issuer, b.Server+" "+b.Issuer) })
	if err := printHoldings(std, holdings, output); err != nil {
		return err
	}
	if !a.given() && len(holdings) == 0 {
		std.err.printf("there are no credentials for any server")
	}
	if a.given() && !usable {
		return &failure{code: "auth_required", server: a.name(), why: "there are no credentials for it that are good", hint: "log in: " + loginTo(a.selected.id, a.url)}
	}
	return nil
}

func printHoldings(std *streams, all []holding, output string) error {
	if output == "json" {
		text, err := json.Marshal(all)
		if err != nil {
			return err
		}
		std.out.json(text)
		return nil
	}
	var rows [][]string
	for _, h := range all {
		until := ""
		if !h.Expires.IsZero() {
			until = h.Expires.Local().Format("2006-01-02 15:04")
		}
		rows = append(rows, []string{h.State, h.Server, h.Issuer, until, strings.Join(h.Scopes, " ")})
	}
	std.out.print(table(rows))
	return nil
}
