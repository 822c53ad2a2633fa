package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest is the SHA-256 of what a server is: its workspace, its id and its definition in stdwire's own form, whether it is disabled aside. Variables are in it as they
// are written, with their defaults and without their values, so that a token may change; and so are, by their names only, the files that the definition names.
func (s *Server) Digest() string {
	d := s.definition()
	d.Disabled = false
	sum := sha256.Sum256(encode([]any{s.Workspace, s.ID, d})) // the keys of maps are sorted
	return hex.EncodeToString(sum[:])
}

// An UntrustedError says that a server comes from a file that the user need not have written, and that the user has not said yet that it may be started.
type UntrustedError struct {
	Server   string
	Position Position
	Changed  bool // it was trusted, and has changed since
}

func (e *UntrustedError) Error() string {
	what := "is not trusted"
	if e.Changed {
		what = "has changed since it was trusted"
	}
	return fmt.Sprintf("%s: server %q %s", e.Position, e.Server, what)
}
