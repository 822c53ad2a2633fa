package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
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
	if !strings.Contains(name, "__") {
		return ""
	}
	for _, s := range downServers(ctx, c) {
		if strings.HasPrefix(name, host.PublicName(s.ID, "", math.MaxInt)) {
			return s.text()
		}
	}
	return ""
}

// WarnDown prints which of all configured servers lack items in the lists of c, if it is their
// gateway.
func (t *Target) WarnDown(ctx context.Context, std *term.Streams, c *client.Client) {
	if !t.Servers {
		return
	}
	for _, s := range downServers(ctx, c) {
		if s.RetryIn = 0; s.State != host.Disabled { // the gateway ends before
			std.Err.Printf("warning: %s", s.text())
		}
	}
}

// A downServer is the state of a server of a gateway that may lack items.
type downServer struct {
	ID      string     `json:"server"`
	State   host.State `json:"state"`
	Error   string     `json:"error"`
	RetryIn int        `json:"retry_in_seconds"`
}

// downServers returns the servers of a stdwire gateway that may lack items, or nil if c is none.
func downServers(ctx context.Context, c *client.Client) []downServer {
	if c.ServerInfo().Name != "stdwire" {
		return nil
	}
	result, err := c.CallTool(ctx, "host_status", nil, client.Timeout(stateTimeout))
	if err != nil || result.IsError {
		return nil
	}
	envelope, ok := dispatch.ParseEnvelope(result.StructuredContent)
	var all struct {
		Servers []downServer `json:"servers"`
	}
	if !ok || mcp.Unmarshal(envelope.Data, &all) != nil {
		return nil
	}
	return slices.DeleteFunc(all.Servers,
		func(s downServer) bool { return downStates[s.State] == "" })
}

func (s downServer) text() string {
	text := fmt.Sprintf("server %q %s", printable.Line(s.ID), downStates[s.State])
	if s.Error != "" {
		text += ": " + printable.Line(strings.TrimPrefix(s.Error, fmt.Sprintf("server %q: ", s.ID)))
	}
	if s.RetryIn > 0 {
		text += fmt.Sprintf("; it restarts in %d s", s.RetryIn)
	}
	return text
}
