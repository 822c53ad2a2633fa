package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest returns the SHA-256 of the server's workspace, id and definition in stdwire's own form,
// except whether it is disabled. Variables are included with their defaults but without their
// values, so that a token may change; files that the definition names are included by name.
func (s *Server) Digest() string {
	d := s.definition()
	d.Disabled = false
	return digest(s.Workspace, s.ID, d)
}

// TrustDigest returns the SHA-256 of everything that the file says about the server: Digest,
// whether it is disabled, and the descriptions of its inputs. This is what a user accepts.
func (s *Server) TrustDigest() string {
	if !s.Disabled && len(s.Inputs) == 0 {
		return s.Digest()
	}
	return digest(s.Workspace, s.ID, s.definition(), s.Inputs)
}

// TrustDigest returns the SHA-256 of a profile. Its name decides what it hides.
func (p *Profile) TrustDigest() string { return digest(p.Workspace, "profile", p.Name, p.Servers) }

func digest(parts ...any) string {
	sum := sha256.Sum256(encode(parts)) // the keys of maps are sorted
	return hex.EncodeToString(sum[:])
}

// Intersect returns what s offers without anything that was does not offer: was itself, disabled if
// s is, with the tools that both allow. If they differ in nothing else, it returns s, and whole is
// true.
func (s *Server) Intersect(old *Server) (less *Server, same bool) {
	within := *old
	within.Disabled = old.Disabled || s.Disabled
	within.Filter = old.Filter.And(s.Filter)
	if within.TrustDigest() == s.TrustDigest() {
		return s, true
	}
	return &within, false
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
