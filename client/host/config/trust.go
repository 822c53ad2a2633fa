package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest is the SHA-256 of what a server is: its workspace, its id and its definition in stdwire's
// own form, whether it is disabled aside. Variables are in it as they are written, with their
// defaults and without their values, so that a token may change; and so are, by their names only,
// the files that the definition names.
func (s *Server) Digest() string {
	d := s.definition()
	d.Disabled = false
	return digest(s.Workspace, s.ID, d)
}

// TrustDigest is the SHA-256 of all that a server's file says of it: what [Server.Digest] is of,
// whether it is disabled, and how its inputs are described. It is what a user agrees to.
func (s *Server) TrustDigest() string {
	if !s.Disabled && len(s.Inputs) == 0 {
		return s.Digest()
	}
	return digest(s.Workspace, s.ID, s.definition(), s.Inputs)
}

// TrustDigest is the SHA-256 of all that a profile is. What it hides is decided by its name.
func (p *Profile) TrustDigest() string { return digest(p.Workspace, "profile", p.Name, p.Servers) }

func digest(parts ...any) string {
	sum := sha256.Sum256(encode(parts)) // the keys of maps are sorted
	return hex.EncodeToString(sum[:])
}

// Intersect returns what s is without giving anything that was does not give: was itself, disabled
// if s is, with the tools that both let pass. It is s, and whole is true, if that is all by which
// they differ.
func (s *Server) Intersect(was *Server) (less *Server, whole bool) {
	within := *was
	within.Disabled = was.Disabled || s.Disabled
	within.Filter = was.Filter.And(s.Filter)
	if within.TrustDigest() == s.TrustDigest() {
		return s, true
	}
	return &within, false
}

// An UntrustedError says that a server or profile comes from a file that the user need not have
// written, and that the user has not said yet that it may have an effect.
type UntrustedError struct {
	Server   string // "" if it is a profile
	Profile  string
	Position Position
	Changed  bool // it was trusted, and has changed since
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
