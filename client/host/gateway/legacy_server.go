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
	// legacyTimeout limits a logging/setLevel request and a roots notification to a legacy server.
	legacyTimeout = 2 * time.Second
	// lowerLevelDelay is how long a server keeps a log level that no client needs any more, because
	// the next call may need it again.
	lowerLevelDelay = 30 * time.Second
)

// A legacyServer is a running server of the legacy era. It is notified when the roots change, and
// its log level is set; a modern server gets both with each request.
type legacyServer struct {
	g       *Gateway
	m       *upstreamServer
	session string
	c       *client.Client
	wake    chan struct{} // capacity 1
	roots   atomic.Bool   // the roots may have changed

	levelLock chan struct{}    // capacity 1: held while the level is set
	level     mcp.LoggingLevel // the level set last; "" for none
}

// legacyServers are the running servers of the legacy era.
type legacyServers struct {
	mu    sync.Mutex
	all   map[*client.Client]*legacyServer
	roots int // number of changes so far
}

// connect calls connect and registers a legacy server.
func (m *upstreamServer) connect(ctx context.Context, session string, o client.Options,
	connect func(context.Context, string, client.Options) (*client.Client, error)) (*client.Client,
	error) {
	ls := &m.g.legacyServers
	ls.mu.Lock()
	before := ls.roots
	ls.mu.Unlock()
	var modern atomic.Bool
	o.OnRawLog = func(params json.RawMessage) { m.forwardLog(session, modern.Load(), params) }
	c, err := connect(ctx, session, o)
	if err != nil || c.Era() == mcp.Modern {
		modern.Store(err == nil)
		return c, err
	}
	l := &legacyServer{g: m.g, m: m, session: session, c: c, wake: make(chan struct{}, 1),
		levelLock: make(chan struct{}, 1), level: o.LogLevel}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !m.g.background(l.run) {
		return c, nil
	}
	if ls.all == nil {
		ls.all = make(map[*client.Client]*legacyServer)
	}
	ls.all[c] = l
	l.roots.Store(ls.roots != before) // it may have asked before
	l.notify()
	return c, nil
}

func (g *Gateway) legacyServerOf(c *client.Client) *legacyServer {
	g.legacyServers.mu.Lock()
	defer g.legacyServers.mu.Unlock()
	return g.legacyServers.all[c]
}

// wakeLegacyServers makes all legacy servers check their log level.
func (g *Gateway) wakeLegacyServers() {
	g.legacyServers.mu.Lock()
	defer g.legacyServers.mu.Unlock()
	for _, l := range g.legacyServers.all {
		l.notify()
	}
}

func (l *legacyServer) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *legacyServer) run() {
	defer func() {
		l.g.legacyServers.mu.Lock()
		delete(l.g.legacyServers.all, l.c)
		l.g.legacyServers.mu.Unlock()
	}()
	timer := time.NewTimer(lowerLevelDelay)
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
			ctx, cancel := context.WithTimeout(l.g.ctx, legacyTimeout)
			if l.c.RootsChanged(ctx) != nil && ctx.Err() != nil && l.g.ctx.Err() == nil {
				l.g.o.Logger.Warn("gateway: a server does not read that there are other roots",
					slog.String("server", l.m.id))
			}
			cancel()
		}
		less := l.adjustLevel(l.g.ctx, !quiet.IsZero() && time.Since(quiet) >= lowerLevelDelay)
		switch {
		case !less:
			quiet = time.Time{}
		case quiet.IsZero():
			quiet = time.Now()
			timer.Reset(lowerLevelDelay)
		}
	}
}

// wantedLevel returns the most verbose level that is wanted of the server now.
func (l *legacyServer) wantedLevel() mcp.LoggingLevel {
	address := (&target{id: l.m.id, session: l.session}).clientKey()
	return moreVerbose(moreVerbose(l.m.level, l.g.requests.level(address)),
		l.g.clients.level(l.m, l.session))
}

// adjustLevel sets the wanted level. A level that logs less is set only with lower; otherwise less
// is true.
func (l *legacyServer) adjustLevel(ctx context.Context, lower bool) (less bool) {
	select {
	case l.levelLock <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-l.levelLock }()
	level := l.wantedLevel()
	switch {
	case level == l.level:
		return false
	case moreVerbose(level, l.level) == level:
	case level == "" && l.level == mcp.LevelEmergency: // there is no less
		return false
	case !lower:
		return true
	case level == "":
		level = mcp.LevelEmergency
	}
	l.setLevel(ctx, level)
	return false
}

// raiseLevel sets a level that logs more than the current one, and does nothing otherwise.
func (l *legacyServer) raiseLevel(ctx context.Context, level mcp.LoggingLevel) {
	select {
	case l.levelLock <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-l.levelLock }()
	if level != l.level && moreVerbose(level, l.level) == level {
		l.setLevel(ctx, level)
	}
}

// setLevel sends logging/setLevel once and ignores failure. The caller holds levelLock.
func (l *legacyServer) setLevel(ctx context.Context, level mcp.LoggingLevel) {
	l.level = level
	if l.c.Capabilities().Logging == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, legacyTimeout)
	defer cancel()
	if err := l.c.SetLogLevel(ctx, level); err != nil && l.g.ctx.Err() == nil {
		select {
		case <-l.c.Done():
		default:
			l.m.warn("a server does not log what clients want to hear", err)
		}
	}
}
