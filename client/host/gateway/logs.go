package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway/internal/logging"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// forwardLog forwards a server's log message. It runs when the message arrives, because the
// requests in flight at that time determine the receivers. A modern server logs only within
// requests; a message that arrives after its request is dropped.
func (u *upstreamServer) forwardLog(session string, modern bool, params json.RawMessage) {
	name, _ := jsonscan.Text(jsonscan.Member(params, "level"))
	level := mcp.LoggingLevel(name)
	if !level.Valid() {
		return
	}
	q, busy, several := u.g.requests.LogQueueFor(
		(&target{id: u.id, session: session}).clientKey(), level)
	to := []*logging.Queue{q}
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
		q.Enqueue(message, len(params))
	}
}

var errAmbiguousLog = errors.New(
	"several clients have requests in flight; set perSession to give each client its own process")

// raiseLevel raises the log level of a legacy server to the level that the client of a call wants.
// It is called before the call.
func (g *Gateway) raiseLevel(ctx context.Context, c *client.Client, q *logging.Queue) {
	level := q.Level()
	if level == "" {
		return
	}
	if l := g.legacyServerOf(c); l != nil {
		l.raiseLevel(ctx, level)
	}
}
