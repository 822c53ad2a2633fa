package sharedstore

import (
	"strings"
	"time"

	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/internal/printable"
)

// About returns the status for the user who runs the gateway, or nil for a nil *Store.
func (s *Store) About() *ops.StoreUse {
	if s == nil {
		return nil
	}
	status := s.Status()
	use := &ops.StoreUse{URL: status.URL, Eviction: status.Server.Eviction,
		Server:    strings.TrimSpace(status.Server.Name + " " + status.Server.Version),
		Reachable: status.Why == nil, Since: status.Since.UTC().Format(time.RFC3339),
		Parts: []string{}, Affected: status.Affected}
	if status.Why != nil {
		use.Error = printable.TruncateRunes(status.Why.Error(), 1000)
	}
	if s.Forwarded != nil {
		use.Forwarded = s.Forwarded()
	}
	for p := range s.used() {
		use.Parts = append(use.Parts, p.Name)
	}
	return use
}
