package legacypeers

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
	p        *Peers
	upstream *Upstream
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

func (l *legacyServer) notify() { wake.Up(l.wake) }

// run notifies the server of changed roots and adjusts its log level until it ends.
func (l *legacyServer) run() {
	defer func() {
		l.p.servers.mu.Lock()
		delete(l.p.servers.all, l.c)
		l.p.servers.mu.Unlock()
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
		case <-l.p.Ctx.Done():
			return
		}
		if l.roots.Swap(false) {
			ctx, cancel := context.WithTimeout(l.p.Ctx, legacyTimeout)
			if l.c.RootsChanged(ctx) != nil && ctx.Err() != nil && l.p.Ctx.Err() == nil {
				l.p.Log.Warn("gateway: a server does not receive roots/list_changed",
					slog.String("server", l.upstream.ID))
			}
			cancel()
		}
		less := l.adjustLevel(l.p.Ctx,
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
	level := l.p.Requests.Level(l.upstream.Key(l.session))
	return logging.MoreVerbose(logging.MoreVerbose(l.upstream.Level, level),
		l.p.clients.level(l.upstream, l.session))
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
	if err := l.c.SetLogLevel(ctx, level); err != nil && l.p.Ctx.Err() == nil {
		select {
		case <-l.c.Done():
		default:
			l.p.Log.Warn("gateway: the log level of a server cannot be set",
				slog.String("server", l.upstream.ID), slog.Any("error", err))
		}
	}
}

// RaiseLevel raises the log level of a legacy server to the level that the client of a call wants.
// It is called before the call.
func (p *Peers) RaiseLevel(ctx context.Context, c *client.Client, q *logging.Queue) {
	level := q.Level()
	if level == "" {
		return
	}
	p.servers.mu.Lock()
	l := p.servers.all[c]
	p.servers.mu.Unlock()
	if l != nil {
		l.raiseLevel(ctx, level)
	}
}

// WakeServers makes all legacy servers check their log level.
func (p *Peers) WakeServers() {
	p.servers.mu.Lock()
	defer p.servers.mu.Unlock()
	for _, l := range p.servers.all {
		l.notify()
	}
}

// forwardLog forwards a server's log message. It runs when the message arrives, because the
// requests in flight at that time determine the receivers. A modern server logs only within
// requests; a message that arrives after its request is dropped.
func (p *Peers) forwardLog(u *Upstream, session string, modern bool, params json.RawMessage) {
	name, _ := jsonscan.Text(jsonscan.Member(params, "level"))
	level := mcp.LoggingLevel(name)
	if !level.Valid() {
		return
	}
	q, busy, several := p.Requests.LogQueueFor(u.Key(session), level)
	to := []*logging.Queue{q}
	switch {
	case !busy && modern:
		return
	case !busy:
		to = p.clients.logQueuesFor(u, session, level)
	case q == nil:
		return
	case several:
		if n := u.ambiguousLogs.Add(1); n == 1 || n%1000 == 0 {
			p.Log.Warn("gateway: log messages are dropped: the server does not say which client's "+
				"call they belong to", slog.String("server", u.ID),
				slog.Any("error", fmt.Errorf("%w; %d so far", errAmbiguousLog, n)))
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
		message.Logger = u.ID
	default:
		message.Logger = u.ID + "/" + message.Logger
	}
	for _, q := range to {
		q.Enqueue(message, len(params))
	}
}

var errAmbiguousLog = errors.New(
	"several clients have requests in flight; set perSession to give each client its own process")
