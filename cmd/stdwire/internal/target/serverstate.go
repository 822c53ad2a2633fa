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

// ExplainUnlisted adds to the failure of [NotFound] for the name of a tool or prompt why a stdwire
// gateway does not list the item, if that is known: its server is down, or the gateway withholds
// it. It returns any other error unchanged.
func ExplainUnlisted(ctx context.Context, c *client.Client, name string, err error) error {
	f, ok := errors.AsType[*command.Failure](err)
	if !ok || f.Code != "not_found" {
		return err
	}
	hint := ""
	for _, s := range serverStates(ctx, c) {
		if s.isDown() && strings.HasPrefix(name, host.PublicName(s.ID, "", math.MaxInt)) {
			hint = s.text()
			break
		}
		hint = cmp.Or(hint, s.whyWithheld(name))
	}
	f.Hint = cmp.Or(hint, f.Hint)
	return f
}

// WarnDown prints which of all configured servers lack items in the lists of c, if it is their
// gateway.
func (t *Target) WarnDown(ctx context.Context, std *term.Streams, c *client.Client) {
	if !t.Servers {
		return
	}
	for _, s := range serverStates(ctx, c) {
		if s.RetryIn = 0; s.isDown() && s.State != host.Disabled { // the gateway ends before
			std.Err.Printf("warning: %s", s.text())
		}
	}
}

// A serverState is the state of a server of a gateway, and the items that the gateway withholds.
type serverState struct {
	ID       string     `json:"server"`
	State    host.State `json:"state"`
	Error    string     `json:"error"`
	RetryIn  int        `json:"retry_in_seconds"`
	Withheld []struct {
		Kind   mcp.Kind `json:"kind"`
		Name   string   `json:"name"`
		Why    string   `json:"why"`
		Remedy string   `json:"remedy"`
	} `json:"withheld"`
}

// serverStates returns the states of the servers of a stdwire gateway, or nil if c is not connected
// to one.
func serverStates(ctx context.Context, c *client.Client) []serverState {
	if c.ServerInfo().Name != "stdwire" {
		return nil
	}
	result, err := c.CallTool(ctx, "host_status", nil, client.Timeout(stateTimeout))
	if err != nil || result.IsError {
		return nil
	}
	envelope, ok := dispatch.ParseEnvelope(result.StructuredContent)
	var all struct {
		Servers []serverState `json:"servers"`
	}
	if !ok || mcp.Unmarshal(envelope.Data, &all) != nil {
		return nil
	}
	return all.Servers
}

// isDown reports whether the server may lack items because of its state.
func (s *serverState) isDown() bool { return downStates[s.State] != "" }

// text describes the state of a server that is down.
func (s *serverState) text() string {
	text := fmt.Sprintf("server %q %s", printable.Line(s.ID), downStates[s.State])
	if s.Error != "" {
		text += ": " + printable.Line(strings.TrimPrefix(s.Error, fmt.Sprintf("server %q: ", s.ID)))
	}
	if s.RetryIn > 0 {
		text += fmt.Sprintf("; it restarts in %d s", s.RetryIn)
	}
	return text
}

// whyWithheld returns why the tool or prompt of this name is withheld, and the remedy, or "" if it
// is not.
func (s *serverState) whyWithheld(name string) string {
	for _, w := range s.Withheld {
		if (w.Kind == mcp.KindTool || w.Kind == mcp.KindPrompt) &&
			(name == w.Name || name == host.PublicName(s.ID, w.Name, math.MaxInt) ||
				name == host.PublicName(s.ID, w.Name, host.DefaultMaxName)) {
			return printable.Line(`server "` + s.ID + `" has it, and it is withheld: ` +
				w.Why + "; " + w.Remedy)
		}
	}
	return ""
}
