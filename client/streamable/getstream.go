package streamable

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/internal/sse"
	"github.com/stdwire/stdwire/rpc"
)

const (
	// getStreamTimeout limits how long the first call waits for the GET stream to open. Without it,
	// a request of the server to the client could get lost.
	getStreamTimeout = 300 * time.Millisecond
	// renewTimeout limits the replacement of a lost session when no call waits for it.
	renewTimeout = time.Minute
	// renewInterval is the minimum time between two such replacements, for servers that lose
	// sessions at once.
	renewInterval = time.Minute
)

// startGetStream opens the GET stream for messages that the server sends without a request, and
// keeps it open until the conn is closed or the session replaced (2025-11-25, Transports,
// "Listening for Messages from the Server"). It returns when the server has accepted or refused the
// stream, or after getStreamTimeout.
func (c *conn) startGetStream(s *legacyState) {
	if s.endpoint != nil {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	if c.state.stopGetStream != nil {
		c.state.stopGetStream()
	}
	c.state.stopGetStream = cancel
	c.mu.Unlock()
	g := getStream{c: c, s: s, renewSession: c.link.Renewer(), opened: make(chan struct{})}
	if !c.startGoroutine(func() { defer cancel(); g.run(ctx) }) {
		cancel()
		return
	}
	timer := time.NewTimer(getStreamTimeout)
	defer timer.Stop()
	select {
	case <-g.opened:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// A getStream is the GET stream of a session, which is reopened whenever it ends.
type getStream struct {
	c            *conn
	s            *legacyState
	renewSession func(context.Context) error // starts a new session
	opened       chan struct{}               // closed after the first attempt to open the stream
}

func (g *getStream) run(ctx context.Context) {
	reader := g.c.newReader(nil)
	wasOpen := false
	for failures := 0; ; failures++ {
		resp, err := g.c.openGetStream(ctx, g.s, reader.LastEventID())
		if !wasOpen && failures == 0 {
			close(g.opened)
		}
		refused, _ := errors.AsType[*StatusError](err)
		switch {
		case err == nil:
			if wasOpen && reader.LastEventID() == "" {
				g.c.link.Missed()
			}
			wasOpen = true
			reader.Reset(resp.Body)
			if g.c.deliverStream(ctx, reader) {
				failures = 0
			}
			_ = resp.Body.Close()
		case ctx.Err() != nil:
			return
		case wasOpen && refused != nil && refused.sessionLost && g.s.sessionID != "":
			if g.replaceSession(ctx) {
				return
			}
		case !wasOpen && errors.Is(err, rpc.ErrProtocol):
			return // the server offers no GET stream
		case refused != nil && !refused.isTemporary() && reader.LastEventID() != "":
			reader = g.c.newReader(nil) // the server may no longer know the event
		case refused != nil && !refused.isTemporary():
			if wasOpen {
				g.c.link.Warn("the server no longer sends notifications", slog.Any("error", err))
			}
			return
		}
		if sleep(ctx, retryDelay(reader, failures)) != nil {
			return
		}
	}
}

// replaceSession starts a new session in place of one that the server has lost, and restores its
// subscriptions. It reports whether there is a new session or ctx has ended.
func (g *getStream) replaceSession(ctx context.Context) bool {
	c := g.c
	c.markSessionLost(g.s.sessionID)
	c.mu.Lock()
	due := c.sessionReplaced.Add(renewInterval)
	c.mu.Unlock()
	if sleep(ctx, time.Until(due)) != nil {
		return true
	}
	c.mu.Lock()
	c.sessionReplaced = time.Now()
	c.mu.Unlock()
	// ctx ends as soon as there is a session, before subscriptions are restored.
	limited, cancel := context.WithTimeout(g.c.ctx, renewTimeout)
	defer cancel()
	err := g.renewSession(limited)
	if err != nil && g.c.ctx.Err() == nil {
		g.c.link.Warn("the server no longer knows the session, and no new one could be started yet",
			slog.Any("error", err))
	}
	return err == nil || g.c.ctx.Err() != nil
}

// deliverStream delivers the messages of a stream until it ends. It reports whether the stream
// brought anything or lasted for at least maxRetry.
func (c *conn) deliverStream(ctx context.Context, reader *sse.Reader) bool {
	began, id, received := time.Now(), reader.LastEventID(), false
	for {
		message, err := nextMessage(reader)
		if _, ok := errors.AsType[*sse.LimitError](err); ok {
			continue // the event cannot be the response to a request
		}
		if err != nil || c.deliver(ctx, message) != nil {
			return received || reader.LastEventID() != id || time.Since(began) >= maxRetry
		}
		received = true
	}
}
