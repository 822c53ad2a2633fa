package pin

import (
	"encoding/json"
	"strings"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Server identifies the server of definitions.
type Server struct {
	ID   string // the ID in the configuration
	Name string // serverInfo.name; the version may change
	// Source says where the definition of the server is, as in the path of a configuration file.
	// Servers with the same ID and different sources have pins of their own. Pins that an earlier
	// version recorded have no source: the pins of each source begin as a copy of
	// them, until one source has definitions that equal them.
	Source string
	// Capabilities are the client's capabilities that the server has received, a JSON object; nil
	// means {}.
	Capabilities json.RawMessage
}

// NewServer returns the Server whose client declares these capabilities, but for extensions: pins
// are older than these, which change no identity.
func NewServer(id, source, name string, declared mcp.ClientCapabilities) (Server, error) {
	declared.Extensions = nil
	text, err := mcp.Marshal(declared)
	return Server{ID: id, Source: source, Name: name, Capabilities: text}, err
}

// SameIdentity reports whether the pins of one of two servers are valid for the other: whether
// their names and capabilities are the same.
func (s *Server) SameIdentity(other *Server) (bool, error) {
	a, err := s.canonicalCapabilities()
	if err != nil {
		return false, err
	}
	b, err := other.canonicalCapabilities()
	return s.Name == other.Name && string(a) == string(b), err
}

// canonicalCapabilities returns the canonical form of Capabilities.
func (s *Server) canonicalCapabilities() (json.RawMessage, error) {
	if len(s.Capabilities) == 0 {
		return json.RawMessage("{}"), nil
	}
	if err := jsonscan.Valid(s.Capabilities); err != nil {
		return nil, err
	}
	return jsondiff.Canonical(s.Capabilities)
}

// key returns the key of the server's pins in a file. An ID contains no space.
func (s *Server) key() string {
	if s.Source == "" {
		return s.ID
	}
	return s.ID + " " + s.Source
}

// keyID returns the ID of a key.
func keyID(key string) string {
	id, _, _ := strings.Cut(key, " ")
	return id
}
