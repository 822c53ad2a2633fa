package control

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

// The ages are below each other, whatever the characters of the servers are.
func TestConnectionsAreInColumns(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	since := now.Add(-time.Minute).Format(time.RFC3339)
	var all []*gatewayClient
	for name, behind := range []string{"日本 -v", "année", "plain"} {
		all = append(all, &gatewayClient{About: ops.About{Connection: "abc"[:name+1], Behind: behind,
			Since: since}})
	}
	for _, c := range []struct {
		streams termtest.Captured
		want    string
	}{
		{termtest.CaptureTerminal(80), `@a    日本 -v  for 60s
@ab   année    for 60s
@abc  plain    for 60s
`},
		{termtest.Capture(false), `@a    日本 -v  for 60s
@ab   année  for 60s
@abc  plain  for 60s
`},
	} {
		printConnections(c.streams.Streams, all, now)
		assert.NilError(t, c.streams.Out.Flush())
		assert.Equal(t, c.streams.Stdout.String(), c.want)
	}
}
