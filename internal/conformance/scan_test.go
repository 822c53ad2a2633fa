//go:build linux

package conformance_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Real servers are honest: a finding of a scan above the level info is wrong.
func TestScanOfRealServers(t *testing.T) {
	b := newNodeBench(t)
	for _, server := range [][]string{
		{"mcp-server-everything"}, {"mcp-server-filesystem", b.dir}, {"mcp-server-memory"},
		{"mcp-server-sequential-thinking"},
		{"env", "CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS=1", "chrome-devtools-mcp",
			"--no-usage-statistics"},
	} {
		o := b.stdwire([]string{"scan", "--fail-on", "low"}, server...)
		assert.Equal(t, o.code, 0, "%v: %v", server, o)
		assert.Assert(t, strings.Contains(o.stdout, " of 1 server\n") &&
			!strings.Contains(o.stdout, " in nothing"), "%v: %v", server, o)
	}
}
