package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/near"
)

func trustCommand() command {
	return command{
		name: "trust", usage: "[FILE|SERVER] [--revoke] [--yes]",
		summary: "agree to what the servers of a project run",
		help: `Whoever writes a project's files decides what its servers run, with your rights. So a server from a file that was found in the working directory is not started before you have seen what it is. Without an argument it is about all servers of the project; with one, about those of a file, or one server.

What is shown is all that is written down of the server, uncut; variables are shown as such. What you agree to is remembered for this directory, and for as long as nothing of it changes. The content of programs and files that it names is not looked at.`,
		make: func() (grammar, runner) {
			tr := new(trusting)
			flags := []flag{toggle(&tr.revoke, "--revoke", "no longer trust them"), toggle(&tr.yes, "--yes", "do not ask")}
			return grammar{flags: flags, word: tr.word}, tr.run
		},
	}
}

// A trusting is what the command line says of trust.
type trusting struct {
	what   string // a file or an id; "": all of the project's
	revoke bool
	yes    bool
}

func (tr *trusting) word(word string) error {
	if tr.what != "" || word == "" {
		return usagef("unexpected argument %q", word)
	}
	tr.what = word
	return nil
}

func (tr *trusting) run(ctx context.Context, std *streams) error {
	c, env, err := new(configuration).load()
	if err != nil {
		return err
	}
	servers, err := tr.choose(c, env)
	if err != nil {
		return err
	}
	store := config.UserStore(env)
	if tr.revoke {
		n, err := store.Revoke(servers...)
		if err == nil {
			std.err.printf("%s no longer trusted", count(n, "server"))
		}
		return err
	}
	declined := 0
	typist := newTypist(std.in, std.err)
	for _, s := range servers {
		if s.Err != nil {
			std.err.printf("error: %v", s.Err)
			declined++
			continue
		}
		switch err := store.Check(s); err.(type) {
		case nil:
			std.err.printf("%s is trusted already", s.ID)
			continue
		case *config.UntrustedError:
			std.err.printf("%v", err)
		default:
			return &failure{code: "config", why: err.Error()}
		}
		shown := definition(s)
		std.err.printf("%s", shown)
		const muchToRead = 2000
		if len(shown) > muchToRead {
			std.err.printf("These were %d characters: read all of them.", len(shown))
		}
		agreed, err := tr.ask(ctx, std, typist, s)
		if err != nil {
			return err
		}
		if !agreed {
			declined++
			continue
		}
		if err := store.Trust(s); err != nil {
			return err
		}
		std.err.printf("%s is trusted", s.ID)
	}
	if declined > 0 {
		return &failure{code: "untrusted", why: count(declined, "server") + " not trusted"}
	}
	return nil
}

// choose returns the project's servers that it is about.
func (tr *trusting) choose(c *config.Config, env *config.Environment) (servers []*config.Server, err error) {
	for _, f := range c.Files {
		if f.Project && f.Err != nil {
			return nil, misconfigured(f.Err)
		}
	}
	path := tr.what
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.Dir, path)
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil { // as the environment has it
		path = filepath.Join(dir, filepath.Base(path))
	}
	var names []string
	for _, s := range c.Servers {
		switch {
		case !s.Project && s.ID == tr.what:
			return nil, usagef("%s is from a file of your own, %s, and needs no trust", s.ID, s.File)
		case !s.Project:
			continue
		case tr.what == "" || s.ID == tr.what || s.File == path:
			servers = append(servers, s)
		}
		names = append(names, s.ID)
	}
	switch {
	case servers != nil:
		return servers, nil
	case names == nil:
		return nil, usagef("no project file in %s has servers", env.Dir).withHint("stdwire config where shows which files are searched")
	}
	return nil, usagef("%s is neither a server of a project file, nor such a file that is used", tr.what).withHint(near.Instead(tr.what, names))
}

// ask asks whether to trust a server.
func (tr *trusting) ask(ctx context.Context, std *streams, typist *typist, s *config.Server) (bool, error) {
	if tr.yes {
		return true, nil
	}
	if !std.answers() {
		return false, &failure{code: "untrusted", server: s.ID, why: "there is nobody to ask", hint: "if what is above is what you want: --yes"}
	}
	std.forget() // what was typed before this was seen
	answer, err := typist.line(ctx, fmt.Sprintf("Trust %s? [y/N] ", s.ID))
	if err != nil && err != io.EOF {
		return false, err
	}
	return err == nil && slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))), nil
}

// definition shows all of a server that decides what it does, exactly: every word as it is written, with what would not show itself spelled out.
func definition(s *config.Server) string {
	var b strings.Builder
	row := func(name, text string) { fmt.Fprintf(&b, "  %-10s %s\n", name, text) }
	if s.URL != "" {
		row("url", exact(s.URL))
	} else {
		row("command", exactly(append([]string{s.Command}, s.Args...)))
		row("in", exact(s.Workspace))
	}
	if s.Dir != "" {
		row("cwd", exact(s.Dir))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		row("env", exact(name)+"="+exact(s.Env[name]))
	}
	if s.EnvFile != "" {
		row("envFile", exact(s.EnvFile))
	}
	if s.InheritEnv != nil {
		row("inheritEnv", exactly(s.InheritEnv))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		row("header", exact(name)+": "+exact(s.Headers[name]))
	}
	if o := s.OAuth; o != nil {
		for _, f := range []struct{ name, value string }{{"clientId", o.ClientID}, {"clientSecret", o.ClientSecret}, {"issuer", o.Issuer}, {"scope", o.Scope}, {"redirectUri", o.RedirectURI}} {
			if f.value != "" {
				row("oauth", f.name+": "+exact(f.value))
			}
		}
		if o.ForItself {
			row("oauth", "grantType: client_credentials")
		}
		if o.AllowPrivate {
			row("oauth", "allowPrivate: true")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func exactly(words []string) string {
	var all []string
	for _, word := range words {
		all = append(all, exact(word))
	}
	return strings.Join(all, " ")
}

// exact shows a word so that it cannot be taken for another.
func exact(word string) string {
	plain := word != "" && !strings.ContainsFunc(word, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`"'\`, c)
	})
	if plain {
		return word
	}
	return strconv.QuoteToASCII(word)
}
