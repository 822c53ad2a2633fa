package target

import (
	"context"
	"math"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// withheldHint returns a hint for the name of a tool or prompt that a stdwire gateway does not
// list: why it withholds the item of that name, and the remedy. It returns "" if it does not.
func withheldHint(ctx context.Context, c *client.Client, name string) string {
	if c.ServerInfo().Name != "stdwire" {
		return ""
	}
	result, err := c.CallTool(ctx, "host_status", nil, client.Timeout(stateTimeout))
	if err != nil || result.IsError {
		return ""
	}
	envelope, ok := dispatch.ParseEnvelope(result.StructuredContent)
	var all struct {
		Servers []struct {
			Server   string `json:"server"`
			Withheld []struct {
				Kind   mcp.Kind `json:"kind"`
				Name   string   `json:"name"`
				Why    string   `json:"why"`
				Remedy string   `json:"remedy"`
			} `json:"withheld"`
		} `json:"servers"`
	}
	if !ok || mcp.Unmarshal(envelope.Data, &all) != nil {
		return ""
	}
	for _, s := range all.Servers {
		for _, w := range s.Withheld {
			if (w.Kind == mcp.KindTool || w.Kind == mcp.KindPrompt) &&
				(name == w.Name || name == host.PublicName(s.Server, w.Name, math.MaxInt)) {
				return printable.Line("server \"" + s.Server + "\" has it, and it is withheld: " +
					w.Why + "; " + w.Remedy)
			}
		}
	}
	return ""
}
