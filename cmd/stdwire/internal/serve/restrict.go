package serve

import (
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
)

// restrict returns old with the restrictions of s, a newer definition of the same server: disabled
// if one of them is, with the tools that both allow. If the result has the TrustDigest of s, so
// that s only restricts old, restrict returns s, and same is true.
func restrict(old, s *config.Server) (less *config.Server, same bool) {
	within := *old
	within.Disabled = old.Disabled || s.Disabled
	within.Filter = bothFilters(old.Filter, s.Filter)
	if within.TrustDigest() == s.TrustDigest() {
		return s, true
	}
	return &within, false
}

// bothFilters returns a filter that passes only tools that both f and g pass. It may omit tools
// that both pass: of the Allow patterns it keeps those that a pattern of the other filter covers,
// so a name that matches two merely overlapping patterns does not pass.
func bothFilters(f, g host.Filter) host.Filter {
	both := host.Filter{Allow: g.Allow, Deny: g.Deny}
	for _, pattern := range f.Deny {
		if !slices.Contains(g.Deny, pattern) {
			both.Deny = append(slices.Clip(both.Deny), pattern)
		}
	}
	switch {
	case f.Allow == nil:
	case g.Allow == nil:
		both.Allow = f.Allow
	default:
		both.Allow = []string{}
		for _, pattern := range g.Allow {
			if coveredBy(f.Allow, pattern) {
				both.Allow = append(both.Allow, pattern)
			}
		}
		for _, pattern := range f.Allow {
			if coveredBy(g.Allow, pattern) && !coveredBy(both.Allow, pattern) {
				both.Allow = append(both.Allow, pattern)
			}
		}
	}
	return both
}

// coveredBy reports whether one of patterns certainly matches every name that pattern matches.
func coveredBy(patterns []string, pattern string) bool {
	return slices.ContainsFunc(patterns, func(wide string) bool {
		if strings.Contains(wide, "?") && strings.Contains(pattern, "*") {
			// A filter would let '?' match the '*', which stands for any number of bytes.
			return wide == pattern
		}
		return (&host.Filter{Allow: []string{wide}}).Allows(pattern)
	})
}
