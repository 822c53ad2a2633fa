package control

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

func TestStatusOnATerminal(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	since := now.Add(-time.Minute).Format(time.RFC3339)
	tools := 2
	g := &gatewayClient{About: ops.About{Pid: 7, Endpoint: "stdio", Since: since, Version: "1",
		Costs: []ops.ProfileTools{{Profile: "one", Tools: 3, Bytes: 8}}}}
	g.Servers = []ops.Status{
		{Server: "files", State: "ready", Since: since, Tools: &tools, Bytes: 400,
			Withheld: []ops.WithheldItem{{Kind: "tool", Name: "a", Why: "it has changed",
				Remedy: "look at it"}}},
		{Server: "mail", State: "failed", Since: since, Error: "no key"},
	}
	g.Clients = []ops.ClientTools{{Client: "ed\n", Version: "1", Principal: "as#a\u202eda", Tools: 2,
		Bytes: 400}, {Tools: 2, Bytes: 400}}
	g.Rates = []ops.RateUse{{Rate: "calls", Limit: "6/min", Refused: 1}, {Rate: "(server)"}}
	for _, c := range []struct {
		streams termtest.Captured
		want    string
	}{
		{termtest.Capture(false), `gateway 7  stdio, for 60s, stdwire 1
  files  ready      60s  2 tools, ≈ 100 tokens
    withheld: tool a is not offered: it has changed
      → look at it
  mail   failed     60s  no key
  profile one: 3 tools, ≈ 2 tokens
  client ed of as#a\u202eda: all 2 tools, ≈ 100 tokens
  client without a name: all 2 tools, ≈ 100 tokens
  rate calls: 6/min, 1 call refused
  rate (server), 0 calls refused
`},
		{termtest.CaptureTerminal(80), "gateway 7  stdio, for 60s, stdwire 1\n" +
			"  files  \x1b[32mready\x1b[0m      60s  2 tools, ≈ 100 tokens\n" +
			"    \x1b[33mwithheld\x1b[0m: tool a is not offered: it has changed\n" +
			"      → look at it\n" +
			"  mail   \x1b[31mfailed\x1b[0m     60s  no key\n" +
			"  profile one: 3 tools, ≈ 2 tokens\n" +
			"  client ed of as#a\\u202eda: all 2 tools, ≈ 100 tokens\n" +
			"  client without a name: all 2 tools, ≈ 100 tokens\n" +
			"  rate calls: 6/min, 1 call refused\n" +
			"  rate (server), 0 calls refused\n"},
	} {
		g.print(c.streams.Out, now)
		assert.NilError(t, c.streams.Out.Flush())
		assert.Equal(t, c.streams.Stdout.String(), c.want)
	}
}
