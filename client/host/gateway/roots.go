package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const (
	// rootsPatience is how long a server waits for roots of clients that do not answer.
	rootsPatience = 5 * time.Second
	// rootsTimeout is how long a client may take. What it says after all is told to the servers as a change.
	rootsTimeout = time.Minute
	// maxRoots is how many roots a server is told.
	maxRoots = 10_000
)

// An asking is a client being asked for its roots, and then what it has said: which holds until it says that they have changed.
type asking struct {
	done   chan struct{}
	roots  []mcp.Root // when done
	missed bool       // a server was told without them; with guests.mu
}

// tellRoots has a client say what the roots are of those in front of the gateway.
func (m *mount) tellRoots(o *client.Options, session string) {
	if o.Roots != nil || o.OnRoots != nil {
		return
	}
	o.OnRoots = func(ctx context.Context) ([]mcp.Root, error) {
		f, ok := m.g.visits.flight((&upstream{id: m.id, session: session}).address())
		if ok && f == nil {
			return nil, nil
		}
		if ok {
			raw, err := f.ask(ctx, mcp.MethodListRoots, struct{}{})
			var result mcp.ListRootsResult
			switch {
			case err == nil:
				err = mcp.Unmarshal(raw, &result)
				return result.Roots, err
			case errors.Is(err, errCannotAsk):
				return nil, nil
			case err != errLanded:
				return nil, err
			}
		}
		return m.g.rootsOf(ctx, m, session), nil
	}
}

// rootsOf returns the roots of all clients that a server is there for, each once.
func (g *Gateway) rootsOf(ctx context.Context, m *mount, session string) (all []mcp.Root) {
	ctx, cancel := context.WithTimeout(ctx, rootsPatience)
	defer cancel()
	gs := &g.guests
	gs.mu.Lock()
	var asked []*asking
	for _, one := range gs.of(m, session) {
		if one.conn.Capabilities().Roots != nil {
			asked = append(asked, g.askRoots(one))
		}
	}
	gs.mu.Unlock()
	seen := make(map[string]bool)
	for _, a := range asked {
		select {
		case <-a.done:
		case <-ctx.Done():
		}
		gs.mu.Lock()
		var roots []mcp.Root
		select {
		case <-a.done:
			roots = a.roots
		default:
			a.missed = true
		}
		gs.mu.Unlock()
		for _, root := range roots {
			if !seen[root.URI] && len(all) < maxRoots {
				seen[root.URI] = true
				all = append(all, root)
			}
		}
	}
	return all
}

// askRoots asks a client for its roots, unless somebody has. With guests.mu.
func (g *Gateway) askRoots(one *guest) *asking {
	if one.roots != nil {
		return one.roots
	}
	a := &asking{done: make(chan struct{})}
	one.roots = a
	if !g.background(func() {
		ctx, cancel := context.WithTimeout(one.ctx, rootsTimeout)
		defer cancel()
		roots, err := one.conn.Roots(ctx)
		if err != nil && one.ctx.Err() == nil {
			g.o.Logger.Warn("gateway: a client has not said its roots", slog.Any("error", err))
		}
		g.guests.mu.Lock()
		defer g.guests.mu.Unlock()
		a.roots = roots
		close(a.done)
		if a.missed && len(roots) > 0 {
			g.rootsChanged(one)
		}
	}) {
		close(a.done)
	}
	return a
}

// rootsChanged tells the servers that are there for a client, and some more.
func (g *Gateway) rootsChanged(one *guest) {
	g.tellLegacies(func(l *legacy) bool { return !l.m.perSession || l.session == one.conn.Session() })
}

// guestsChanged tells all servers that they may be there for others.
func (g *Gateway) guestsChanged() {
	g.tellLegacies(func(*legacy) bool { return true })
}

// tellLegacies has some servers look at the roots, and what to log.
func (g *Gateway) tellLegacies(some func(*legacy) bool) {
	ls := &g.legacies
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.roots++
	for _, l := range ls.all {
		if some(l) {
			l.roots.Store(true)
			l.look()
		}
	}
}

// noRoots is the answer of a client that has none.
var noRoots = json.RawMessage(`{"roots":[]}`)

// withoutRoots answers for a client that has no roots what asks for them, and returns the rest.
func withoutRoots(ctx context.Context, questions mcp.InputRequests) (rest mcp.InputRequests, answered []string) {
	if server.CapabilitiesFrom(ctx).Roots != nil {
		return questions, nil
	}
	rest = make(mcp.InputRequests)
	for key, q := range questions {
		if q.Method == mcp.MethodListRoots {
			answered = append(answered, key)
		} else {
			rest[key] = q
		}
	}
	return rest, answered
}

// noRootsFor adds answers for a client that has no roots.
func noRootsFor(answers *mcp.InputAnswers, keys []string) {
	for _, key := range keys {
		if answers.InputResponses == nil {
			answers.InputResponses = make(mcp.InputResponses)
		}
		answers.InputResponses[key] = noRoots
	}
}
