package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/gatewaytext"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/near"
)

// TrustCommand returns the command stdwire trust.
func TrustCommand() command.Command {
	return command.Command{
		Name: "trust", Usage: "[FILE|SERVER|PROFILE] [--revoke] [--yes]",
		Summary: "trust the servers of a project",
		Help: `The authors of a project's files decide which programs its servers run with your rights. So a
server from a file of the working directory is started only after you have seen and accepted its
definition. Without an argument the command reviews all servers of the project; with an argument,
those of a file, or one server or profile.

It shows each whole definition, also where there is no terminal to ask at; variables are not
expanded. Your answer is stored for this directory, and is valid until the definition changes. The
content of programs and files that a definition names is not checked. A profile of the project that replaces one of yours, or has servers of other files,
must be accepted as well; until then it has no effect.

A running gateway applies an accepted definition at once. The command also accepts a change of your
own files that waits in a gateway: see stdwire status.`,
		Make: func() (command.Grammar, command.Runner) {
			tr := new(trustOptions)
			flags := []command.Flag{
				command.SwitchFlag(&tr.revoke, "--revoke", "remove the trust"),
				command.SwitchFlag(&tr.yes, "--yes", "do not ask")}
			return command.Grammar{Flags: flags, Word: command.Arguments(&tr.what)}, tr.run
		},
	}
}

// trustOptions are the options of stdwire trust.
type trustOptions struct {
	what   string // a file or a name; "" means the whole project
	revoke bool
	yes    bool
}

func (tr *trustOptions) run(ctx context.Context, std *term.Streams) error {
	if tr.revoke && tr.yes {
		return command.Usagef("--revoke asks nothing").WithHint("leave out --yes")
	}
	c, env, err := new(target.ConfigFlags).Load()
	if err != nil {
		return err
	}
	waiting := findWaiting(ctx, std)
	defer waiting.close()
	found, err := tr.items(c, env)
	if failure, ok := errors.AsType[*command.Failure](err); ok && failure.Code == "usage" &&
		!tr.revoke {
		if more := waiting.matching(tr.what); more != nil { // changes of the user's own files
			found, err = more, nil
		}
	}
	if err != nil {
		return err
	}
	store := config.UserStore(env)
	if tr.revoke {
		return revoke(std, store, found)
	}
	if tr.what == "" {
		found = append(found, waiting.matching("")...)
	}
	if open := namesOf(store, found); len(open) > 1 {
		std.Err.Printf("%d definitions to review: %s", len(open), strings.Join(open, ", "))
	}
	declined := 0
	var unasked []string
	p := std.Prompter()
	for _, item := range found {
		agreed, err := tr.review(ctx, std, store, p, item)
		if err == errNobodyToAsk {
			unasked = append(unasked, item.name())
			continue
		}
		if err != nil {
			return err
		}
		if !agreed {
			declined++
			continue
		}
		if err := waiting.accept(ctx, std, env.Dir, item); err != nil {
			return err
		}
	}
	if unasked != nil {
		return nobodyToAsk(unasked)
	}
	if declined > 0 {
		what := "server"
		if slices.ContainsFunc(found, func(item trustItem) bool { return item.profile != nil }) {
			what = "server or profile"
		}
		return &command.Failure{Code: "untrusted", Why: command.Plural(declined, what) +
			" not trusted"}
	}
	return nil
}

// A trustItem is a definition that can be trusted: a server or profile of the project, or a change
// that waits in a running gateway.
type trustItem struct {
	server  *config.Server
	profile *config.Profile
	waiting *ops.PendingChange
	g       *gatewayClient // the gateway in which it waits
}

func (item trustItem) name() string {
	switch {
	case item.server != nil:
		return item.server.ID
	case item.profile != nil:
		return item.profile.Name
	}
	return item.waiting.Name
}

// namesOf returns the names, quoted, of the definitions that are not trusted yet.
func namesOf(store *config.Store, all []trustItem) (names []string) {
	for _, item := range all {
		if item.server != nil && item.server.Err != nil || item.check(store) == nil {
			continue
		}
		names = append(names, target.QuoteWord(item.name()))
	}
	return names
}

// trustable returns what the store can trust, or nil for a change of the user's own files.
func (item trustItem) trustable() config.Trustable {
	switch {
	case item.server != nil:
		return item.server
	case item.profile != nil:
		return item.profile
	}
	return nil
}

// check returns nil if the store trusts the definition.
func (item trustItem) check(store *config.Store) error {
	if t := item.trustable(); t != nil {
		return store.Check(t)
	}
	return &config.UntrustedError{}
}

// trust records the definition in the store, unless it is from one of the user's own files.
func (item trustItem) trust(store *config.Store) error {
	if t := item.trustable(); t != nil {
		return store.Trust(t)
	}
	return nil
}

