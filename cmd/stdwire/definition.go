package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
)

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
		if o.Off {
			row("oauth", "false")
		}
	}
	for _, f := range s.Settings() {
		row(f.Name, exact(f.Value))
	}
	for _, id := range slices.Sorted(maps.Keys(s.Inputs)) {
		input := s.Inputs[id]
		hidden := ""
		if input.Password {
			hidden = " (a password)"
		}
		row("input", exact(id)+": "+exact(input.Description)+hidden)
	}
	if s.Hides.File != "" {
		row("in place of", exact(s.Hides.String()))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// profileDefinition shows all of a profile, as definition does with a server.
func profileDefinition(p *config.Profile) string {
	var b strings.Builder
	row := func(name, text string) { fmt.Fprintf(&b, "  %-10s %s\n", name, text) }
	row("servers", exactly(p.Servers))
	for _, s := range p.Elsewhere {
		row("elsewhere", exact(s.ID)+" at "+exact(s.Position.String()))
	}
	if p.Hides.File != "" {
		row("in place of", exact(p.Hides.String()))
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
