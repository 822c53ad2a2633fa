package authcmd

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tokenfile"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

func authTokenCommand() command.Command {
	all := command.Subcommands{tokenAddCommand(), tokenListCommand(), tokenRevokeCommand()}
	return command.Command{
		Name: "auth token", Usage: "add|list|revoke [NAME] [FLAG]… [-h]",
		Summary: "the named tokens of stdwire serve --tokens",
		Help: `A file has the names of those who may use stdwire serve --http, with a digest of each one's token.
Without --file it is ~/.local/state/stdwire/tokens.json, on Windows
%LOCALAPPDATA%\stdwire\tokens.json, or stdwire/tokens.json in $XDG_STATE_HOME. stdwire help identities
explains it.

` +
			all.List(),
		Subcommands: all,
		Make:        all.Make,
	}
}

// A tokenChange are the flags and the argument of the commands.
type tokenChange struct {
	path   string
	name   string
	output string
	until  time.Time       // of a refusal; zero: the default
	token  tokenfile.Token // what flags say of a new one
}

func (c *tokenChange) fileFlag() command.Flag {
	return command.FileFlag(&c.path, "--file", "the file of tokens")
}

// file returns the path of the file.
func (c *tokenChange) file() (string, error) {
	if c.path != "" {
		return c.path, nil
	}
	return target.StateFile("tokens.json")
}

func (c *tokenChange) named() error {
	if c.name == "" {
		return command.Usagef("which token?").WithHint("its name")
	}
	return nil
}

func tokenAddCommand() command.Command {
	return command.Command{
		Name: "auth token add",
		Usage: "NAME [--expires DURATION|DATE] [--scope SCOPE]… [--group GROUP]… " +
			"[--claim NAME=JSON]… [--file FILE]",
		Summary: "create a token and print it once",
		Help: `Prints a new token on stdout. It is kept nowhere: the file has only its digest. A client sends it as a
bearer token, and is then known as token#NAME. A NAME has letters, digits and the characters ._@-.

  stdwire auth token add ci --expires 90d --group builders >ci.token
  stdwire auth token add ada --scope read --claim 'tenant="acme"'`,
		Make: func() (command.Grammar, command.Runner) {
			c := new(tokenChange)
			flags := []command.Flag{
				{Name: "--expires", Value: "DURATION|DATE",
					Help: "when the token becomes invalid: in 12h, in 90d, on 2031-01-31 at 00:00, or at 2031-01-31T12:00:00Z (default: never)",
					Set: func(value string) (err error) {
						c.token.Expires, err = expiry("--expires", value, time.Now())
						return err
					}},
				{Name: "--scope", Value: "SCOPE", Many: true, Help: "a scope of the token",
					Set: func(value string) error {
						c.token.Scopes = append(c.token.Scopes, strings.Fields(value)...)
						return nil
					}},
				{Name: "--group", Value: "GROUP", Many: true, Help: "a group of the caller",
					Set: func(value string) error {
						c.token.Groups = append(c.token.Groups, value)
						return nil
					}},
				{Name: "--claim", Value: "NAME=JSON", Many: true,
					Help: "something else about the caller, such as 'tenant=\"acme\"'",
					Set:  c.setClaim},
				c.fileFlag(),
			}
			return command.Grammar{Flags: flags, Word: command.Arguments(&c.name)}, c.add
		},
	}
}

// setClaim parses a value of --claim.
func (c *tokenChange) setClaim(value string) error {
	name, text, ok := strings.Cut(value, "=")
	switch {
	case !ok || name == "":
		return command.Usagef("--claim: %q is not NAME=JSON", value)
	case c.token.Claims[name] != nil:
		return command.Usagef("--claim: %q is given twice", name)
	case jsonscan.Valid([]byte(text)) != nil:
		return command.Usagef("--claim: the value of %s is not JSON", name).WithHint(
			"a text is in double quotes: --claim '" + name + "=\"text\"'")
	}
	if c.token.Claims == nil {
		c.token.Claims = map[string]json.RawMessage{}
	}
	c.token.Claims[name] = json.RawMessage(text)
	return nil
}

