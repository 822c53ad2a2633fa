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
	// getStreamTimeout is how long the first call waits for the stream of what the server says by itself: a question to the client could get lost.
	getStreamTimeout = 300 * time.Millisecond
	// renewTimeout is how long a new session may take to begin, when no call is waiting for it.
	renewTimeout = time.Minute
	// renewInterval is how long it takes between two times that a session is replaced when no call is waiting: a server that forgets at once is not to be asked again and again.
	renewInterval = time.Minute
)

// startGetStream hears what a legacy server has to say by itself, until the Conn is closed or there is another session (2025-11-25, Transports, "Listening for Messages from
// the Server"). It returns when the server has said whether it offers that.
func (c *Conn) startGetStream(s *legacyState) {
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
	l := getStream{c: c, s: s, renewSession: c.link.Renewer(), opened: make(chan struct{})}
	if !c.startGoroutine(func() { defer cancel(); l.run(ctx) }) {
		cancel()
		return
	}
	timer := time.NewTimer(getStreamTimeout)
	defer timer.Stop()
	select {
	case <-l.opened:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// A listening is the stream of a session on which the server says things by itself, opened again whenever it ends.
type getStream struct {
	c            *Conn
	s            *legacyState
	renewSession func(context.Context) error // begins another session
	opened       chan struct{}               // closed when the server has said whether it offers that
}

func (l *getStream) run(ctx context.Context) {
	reader := l.c.newReader(nil)
	once := false
	for failures := 0; ; failures++ {
		resp, err := l.c.openGetStream(ctx, l.s, reader.LastEventID())
		if !once && failures == 0 {
			close(l.opened)
		}
		refused, _ := errors.AsType[*StatusError](err)
		switch {
		case err == nil:
			if once && reader.LastEventID() == "" {
				l.c.link.Missed()
			}
			once = true
			reader.Reset(resp.Body)
			if l.c.deliverStream(ctx, reader) {
				failures = 0
			}
			_ = resp.Body.Close()
		case ctx.Err() != nil:
			return
		case once && refused != nil && refused.sessionLost && l.s.sessionID != "":
			if l.replaceSession(ctx) {
				return
			}
		case !once && errors.Is(err, rpc.ErrProtocol):
			return // it does not offer that
		case refused != nil && !refused.isTemporary() && reader.LastEventID() != "":
			reader = l.c.newReader(nil) // perhaps it is the event that the server does not know any more
		case refused != nil && !refused.isTemporary():
			if once {
				l.c.link.Warn("the server does not tell any more of changes", slog.Any("error", err))
			}
			return
		}
		if sleep(ctx, retryDelay(reader, failures)) != nil {
			return
		}
	}
}

// replaceSession has the client begin another session in place of this, which the server has forgotten, so that what it wants to hear is heard again. It reports whether
// there is one, or ctx has ended.
func (l *getStream) replaceSession(ctx context.Context) bool {
	c := l.c
	c.markSessionLost(l.s.sessionID)
	c.mu.Lock()
	due := c.sessionReplaced.Add(renewInterval)
	c.mu.Unlock()
	if sleep(ctx, time.Until(due)) != nil {
		return true
	}
	c.mu.Lock()
	c.sessionReplaced = time.Now()
	c.mu.Unlock()
	limited, cancel := context.WithTimeout(l.c.ctx, renewTimeout) // ctx ends as soon as there is another session, before all is done
	defer cancel()
	err := l.renewSession(limited)
	if err != nil && l.c.ctx.Err() == nil {
		l.c.link.Warn("the server has forgotten the session, and will be asked for another one again", slog.Any("error", err))
	}
	return err == nil || l.c.ctx.Err() != nil
}

// deliverStream hands on what comes on a stream until that ends, and reports whether that was anything, or the stream has lasted.
func (c *Conn) deliverStream(ctx context.Context, reader *sse.Reader) bool {
	began, id, heard := time.Now(), reader.LastEventID(), false
	for {
		message, err := nextMessage(reader)
		if _, ok := errors.AsType[*sse.LimitError](err); ok {
			continue // an answer cannot be lost here
		}
		if err != nil || c.deliver(ctx, message) != nil {
			return heard || reader.LastEventID() != id || time.Since(began) >= maxRetry
		}
		heard = true
	}
}
