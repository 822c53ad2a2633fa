package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// stateTimeout limits the question for the state of a gateway's servers.
const stateTimeout = 5 * time.Second

// downStates maps the states in which a server of a gateway may lack items to their description.
var downStates = map[host.State]string{host.Starting: "is starting", host.Waiting: "has failed",
	host.Failed: "has failed too often", host.Disabled: "is disabled"}

// ExplainUnlisted adds to the failure of [NotFound] for the name of a tool or prompt the hint of
// unlistedHint, if there is one. It returns any other error unchanged.
func ExplainUnlisted(ctx context.Context, c *client.Client, name string, err error) error {
	f, ok := errors.AsType[*command.Failure](err)
	if !ok || f.Code != "not_found" {
		return err
	}
	if hint := cmp.Or(unlistedHint(ctx, c, name), withheldHint(ctx, c, name)); hint != "" {
		f.Hint = hint
	}
	return f
}

// unlistedHint returns a hint for the name of a tool or prompt that a stdwire gateway does not
// list: the state of the server that the name belongs to, if that is why. It returns "" otherwise.
func unlistedHint(ctx context.Context, c *client.Client, name string) string {
	if c.ServerInfo().Name != "stdwire" || !strings.Contains(name, "__") {
		return ""
	}
	result, err := c.CallTool(ctx, "host_status", nil, client.Timeout(stateTimeout))
	if err != nil || result.IsError {
		return ""
	}
	envelope, ok := dispatch.ParseEnvelope(result.StructuredContent)
	var all struct {
		Servers []struct {
			Server  string     `json:"server"`
			State   host.State `json:"state"`
			Error   string     `json:"error"`
			RetryIn int        `json:"retry_in_seconds"`
		} `json:"servers"`
	}
	if !ok || mcp.Unmarshal(envelope.Data, &all) != nil {
		return ""
	}
	for _, s := range all.Servers {
		state, prefix := downStates[s.State], host.PublicName(s.Server, "", math.MaxInt)
		if state == "" || !strings.HasPrefix(name, prefix) {
			continue
		}
		hint := fmt.Sprintf("server %q %s", printable.Line(s.Server), state)
		if s.Error != "" {
			hint += ": " + printable.Line(s.Error)
		}
		if s.RetryIn > 0 {
			hint += fmt.Sprintf("; it restarts in %d s", s.RetryIn)
		}
		return hint
	}
	return ""
}
