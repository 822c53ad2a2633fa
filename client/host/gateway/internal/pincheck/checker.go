// Package pincheck compares what servers list with pins, and defines what is pinned of an app.
package pincheck

import (
	"encoding/json"
	"time"

	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// firstUse is how long after the first pins of a server new items are pinned as well, because many
// servers add tools after they have received the client's capabilities.
const firstUse = 10 * time.Second

// A Checker compares one list of a server with its pins. It is not safe for concurrent use.
type Checker struct {
	pinnedAt time.Time         // the time of the first pins; zero if they are from an earlier run
	Warned   map[string]string // the latest warnings, by name
	// Revision is pin.Report.Revision of the latest list; 0 if it could not be compared.
	Revision int
	// Grows says that new items are always pinned, because each user of the server has others.
	Grows bool
}

// Check compares definitions with their pins.
func (p *Checker) Check(pins *pin.File, server pin.Server, kind mcp.Kind,
	definitions []json.RawMessage) (pin.Report, error) {
	p.Revision = 0
	report, err := pins.Check(server, kind, definitions)
	if err != nil {
		return report, err
	}
	p.Revision = report.Revision
	if report.First {
		p.pinnedAt = time.Now()
	}
	var added []string
	for _, v := range report.Verdicts {
		if v.State == pin.StateNew {
			added = append(added, v.Name)
		}
	}
	if added == nil || report.IdentityChange != "" ||
		!p.Grows && time.Since(p.pinnedAt) > firstUse {
		return report, nil
	}
	if err := pins.Accept(server, kind, definitions, added...); err != nil {
		return report, err
	}
	report, err = pins.Check(server, kind, definitions)
	p.Revision = report.Revision // 0 after an error
	return report, err
}
