package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// heard passes a log message of a server on. It is called when the message comes, so that what is under way now is what it belongs to. What a modern server logs always belongs to a request: if none is
// under way, to one that has ended.
func (m *mount) heard(session string, modern bool, params json.RawMessage) {
	name, _ := jsonscan.Text(jsonscan.Member(params, "level"))
	level := mcp.LoggingLevel(name)
	if !level.Valid() {
		return
	}
	one, busy, several := m.g.visits.feedOf((&upstream{id: m.id, session: session}).address(), level)
	to := []*feed{one}
	switch {
	case !busy && modern:
		return
	case !busy:
		to = m.g.guests.feedsOf(m, session, level)
	case one == nil:
		return
	case several:
		if n := m.astray.Add(1); n == 1 || n%1000 == 0 {
			m.warn("log messages are dropped: the server does not say which client's call they belong to", fmt.Errorf("%w; %d so far", errSeveral, n))
		}
		return
	}
	if len(to) == 0 {
		return
	}
	var message mcp.LoggingMessageParams
	if mcp.Unmarshal(bytes.Clone(params), &message) != nil {
		return
	}
	switch message.Logger {
	case "":
		message.Logger = m.id
	default:
		message.Logger = m.id + "/" + message.Logger
	}
	for _, f := range to {
		f.put(message, len(params))
	}
}

var errSeveral = errors.New("calls of several clients are under way; such a server is better not shared, with PerSession")

// talkative returns the level of which there are more messages; "" is none at all.
func talkative(a, b mcp.LoggingLevel) mcp.LoggingLevel {
	if a == "" || b != "" && a.AtLeast(b) {
		return b
	}
	return a
}

// raise has a legacy server say as much as the client of a call wants to hear, before the call is made.
func (g *Gateway) raise(ctx context.Context, c *client.Client, f *feed) {
	level := f.level()
	if level == "" {
		return
	}
	if l := g.legacyOf(c); l != nil {
		l.raise(ctx, level)
	}
}
