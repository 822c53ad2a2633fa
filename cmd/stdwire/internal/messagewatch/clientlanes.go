package messagewatch

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/transport"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// clientLanes assign lanes to clients while a gateway is watched. Each connection and each session
// has its own lane. Modern requests over HTTP that come from the same principal, address and
// program share one.
type clientLanes struct {
	mu    sync.Mutex
	conns map[*server.Conn]*laneUse
	all   []*clientLane
	slots *quota.Pool
	last  int // number of the last lane, counted over all watches
}

const (
	// maxClientLanes is the greatest number of lanes of clients in a watch. One principal gets at
	// most half of what the others leave. Further clients share a lane.
	maxClientLanes  = 64
	maxLaneText     = 40 // columns of a name in the name of a lane
	otherClientLane = "other clients"
)

// A clientLane is the lane of a client.
type clientLane struct {
	name   string
	sender sender
	uses   int // connections and HTTP requests that have this lane
}

// A sender identifies a client that has no connection of its own.
type sender struct {
	principal string // as authenticated
	address   string // IP address; "" for a stream
	program   string // the name in clientInfo, which is not verified
}

// A laneUse is the use of a lane by a connection, until the connection ends.
type laneUse struct {
	lane *clientLane
	stop func() bool // cancels what would run at the end of the connection
}

func newClientLanes() *clientLanes {
	l := new(clientLanes)
	l.clear()
	return l
}

// clear forgets all lanes. Their numbers are not used again.
func (l *clientLanes) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, use := range l.conns {
		use.stop()
	}
	l.conns, l.all = map[*server.Conn]*laneUse{}, nil
	l.slots = quota.NewPool(maxClientLanes)
}

// An httpExchange is one HTTP request and its response.
type httpExchange struct {
	address string
	lane    *clientLane // nil: not known yet
}

type exchangeKey struct{}

// Handler gives all messages of an HTTP exchange the same lane.
func (w *Messages) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !w.on.Load() {
			next.ServeHTTP(rw, r)
			return
		}
		e := &httpExchange{address: r.RemoteAddr}
		if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
			e.address = host
		}
		defer w.clients.end(e)
		next.ServeHTTP(rw, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, e)))
	})
}

// lane returns the name of the lane of a message. ctx is that of the hook.
func (l *clientLanes) lane(ctx context.Context, frame []byte) string {
	conn := server.ConnFrom(ctx)
	if conn == nil {
		return otherClientLane // the request was refused before its sender was known
	}
	e, _ := ctx.Value(exchangeKey{}).(*httpExchange)
	persistent := conn.Context().Done() != nil // conn is a stream or session
	l.mu.Lock()
	defer l.mu.Unlock()
	if use := l.conns[conn]; use != nil {
		return use.lane.name
	}
	var found *clientLane
	if e != nil {
		found = e.lane
	}
	if found == nil {
		method, program := clientInfo(frame)
		from := sender{program: cmp.Or(program, server.ClientFrom(ctx).Name)}
		from.principal = dispatch.PrincipalFrom(ctx)
		if e != nil {
			from.address = e.address
		}
		found = l.find(from, persistent || method == mcp.MethodInitialize)
		if found == nil {
			return otherClientLane
		}
		if e != nil {
			e.lane = found
			found.uses++
		}
	}
	if persistent {
		l.use(conn, found)
	}
	return found.name
}

// use assigns a lane to a connection until the connection ends. mu must be held.
func (l *clientLanes) use(conn *server.Conn, lane *clientLane) {
	lane.uses++
	use := &laneUse{lane: lane}
	l.conns[conn] = use
	use.stop = context.AfterFunc(conn.Context(), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		lane.uses--
		if l.conns[conn] == use {
			delete(l.conns, conn)
		}
	})
}

// end is called at the end of an exchange.
func (l *clientLanes) end(e *httpExchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.lane != nil {
		e.lane.uses--
	}
}

// find returns the lane of a sender, or nil if there are too many lanes. If alone is set, no
// connection or request uses the lane now. mu must be held.
func (l *clientLanes) find(from sender, alone bool) *clientLane {
	for _, lane := range l.all {
		if lane.sender == from && (!alone || lane.uses == 0) {
			return lane
		}
	}
	if l.slots.Take(from.principal, 1) != nil {
		return nil
	}
	l.last++
	lane := &clientLane{name: from.lane(l.last), sender: from}
	l.all = append(l.all, lane)
	return lane
}

// lane returns the name of a lane. It begins with text that a client cannot choose, and it has a
// space, so it differs from the id of every server.
func (s sender) lane(number int) string {
	name := fmt.Sprintf("client %d", number)
	if s.principal != "" && s.principal != transport.TokenPrincipal {
		name += " of " + printable.Cut(printable.Line(s.principal), maxLaneText)
	}
	if s.program != "" {
		name += ": " + printable.Cut(printable.Line(s.program), maxLaneText)
	}
	return name
}

// clientInfo returns the method of a message, and the name of the client in its clientInfo, or "".
func clientInfo(frame []byte) (method, program string) {
	frame = bytes.TrimSpace(frame)
	if jsonscan.Valid(frame) != nil || frame[0] != '{' {
		return "", "" // a batch, or malformed
	}
	method, _ = jsonscan.Text(jsonscan.Member(frame, "method"))
	params := jsonscan.Member(frame, "params")
	info := jsonscan.Member(jsonscan.Member(params, "_meta"), mcp.MetaClientInfo)
	if method == mcp.MethodInitialize {
		info = jsonscan.Member(params, "clientInfo")
	}
	program, _ = jsonscan.Text(jsonscan.Member(info, "name"))
	return method, program
}