// expiry parses a value of a flag for the time at which something ends.
func expiry(flag, value string, now time.Time) (at time.Time, err error) {
	const hint = "write 12h, 90d, 2031-01-31 or 2031-01-31T12:00:00Z"
	days, isDays := strings.CutSuffix(value, "d")
	if n, failed := strconv.Atoi(days); isDays && failed == nil && n <= 100_000 {
		at = now.AddDate(0, 0, n)
	} else if d, failed := time.ParseDuration(value); failed == nil {
		at = now.Add(d)
	} else if at, err = time.ParseInLocation(time.DateOnly, value, time.Local); err != nil {
		if at, err = time.Parse(time.RFC3339, value); err != nil {
			return at, command.Usagef("%s: %q is neither a duration nor a date", flag,
				value).WithHint(hint)
		}
	}
	if !at.After(now) {
		return at, command.Usagef("%s: %s is in the past", flag, value).WithHint(hint)
	}
	return at.UTC().Round(time.Second), nil
}

func (c *tokenChange) add(ctx context.Context, std *term.Streams) error {
	if err := c.named(); err != nil {
		return err
	}
	path, err := c.file()
	if err != nil {
		return err
	}
	t, secret := tokenfile.New(c.name, time.Now())
	t.Expires, t.Scopes, t.Groups, t.Claims = c.token.Expires, c.token.Scopes, c.token.Groups,
		c.token.Claims
	if err := t.Check(); err != nil {
		return command.Usagef("%v", err)
	}
	if err := c.makeDir(path); err != nil {
		return err
	}
	if err := tokenfile.Add(ctx, path, t); err != nil {
		return &command.Failure{Code: "config", Why: err.Error()}
	}
	std.Out.Print(secret + "\n")
	std.Err.Printf("stdwire: this is the only time that the token is shown; give it to %s, who sends it as Authorization: Bearer TOKEN",
		c.name)
	std.Err.Printf("stdwire: it is valid for stdwire serve --http ADDR --tokens %s", path)
	return nil
}

func tokenListCommand() command.Command {
	return command.Command{
		Name: "auth token list", Usage: "[-o text|json] [--file FILE]",
		Summary: "list the names of the tokens",
		Help: `Prints for each token whether it is valid or expired, its name, when it expires, its scopes and its
groups; as JSON also its claims and when it was created. Neither tokens nor digests are printed.
Principals that are refused follow, each with the end of that.`,
		Make: func() (command.Grammar, command.Runner) {
			c := new(tokenChange)
			return command.Grammar{
				Flags: []command.Flag{command.FormatFlag(&c.output, "text", "json"), c.fileFlag()},
			}, c.list
		},
	}
}

// A listedToken is what stdwire auth token list prints of a token.
type listedToken struct {
	Name    string                     `json:"name"`
	State   string                     `json:"state"` // valid, expired or refused
	Created time.Time                  `json:"created,omitzero"`
	Expires time.Time                  `json:"expires,omitzero"`
	Scopes  []string                   `json:"scopes,omitempty"`
	Groups  []string                   `json:"groups,omitempty"`
	Claims  map[string]json.RawMessage `json:"claims,omitempty"`
}

