package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/logging"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	// legacyTimeout limits a logging/setLevel request and a roots notification to a legacy server.
	legacyTimeout = 2 * time.Second
	// lowerLevelDelay is how long a server keeps a log level that no client wants any more, because
	// the next call may want it again.
	lowerLevelDelay = 30 * time.Second
)

// A legacyServer is a running server of the legacy era. It is notified when the roots change, and
// its log level is set; a modern server gets both with each request.
type legacyServer struct {
	g        *Gateway
	upstream *upstreamServer
	session  string
	c        *client.Client
	wake     chan struct{} // capacity 1
	roots    atomic.Bool   // the roots may have changed

	levelLock chan struct{}    // capacity 1: held while the level is set
	level     mcp.LoggingLevel // the level set last; "" for none
}

// legacyServers are the running servers of the legacy era.
type legacyServers struct {
	mu    sync.Mutex
	all   map[*client.Client]*legacyServer
	roots int // number of changes of roots so far
}

// connect calls connect and registers a legacy server.
func (u *upstreamServer) connect(ctx context.Context, session string, o client.Options,
	connect func(context.Context, string, client.Options) (*client.Client, error)) (*client.Client,
	error) {
	ls := &u.g.legacyServers
	ls.mu.Lock()
	before := ls.roots
	ls.mu.Unlock()
	var modern atomic.Bool
	o.OnRawLog = func(params json.RawMessage) { u.forwardLog(session, modern.Load(), params) }
	c, err := connect(ctx, session, o)
	if err != nil || c.Era() == mcp.Modern {
		modern.Store(err == nil)
		return c, err
	}
	l := &legacyServer{g: u.g, upstream: u, session: session, c: c, wake: make(chan struct{}, 1),
		levelLock: make(chan struct{}, 1), level: o.LogLevel}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !u.g.background(l.run) {
		return c, nil
	}
	if ls.all == nil {
		ls.all = make(map[*client.Client]*legacyServer)
	}
	ls.all[c] = l
	l.roots.Store(ls.roots != before) // the server may have asked before the change
	l.notify()
	return c, nil
}

// wakeLegacyServers makes all legacy servers check their log level.
func (g *Gateway) wakeLegacyServers() {
	g.legacyServers.mu.Lock()
	defer g.legacyServers.mu.Unlock()
	for _, l := range g.legacyServers.all {
		l.notify()
	}
}

func (l *legacyServer) notify() { wake.Up(l.wake) }

// run notifies the server of changed roots and adjusts its log level until it ends.
func (l *legacyServer) run() {
	defer func() {
		l.g.legacyServers.mu.Lock()
		delete(l.g.legacyServers.all, l.c)
		l.g.legacyServers.mu.Unlock()
	}()
	timer := time.NewTimer(lowerLevelDelay)
	defer timer.Stop()
	var lowerSince time.Time // since when a lower level suffices; zero if it does not
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
				l.g.o.Logger.Warn("gateway: a server does not receive roots/list_changed",
					slog.String("server", l.upstream.id))
			}
			cancel()
		}
		less := l.adjustLevel(l.g.ctx,
			!lowerSince.IsZero() && time.Since(lowerSince) >= lowerLevelDelay)
		switch {
		case !less:
			lowerSince = time.Time{}
		case lowerSince.IsZero():
			lowerSince = time.Now()
			timer.Reset(lowerLevelDelay)
		}
	}
}

// wantedLevel returns the most verbose level that the options or a client want of the server.
func (l *legacyServer) wantedLevel() mcp.LoggingLevel {
	level := l.g.requests.Level(l.upstream.clientKey(l.session))
	return logging.MoreVerbose(logging.MoreVerbose(l.upstream.level, level),
		l.g.clients.level(l.upstream, l.session))
}

// adjustLevel sets the wanted level. A level that logs less is set only if lower is true; otherwise
// adjustLevel returns true.
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
	case logging.MoreVerbose(level, l.level) == level:
	case level == "" && l.level == mcp.LevelEmergency: // the level that logs least
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
	if level != l.level && logging.MoreVerbose(level, l.level) == level {
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
			l.upstream.warn("the log level of a server cannot be set", err)
		}
	}
}

// raiseLevel raises the log level of a legacy server to the level that the client of a call wants.
// It is called before the call.
func (g *Gateway) raiseLevel(ctx context.Context, c *client.Client, q *logging.Queue) {
	level := q.Level()
	if level == "" {
		return
	}
	g.legacyServers.mu.Lock()
	l := g.legacyServers.all[c]
	g.legacyServers.mu.Unlock()
	if l != nil {
		l.raiseLevel(ctx, level)
	}
}

// rootsChanged notifies the servers of a client that its roots have changed.
func (g *Gateway) rootsChanged(lc *legacyClient) {
	g.notifyLegacyServers(func(l *legacyServer) bool {
		return l.upstream.sharing == host.Shared || l.session == lc.conn.Session()
	})
}

// clientsChanged notifies all servers that their clients may have changed.
func (g *Gateway) clientsChanged() {
	g.notifyLegacyServers(func(*legacyServer) bool { return true })
}

// notifyLegacyServers makes the selected servers check the roots and their log level.
func (g *Gateway) notifyLegacyServers(some func(*legacyServer) bool) {
	ls := &g.legacyServers
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.roots++
	for _, l := range ls.all {
		if some(l) {
			l.roots.Store(true)
			l.notify()
		}
	}
}

// forwardLog forwards a server's log message. It runs when the message arrives, because the
// requests in flight at that time determine the receivers. A modern server logs only within
// requests; a message that arrives after its request is dropped.
func (u *upstreamServer) forwardLog(session string, modern bool, params json.RawMessage) {
	name, _ := jsonscan.Text(jsonscan.Member(params, "level"))
	level := mcp.LoggingLevel(name)
	if !level.Valid() {
		return
	}
	q, busy, several := u.g.requests.LogQueueFor(u.clientKey(session), level)
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
