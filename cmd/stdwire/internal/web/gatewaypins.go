package web

import (
	"context"
	"encoding/json"

	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A pinReview is a definition that a gateway withholds because of its pin.
type pinReview struct {
	Now      string           `json:"now"`            // to accept; JSON
	SHA256   string           `json:"sha256"`         // to accept
	Diff     []reply.DiffLine `json:"diff,omitempty"` // to the pin; none if it is new
	Findings []scan.Finding   `json:"findings"`       // of the scan
}

// review compares a withheld definition with its pin, and scans it.
func (g *watchedGateway) review(ctx context.Context, what ops.Withheld) (*pinReview, error) {
	var found ops.Review
	if err := g.Call(ctx, "host.review", what, &found); err != nil {
		return nil, err
	}
	r := &pinReview{Now: found.Now, SHA256: found.SHA256, Findings: []scan.Finding{}}
	if found.Pinned != "" {
		r.Diff = reply.DiffOf(jsondiff.Diff([]byte(found.Pinned), []byte(found.Now)))
	}
	// the files of apps and skills are not read for a scan, and instructions are no list
	if what.Kind != mcp.KindApp && what.Kind != mcp.KindSkill && what.Kind != pin.Instructions {
		r.Findings = append(r.Findings, scan.Scan([]scan.Server{{ID: what.Server,
			Lists: map[mcp.Kind][]json.RawMessage{what.Kind: {json.RawMessage(found.Now)}}}})...)
	}
	return r, nil
}
