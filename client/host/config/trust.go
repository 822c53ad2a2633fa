package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

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
