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
	// listenPatience is how long the first call waits for the stream of what the server says by itself: a question to the client could get lost.
	listenPatience = 300 * time.Millisecond
	// renewPatience is how long a new session may take to begin, when no call is waiting for it.
	renewPatience = time.Minute
	// renewInterval is how long it takes between two times that a session is replaced when no call is waiting: a server that forgets at once is not to be asked again and again.
	renewInterval = time.Minute
)

// listen hears what a legacy server has to say by itself, until the Conn is closed or there is another session (2025-11-25, Transports, "Listening for Messages from
// the Server"). It returns when the server has said whether it offers that.
func (c *Conn) listen(s *state) {
	if s.endpoint != nil {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	if c.state.stop != nil {
		c.state.stop()
	}
	c.state.stop = cancel
	c.mu.Unlock()
	l := listening{c: c, s: s, renew: c.link.Renewer(), said: make(chan struct{})}
	if !c.begin(func() { defer cancel(); l.run(ctx) }) {
		cancel()
		return
	}
	timer := time.NewTimer(listenPatience)
	defer timer.Stop()
	select {
	case <-l.said:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// A listening is the stream of a session on which the server says things by itself, opened again whenever it ends.
type listening struct {
	c     *Conn
	s     *state
	renew func(context.Context) error // begins another session
	said  chan struct{}               // closed when the server has said whether it offers that
}

func (l *listening) run(ctx context.Context) {
	reader := l.c.newReader(nil)
	once := false
	for failures := 0; ; failures++ {
		resp, err := l.c.openStream(ctx, l.s, reader.LastEventID())
		if !once && failures == 0 {
			close(l.said)
		}
		refused, _ := errors.AsType[*StatusError](err)
		switch {
		case err == nil:
			if once && reader.LastEventID() == "" {
				l.c.link.Missed()
			}
			once = true
			reader.Reset(resp.Body)
			if l.c.hearStream(ctx, reader) {
				failures = 0
			}
			_ = resp.Body.Close()
		case ctx.Err() != nil:
			return
		case once && refused != nil && refused.lost && l.s.session != "":
			if l.replaceSession(ctx) {
				return
			}
		case !once && errors.Is(err, rpc.ErrProtocol):
			return // it does not offer that
		case refused != nil && !refused.temporary() && reader.LastEventID() != "":
			reader = l.c.newReader(nil) // perhaps it is the event that the server does not know any more
		case refused != nil && !refused.temporary():
			if once {
				l.c.link.Warn("the server does not tell any more of changes", slog.Any("error", err))
			}
			return
		}
		if pause(ctx, delay(reader, failures)) != nil {
			return
		}
	}
}

// replaceSession has the client begin another session in place of this, which the server has forgotten, so that what it wants to hear is heard again. It reports whether
// there is one, or ctx has ended.
func (l *listening) replaceSession(ctx context.Context) bool {
	c := l.c
	c.lose(l.s.session)
	c.mu.Lock()
	due := c.replaced.Add(renewInterval)
	c.mu.Unlock()
	if pause(ctx, time.Until(due)) != nil {
		return true
	}
	c.mu.Lock()
	c.replaced = time.Now()
	c.mu.Unlock()
	limited, cancel := context.WithTimeout(l.c.ctx, renewPatience) // ctx ends as soon as there is another session, before all is done
	defer cancel()
	err := l.renew(limited)
	if err != nil && l.c.ctx.Err() == nil {
		l.c.link.Warn("the server has forgotten the session, and will be asked for another one again", slog.Any("error", err))
	}
	return err == nil || l.c.ctx.Err() != nil
}

// hearStream hands on what comes on a stream until that ends, and reports whether that was anything, or the stream has lasted.
func (c *Conn) hearStream(ctx context.Context, reader *sse.Reader) bool {
	began, id, heard := time.Now(), reader.LastEventID(), false
	for {
		message, err := next(reader)
		if _, ok := errors.AsType[*sse.LimitError](err); ok {
			continue // an answer cannot be lost here
		}
		if err != nil || c.deliver(ctx, message) != nil {
			return heard || reader.LastEventID() != id || time.Since(began) >= maxRetry
		}
		heard = true
	}
}
