package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/internal/jsonedit"
)

// Digest returns the SHA-256 of the server's workspace, id and definition in stdwire's own form,
// without the member disabled. It covers the names and defaults of variables but not their values,
// so that a token may change, and the names of files but not their contents.
func (s *Server) Digest() string {
	fields := slices.DeleteFunc(serverFields(),
		func(f field[*Server]) bool { return f.outsideDigest })
	return digest(s.Workspace, s.ID, definition(fields, s))
}

// TrustDigest returns the SHA-256 of the parts of a definition that a user accepts: those of
// Digest, whether the server is disabled, and the descriptions of its inputs.
func (s *Server) TrustDigest() string {
	if !s.Disabled && len(s.Inputs) == 0 {
		return s.Digest()
	}
	return digest(s.Workspace, s.ID, definition(serverFields(), s), s.Inputs)
}

// definition returns the members of a server, to be encoded.
func definition(fields []field[*Server], s *Server) json.RawMessage {
	return jsonedit.Object(encodeFields(fields, s))
}

// TrustDigest returns the SHA-256 of the profile's workspace, name and servers.
func (p *Profile) TrustDigest() string { return digest(p.Workspace, "profile", p.Name, p.Servers) }

func digest(parts ...any) string {
	sum := sha256.Sum256(jsonedit.Encode(parts)) // the keys of maps are sorted
	return hex.EncodeToString(sum[:])
}

// An UntrustedError reports that a server or profile of a project's file is not trusted.
type UntrustedError struct {
	Server   string // "" for a profile
	Profile  string
	Position Position
	Changed  bool // an earlier definition was trusted
}

func (e *UntrustedError) Error() string {
	what := "is not trusted"
	if e.Changed {
		what = "has changed since it was trusted"
	}
	if e.Profile != "" {
		return fmt.Sprintf("%s: profile %q %s", e.Position, e.Profile, what)
	}
	return fmt.Sprintf("%s: server %q %s", e.Position, e.Server, what)
}

// Restrict returns old with the restrictions of s, a newer definition of the same server: disabled
// if one of them is, with the tools that both allow. If the result has the TrustDigest of s, so
// that s only restricts old, Restrict returns s, and same is true.
func (s *Server) Restrict(old *Server) (less *Server, same bool) {
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
