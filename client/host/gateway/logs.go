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

// forwardLog forwards a server's log message. It runs when the message arrives, so that the
// requests then under way decide where it goes. A modern server logs only within requests; a
// message that comes after its request is dropped.
func (u *upstreamServer) forwardLog(session string, modern bool, params json.RawMessage) {
	name, _ := jsonscan.Text(jsonscan.Member(params, "level"))
	level := mcp.LoggingLevel(name)
	if !level.Valid() {
		return
	}
	q, busy, several := u.g.requests.logQueueFor(
		(&target{id: u.id, session: session}).clientKey(), level)
	to := []*logQueue{q}
	switch {
	case !busy && modern:
		return
	case !busy:
		to = u.g.clients.logQueuesFor(u, session, level)
	case q == nil:
		return
	case several:
		if n := u.ambiguousLogs.Add(1); n == 1 || n%1000 == 0 {
			u.warn("log messages are dropped: the server does not say which client's call they belong to",
				fmt.Errorf("%w; %d so far", errAmbiguousLog, n))
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
		message.Logger = u.id
	default:
		message.Logger = u.id + "/" + message.Logger
	}
	for _, q := range to {
		q.enqueue(message, len(params))
	}
}

var errAmbiguousLog = errors.New(
	"calls of several clients are under way; such a server is better not shared, with PerSession")

// moreVerbose returns the level that logs more; "" logs nothing.
func moreVerbose(a, b mcp.LoggingLevel) mcp.LoggingLevel {
	if a == "" || b != "" && a.AtLeast(b) {
		return b
	}
	return a
}

// raiseLevel raises a legacy server's log level to what the client of a call wants, before the
// call.
func (g *Gateway) raiseLevel(ctx context.Context, c *client.Client, q *logQueue) {
	level := q.level()
	if level == "" {
		return
	}
	if l := g.legacyServerOf(c); l != nil {
		l.raiseLevel(ctx, level)
	}
}
