package gateway

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A visit is a request of a client that is under way at a server. Servers do not say what belongs to which request; with the visits of one client only it is that one's, and with those of several
// it is nobody's.
type visit struct {
	g       *Gateway
	address string
	who     any     // the client: its connection, or the visit itself where one connection is of many
	number  int     // of all that there were
	call    bool    // a question may be about it
	flight  *flight // that can ask; nil if nobody can be asked
	feed    feed    // of the log messages that come meanwhile
}

// visits are those under way.
type visits struct {
	mu    sync.Mutex
	all   map[string]map[*visit]struct{} // by address
	count int                            // of all that there were
	fewer chan struct{}                  // closed when one ends; nil if nobody waits for that
}

// visit begins one; it is over with leave. The feed of a flight's goes where its rider is.
func (g *Gateway) visit(ctx context.Context, u *upstream, f *flight, call bool) *visit {
	v := &visit{g: g, address: u.address(), who: u.conn, call: call, flight: f, feed: feed{server: u.id, send: g.logTo}}
	if u.stateless() {
		v.who = v
	}
	v.feed.start(ctx)
	vs := &g.visits
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.all == nil {
		vs.all = make(map[string]map[*visit]struct{})
	}
	if vs.all[v.address] == nil {
		vs.all[v.address] = make(map[*visit]struct{})
	}
	vs.all[v.address][v] = struct{}{}
	vs.count++
	v.number = vs.count
	return v
}

// logTo sends a log message to the client of a request, as long as the gateway is open.
func (g *Gateway) logTo(ctx context.Context, message mcp.LoggingMessageParams) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	return server.Log(ctx, message)
}

// leave ends a visit, and blocks until its client has what was logged: which is no other client's concern.
func (v *visit) leave() {
	vs := &v.g.visits
	vs.mu.Lock()
	delete(vs.all[v.address], v)
	if len(vs.all[v.address]) == 0 {
		delete(vs.all, v.address)
	}
	vs.tell()
	vs.mu.Unlock()
	if v.feed.stop() {
		v.g.wakeLegacies()
	}
}

// flight returns the one whose question it is that a server asks: nil if the client whose it is cannot be asked. It reports false if it is nobody's: there is none, are several, or other clients there too.
// For a legacy client, who is not told whose question it is, the latest of its own will do.
func (vs *visits) flight(address string) (f *flight, ok bool) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.find(address)
}

// find is flight with mu.
func (vs *visits) find(address string) (f *flight, ok bool) {
	var who any
	calls, latest := 0, 0
	for v := range vs.all[address] {
		if v.flight != nil && v.flight.isGivenUp() {
			continue
		}
		if who != nil && v.who != who {
			return nil, false
		}
		who = v.who
		if v.call {
			calls++
			if v.number > latest {
				f, latest = v.flight, v.number
			}
		}
	}
	if calls == 0 || calls > 1 && !isLegacy(who) {
		return nil, false
	}
	return f, true
}

// askPatience is how long a question waits for other calls to end: its own cannot, and so it is clear then whose it is.
const askPatience = 5 * time.Second

// asking is flight for a question that a server asks now: it waits, for a while, until there is one only whose it can be.
func (vs *visits) asking(ctx context.Context, address string) (f *flight, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	for {
		vs.mu.Lock()
		f, ok = vs.find(address)
		if ok || len(vs.all[address]) == 0 {
			vs.mu.Unlock()
			return f, ok
		}
		if vs.fewer == nil {
			vs.fewer = make(chan struct{})
		}
		fewer := vs.fewer
		vs.mu.Unlock()
		select {
		case <-fewer:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// tell wakes who waits until there are fewer. With mu.
func (vs *visits) tell() {
	if vs.fewer != nil {
		close(vs.fewer)
		vs.fewer = nil
	}
}

// isLegacy reports whether who visits is a legacy client that can be asked something.
func isLegacy(who any) bool {
	conn, ok := who.(*server.Conn)
	if !ok {
		return false
	}
	can := conn.Capabilities()
	return can.Elicitation != nil || can.Sampling != nil || can.Roots != nil
}

// feedOf returns where a log message goes that a server has sent: nil if the client that is there does not want it. busy is false if none is there, and several says that it could be for any of them.
func (vs *visits) feedOf(address string, level mcp.LoggingLevel) (to *feed, busy, several bool) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	var who any
	for v := range vs.all[address] {
		several = several || who != nil && v.who != who
		who = v.who
		if to == nil && level.AtLeast(v.feed.level()) {
			to = &v.feed
		}
	}
	return to, who != nil, several
}

// level is the most talkative that clients want there.
func (vs *visits) level(address string) (level mcp.LoggingLevel) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for v := range vs.all[address] {
		level = talkative(level, v.feed.level())
	}
	return level
}

// use has f use a server for the client of the request that ctx belongs to. call says that a question of the server may be about that.
func (g *Gateway) use(ctx context.Context, u *upstream, call bool, f func(*client.Client) error) error {
	if u.perSession && u.session == "" {
		return fmt.Errorf("server %q %w", u.id, ErrNoSession)
	}
	defer g.enter(u)()
	v := g.visit(ctx, u, nil, call)
	defer v.leave()
	return g.manager.Use(ctx, u.id, u.session, u.idempotent, func(c *client.Client) error {
		g.raise(ctx, c, &v.feed)
		return f(c)
	})
}