func (c *tokenChange) list(_ context.Context, std *term.Streams) error {
	path, err := c.file()
	if err != nil {
		return err
	}
	content, err := tokenfile.Read(path)
	if err != nil && !(c.path == "" && errors.Is(err, fs.ErrNotExist)) {
		return &command.Failure{Code: "config", Why: err.Error()}
	}
	all := []listedToken{}
	for _, t := range content.Tokens {
		state := "valid"
		if t.IsExpired(time.Now()) {
			state = "expired"
		}
		all = append(all, listedToken{t.Name, state, t.Created, t.Expires, t.Scopes, t.Groups,
			t.Claims})
	}
	for _, r := range content.Refused {
		if time.Now().Before(r.Until) {
			all = append(all, listedToken{Name: r.Principal, State: "refused", Expires: r.Until})
		}
	}
	if c.output == "json" {
		return std.Out.PrintValue(all)
	}
	var rows [][]string
	for _, t := range all {
		until := "never"
		if !t.Expires.IsZero() {
			until = t.Expires.Local().Format("2006-01-02 15:04")
		}
		rows = append(rows, []string{t.State, t.Name, until, strings.Join(t.Scopes, " "),
			strings.Join(t.Groups, " ")})
	}
	std.Out.PrintTable(rows, 0)
	if len(all) == 0 {
		std.Err.Printf("there are no tokens in %s", path)
	}
	return nil
}

func tokenRevokeCommand() command.Command {
	return command.Command{
		Name: "auth token revoke", Usage: "NAME|PRINCIPAL [--for DURATION|DATE] [--file FILE]",
		Summary: "delete a token, or refuse a user of an authorization server",
		Help: `Deletes a token from the file. A running stdwire serve refuses it within a second, and ends the
sessions, streams and calls that it has opened.

The access tokens of an authorization server, and certificates, are valid until they expire. Their
user, whose PRINCIPAL is ISSUER#SUBJECT as in the audit log, is refused in the same way, for as long
as --for says: longer than such a token can still be valid. Nothing else is changed for him: stdwire
auth revoke deletes his logins at servers.

  stdwire auth token revoke ada
  stdwire auth token revoke 'https://login.example.com#ada' --for 2h`,
		Make: func() (command.Grammar, command.Runner) {
			c := new(tokenChange)
			return command.Grammar{Flags: []command.Flag{
				{Name: "--for", Value: "DURATION|DATE",
					Help: "how long a PRINCIPAL is refused (default 24h)",
					Set: func(value string) (err error) {
						c.until, err = expiry("--for", value, time.Now())
						return err
					}},
				c.fileFlag()}, Word: command.Arguments(&c.name), Check: c.checkRevoke}, c.revoke
		},
	}
}

// isPrincipal reports whether a principal is named, and not a token.
func (c *tokenChange) isPrincipal() bool { return strings.Contains(c.name, "#") }

func (c *tokenChange) checkRevoke(command.Given) error {
	if !c.until.IsZero() && !c.isPrincipal() {
		return command.Usagef("--for is for a principal, and %q is the name of a token", c.name)
	}
	return nil
}

const refusedFor = 24 * time.Hour

func (c *tokenChange) revoke(ctx context.Context, std *term.Streams) error {
	if err := c.named(); err != nil {
		return err
	}
	path, err := c.file()
	if err != nil {
		return err
	}
	if c.isPrincipal() {
		return c.refuse(ctx, std, path)
	}
	if err := tokenfile.Revoke(ctx, path, c.name); err != nil {
		return &command.Failure{Code: "config", Why: err.Error()}
	}
	std.Err.Printf("revoked the token of %s", c.name)
	return nil
}

func (c *tokenChange) refuse(ctx context.Context, std *term.Streams, path string) error {
	r := tokenfile.Refusal{Principal: c.name, Until: c.until}
	if r.Until.IsZero() {
		r.Until = time.Now().Add(refusedFor).UTC().Round(time.Second)
	}
	if err := c.makeDir(path); err != nil {
		return err
	}
	if err := tokenfile.Refuse(ctx, path, r); err != nil {
		return &command.Failure{Code: "config", Why: err.Error()}
	}
	std.Err.Printf("stdwire serve --tokens %s refuses %s until %s", path, c.name,
		r.Until.Local().Format("2006-01-02 15:04"))
	return nil
}

// makeDir creates the directory of the default file.
func (c *tokenChange) makeDir(path string) error {
	if c.path != "" {
		return nil
	}
	return os.MkdirAll(filepath.Dir(path), 0o700)
}
