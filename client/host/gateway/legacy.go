package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	// legacyPatience is how long a legacy server may take to hear of something.
	legacyPatience = 2 * time.Second
	// lingering is for how long a server goes on to log what nobody wants any more: the next call may want it again.
	lingering = 30 * time.Second
)

// A legacy is a legacy server that runs. It is told what modern ones are told with each request, when that changes: that there are other roots, and what to log.
type legacy struct {
	g       *Gateway
	m       *mount
	session string
	c       *client.Client
	wake    chan struct{} // capacity 1
	roots   atomic.Bool   // are others than it was told, perhaps

	busy  chan struct{}    // capacity 1: held by who sets the level
	level mcp.LoggingLevel // that it was asked for last; "": none
}

// legacies are those that run.
type legacies struct {
	mu    sync.Mutex
	all   map[*client.Client]*legacy
	roots int // how often they have changed
}

// connect calls connect, and looks after what it returns.
func (m *mount) connect(ctx context.Context, session string, o client.Options, connect func(context.Context, string, client.Options) (*client.Client, error)) (*client.Client, error) {
	ls := &m.g.legacies
	ls.mu.Lock()
	before := ls.roots
	ls.mu.Unlock()
	var modern atomic.Bool
	o.TapLog = func(params json.RawMessage) { m.heard(session, modern.Load(), params) }
	c, err := connect(ctx, session, o)
	if err != nil || c.Era() == mcp.Modern {
		modern.Store(err == nil)
		return c, err
	}
	l := &legacy{g: m.g, m: m, session: session, c: c, wake: make(chan struct{}, 1), busy: make(chan struct{}, 1), level: o.LogLevel}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !m.g.background(l.run) {
		return c, nil
	}
	if ls.all == nil {
		ls.all = make(map[*client.Client]*legacy)
	}
	ls.all[c] = l
	l.roots.Store(ls.roots != before) // it may have asked before
	l.look()
	return c, nil
}

func (g *Gateway) legacyOf(c *client.Client) *legacy {
	g.legacies.mu.Lock()
	defer g.legacies.mu.Unlock()
	return g.legacies.all[c]
}

// wakeLegacies has all of them look whether they are to log something else.
func (g *Gateway) wakeLegacies() {
	g.legacies.mu.Lock()
	defer g.legacies.mu.Unlock()
	for _, l := range g.legacies.all {
		l.look()
	}
}

func (l *legacy) look() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *legacy) run() {
	defer func() {
		l.g.legacies.mu.Lock()
		delete(l.g.legacies.all, l.c)
		l.g.legacies.mu.Unlock()
	}()
	timer := time.NewTimer(lingering)
	defer timer.Stop()
	var quiet time.Time // since when less is wanted; zero if it is not
	for {
		select {
		case <-l.wake:
		case <-timer.C:
		case <-l.c.Done():
			return
		case <-l.g.ctx.Done():
			return
		}
		if l.roots.Swap(false) {
			ctx, cancel := context.WithTimeout(l.g.ctx, legacyPatience)
			if l.c.RootsChanged(ctx) != nil && ctx.Err() != nil && l.g.ctx.Err() == nil {
				l.g.o.Logger.Warn("gateway: a server does not read that there are other roots", slog.String("server", l.m.id))
			}
			cancel()
		}
		less := l.adjust(l.g.ctx, !quiet.IsZero() && time.Since(quiet) >= lingering)
		switch {
		case !less:
			quiet = time.Time{}
		case quiet.IsZero():
			quiet = time.Now()
			timer.Reset(lingering)
		}
	}
}

// wanted is the level that somebody wants of the server now.
func (l *legacy) wanted() mcp.LoggingLevel {
	address := (&upstream{id: l.m.id, session: l.session}).address()
	return talkative(talkative(l.m.level, l.g.visits.level(address)), l.g.guests.level(l.m, l.session))
}

// adjust has the server log as much as is wanted. It reports true if that is less than it does, and lower is false.
func (l *legacy) adjust(ctx context.Context, lower bool) (less bool) {
	select {
	case l.busy <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-l.busy }()
	level := l.wanted()
	switch {
	case level == l.level:
		return false
	case talkative(level, l.level) == level:
	case level == "" && l.level == mcp.LevelEmergency: // there is no less
		return false
	case !lower:
		return true
	case level == "":
		level = mcp.LevelEmergency
	}
	l.set(ctx, level)
	return false
}

// raise has the server log more, if it does not log as much already.
func (l *legacy) raise(ctx context.Context, level mcp.LoggingLevel) {
	select {
	case l.busy <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-l.busy }()
	if level != l.level && talkative(level, l.level) == level {
		l.set(ctx, level)
	}
}

// set asks the server for a level; once, whatever comes of it. With busy.
func (l *legacy) set(ctx context.Context, level mcp.LoggingLevel) {
	l.level = level
	if l.c.Capabilities().Logging == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, legacyPatience)
	defer cancel()
	if err := l.c.SetLogLevel(ctx, level); err != nil && l.g.ctx.Err() == nil {
		select {
		case <-l.c.Done():
		default:
			l.m.warn("a server does not log what clients want to hear", err)
		}
	}
}
