package target

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
)

// DescribeServer returns everything in a definition that decides what the server does, quoted so
// that nothing is hidden.
func DescribeServer(s *config.Server) string {
	var b strings.Builder
	row := func(name, text string) { fmt.Fprintf(&b, "  %-10s %s\n", name, text) }
	if s.URL != "" {
		row("url", QuoteWord(s.URL))
	} else {
		row("command", quoteWords(append([]string{s.Command}, s.Args...)))
		row("in", QuoteWord(s.Workspace))
	}
	if s.Dir != "" {
		row("cwd", QuoteWord(s.Dir))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		row("env", QuoteWord(name)+"="+QuoteWord(s.Env[name]))
	}
	if s.EnvFile != "" {
		row("envFile", QuoteWord(s.EnvFile))
	}
	if s.InheritEnv != nil {
		row("inheritEnv", quoteWords(s.InheritEnv))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		row("header", QuoteWord(name)+": "+QuoteWord(s.Headers[name]))
	}
	for _, f := range []struct{ name, path string }{{"tlsCA", s.TLS.CA},
		{"tlsClientCert", s.TLS.ClientCert}, {"tlsClientKey", s.TLS.ClientKey}} {
		if f.path != "" {
			row(f.name, QuoteWord(f.path))
		}
	}
	if o := s.OAuth; o != nil {
		for _, f := range []struct{ name, value string }{{"clientId", o.ClientID},
			{"clientSecret", o.ClientSecret}, {"issuer", o.Issuer}, {"scope", o.Scope},
			{"redirectUri", o.RedirectURI}} {
			if f.value != "" {
				row("oauth", f.name+": "+QuoteWord(f.value))
			}
		}
		if o.ClientCredentials {
			row("oauth", "grantType: client_credentials")
		}
		if o.AllowPrivate {
			row("oauth", "allowPrivate: true")
		}
		if o.Disabled {
			row("oauth", "false")
		}
	}
	if s.Credentials != nil {
		for name, value := range s.Credentials.Members() {
			row("credentials", name+": "+QuoteWord(value))
		}
	}
	for name, value := range s.Settings() {
		row(name, QuoteWord(value))
	}
	for _, id := range slices.Sorted(maps.Keys(s.Inputs)) {
		input := s.Inputs[id]
		hidden := ""
		if input.Password {
			hidden = " (a password)"
		}
		row("input", QuoteWord(id)+": "+QuoteWord(input.Description)+hidden)
	}
	if s.Overrides.File != "" {
		row("in place of", QuoteWord(s.Overrides.String()))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// DescribeProfile is DescribeServer for a profile.
func DescribeProfile(p *config.Profile) string {
	var b strings.Builder
	row := func(name, text string) { fmt.Fprintf(&b, "  %-10s %s\n", name, text) }
	row("servers", quoteWords(p.Servers))
	for _, s := range p.OtherServers {
		row("elsewhere", QuoteWord(s.ID)+" at "+QuoteWord(s.Position.String()))
	}
	if p.Overrides.File != "" {
		row("in place of", QuoteWord(p.Overrides.String()))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func quoteWords(words []string) string {
	var all []string
	for _, word := range words {
		all = append(all, QuoteWord(word))
	}
	return strings.Join(all, " ")
}

// QuoteWord quotes a word so that it cannot be mistaken for another.
func QuoteWord(word string) string {
	plain := word != "" && !strings.ContainsFunc(word, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`"'\`, c)
	})
	if plain {
		return word
	}
	return strconv.QuoteToASCII(word)
}