// review shows a definition, asks whether to trust it and records the answer. It reports whether
// the definition is trusted now.
func (tr *trustOptions) review(ctx context.Context, std *term.Streams, store *config.Store,
	p term.Prompter, item trustItem) (bool, error) {
	if item.server != nil && item.server.Err != nil {
		std.Err.Printf("error: %v", item.server.Err)
		return false, nil
	}
	switch err := item.check(store); err.(type) {
	case nil:
		std.Err.Printf("%s is trusted already", item.name())
		return true, nil
	case *config.UntrustedError:
		if item.waiting != nil {
			err = errors.New(gatewaytext.WaitingText(*item.waiting))
		}
		std.Err.Printf("%v", err)
	default:
		return false, &command.Failure{Code: "config", Why: err.Error()}
	}
	var shown string
	switch {
	case item.server != nil:
		shown = target.DescribeServer(item.server)
	case item.profile != nil:
		shown = target.DescribeProfile(item.profile)
	default:
		shown = item.waiting.Definition
	}
	std.Err.Printf("%s", shown)
	const muchToRead = 2000
	if len(shown) > muchToRead {
		std.Err.Printf("The definition has %d characters: read all of them.", len(shown))
	}
	agreed, err := tr.ask(ctx, std, p, item.name())
	if err != nil || !agreed {
		return false, err
	}
	if err := item.trust(store); err != nil {
		return false, err
	}
	std.Err.Printf("%s is trusted", target.QuoteWord(item.name()))
	return true, nil
}

func revoke(std *term.Streams, store *config.Store, found []trustItem) error {
	var servers, profiles []config.Trustable
	for _, item := range found {
		if item.profile != nil {
			profiles = append(profiles, item.profile)
		} else {
			servers = append(servers, item.server)
		}
	}
	n, err := store.Revoke(servers...)
	if err != nil {
		return err
	}
	m, err := store.Revoke(profiles...)
	if err != nil {
		return err
	}
	text := command.Plural(n, "server")
	switch {
	case m > 0 && n > 0:
		text += " and " + command.Plural(m, "profile")
	case m > 0:
		text = command.Plural(m, "profile")
	}
	std.Err.Printf("%s no longer trusted", text)
	return nil
}

// items returns the servers and profiles of the project that tr.what selects.
func (tr *trustOptions) items(c *config.Config, env *config.Environment) (found []trustItem,
	err error) {
	for _, f := range c.Files {
		if f.Project && f.Err != nil {
			return nil, target.ConfigFailure(f.Err)
		}
	}
	path := tr.what
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.Dir, path)
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		// resolved, as env.Dir is
		path = filepath.Join(dir, filepath.Base(path))
	}
	var names []string
	for _, s := range c.Servers {
		switch {
		case !s.Project && s.ID == tr.what:
			return nil, command.Usagef("%s is from your own file %s, which needs no trust",
				s.ID, s.File)
		case !s.Project:
			continue
		case tr.what == "" || s.ID == tr.what || s.File == path:
			found = append(found, trustItem{server: s})
		}
		names = append(names, s.ID)
	}
	for _, p := range c.ProfilesRequiringTrust {
		if tr.what == "" || p.Name == tr.what || p.File == path {
			found = append(found, trustItem{profile: p})
		}
		names = append(names, p.Name)
	}
	switch {
	case found != nil || tr.what == "" && names != nil:
		return found, nil
	case names == nil:
		return nil, command.Usagef("no project file in %s has servers",
			env.Dir).WithHint("stdwire config where shows which files are searched")
	}
	return nil, command.Usagef(
		"%s is neither a server of a project file nor a project file in use",
		tr.what).WithHint(near.Instead(tr.what, names))
}

// errNobodyToAsk means that the definition was shown and that there is no terminal to ask at.
var errNobodyToAsk = errors.New("there is no terminal to ask at")

// nobodyToAsk returns the failure for definitions that were shown where nobody can be asked.
func nobodyToAsk(names []string) *command.Failure {
	f := &command.Failure{Code: "untrusted", Why: errNobodyToAsk.Error(),
		Hint: "to trust the definitions above without a question: --yes"}
	if len(names) == 1 {
		f.Server, f.Hint = names[0], strings.Replace(f.Hint, "definitions", "definition", 1)
	}
	return f
}

// ask asks whether to trust a definition.
func (tr *trustOptions) ask(ctx context.Context, std *term.Streams, p term.Prompter,
	name string) (bool, error) {
	if tr.yes {
		return true, nil
	}
	if !std.CanAsk() {
		return false, errNobodyToAsk
	}
	end, err := p.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	answer, err := p.Line(ctx, fmt.Sprintf("Trust %s? [y/N] ", target.QuoteWord(name)))
	if err != nil && err != io.EOF {
		return false, err
	}
	return err == nil &&
		slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))), nil
}
