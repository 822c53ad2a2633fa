package pin

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Server identifies the server of definitions.
type Server struct {
	ID   string // the ID in the configuration
	Name string // serverInfo.name; the version may change
	// Capabilities are the client's capabilities that the server has received, a JSON object; nil
	// means {}.
	Capabilities json.RawMessage
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
