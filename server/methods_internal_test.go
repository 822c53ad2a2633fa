package server

import (
	"testing"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"gotest.tools/v3/assert"
)

// The server answers each request that a client sends in some revision: in that era and no other,
// by a row of methods or of a built-in extension.
func TestMethodsOfRevisions(t *testing.T) {
	srv := New(Info{Name: "s", Version: "1"}, nil)
	for _, revision := range mcp.Supported() {
		e := &era.Era{Modern: mcp.EraOf(revision) == mcp.Modern, Revision: revision}
		for m := range mcp.Methods(revision) {
			if m.Notification || m.Sender&mcp.ByClient == 0 {
				continue
			}
			row, ok := methods[m.Name]
			if m.Extension != "" {
				row, ok = extensionMethods[m.Name]
				ok = ok && row.extension == m.Extension && srv.extensions.byID[m.Extension] != nil
			}
			assert.Assert(t, ok && row.in(e), "%s of %s has no row", m.Name, revision)
		}
	}
	for name, row := range methods {
		assert.Assert(t, row.legacy || row.modern, "no revision has %s: see package mcp", name)
	}
}
