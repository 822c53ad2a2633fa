package target

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
)

// Definition shows all of a server that decides what it does, exactly: every word as it is written, with what would not show itself spelled out.
func Definition(s *config.Server) string {
	var b strings.Builder
	row := func(name, text string) { fmt.Fprintf(&b, "  %-10s %s\n", name, text) }
	if s.URL != "" {
		row("url", Exact(s.URL))
	} else {
		row("command", exactly(append([]string{s.Command}, s.Args...)))
		row("in", Exact(s.Workspace))
	}
	if s.Dir != "" {
		row("cwd", Exact(s.Dir))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		row("env", Exact(name)+"="+Exact(s.Env[name]))
	}
	if s.EnvFile != "" {
		row("envFile", Exact(s.EnvFile))
	}
	if s.InheritEnv != nil {
		row("inheritEnv", exactly(s.InheritEnv))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		row("header", Exact(name)+": "+Exact(s.Headers[name]))
	}
	if o := s.OAuth; o != nil {
		for _, f := range []struct{ name, value string }{{"clientId", o.ClientID}, {"clientSecret", o.ClientSecret}, {"issuer", o.Issuer}, {"scope", o.Scope}, {"redirectUri", o.RedirectURI}} {
			if f.value != "" {
				row("oauth", f.name+": "+Exact(f.value))
			}
		}
		if o.ForItself {
			row("oauth", "grantType: client_credentials")
		}
		if o.AllowPrivate {
			row("oauth", "allowPrivate: true")
		}
		if o.Off {
			row("oauth", "false")
		}
	}
	for _, f := range s.Settings() {
		row(f.Name, Exact(f.Value))
	}
	for _, id := range slices.Sorted(maps.Keys(s.Inputs)) {
		input := s.Inputs[id]
		hidden := ""
		if input.Password {
			hidden = " (a password)"
		}
		row("input", Exact(id)+": "+Exact(input.Description)+hidden)
	}
	if s.Hides.File != "" {
		row("in place of", Exact(s.Hides.String()))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ProfileDefinition shows all of a profile, as definition does with a server.
func ProfileDefinition(p *config.Profile) string {
	var b strings.Builder
	row := func(name, text string) { fmt.Fprintf(&b, "  %-10s %s\n", name, text) }
	row("servers", exactly(p.Servers))
	for _, s := range p.Elsewhere {
		row("elsewhere", Exact(s.ID)+" at "+Exact(s.Position.String()))
	}
	if p.Hides.File != "" {
		row("in place of", Exact(p.Hides.String()))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func exactly(words []string) string {
	var all []string
	for _, word := range words {
		all = append(all, Exact(word))
	}
	return strings.Join(all, " ")
}

// Exact shows a word so that it cannot be taken for another.
func Exact(word string) string {
	plain := word != "" && !strings.ContainsFunc(word, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`"'\`, c)
	})
	if plain {
		return word
	}
	return strconv.QuoteToASCII(word)
}
