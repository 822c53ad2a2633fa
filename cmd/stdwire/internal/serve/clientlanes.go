package serve

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// clientLanes name the lanes of clients while a gateway is watched. A connection or session has a
// lane of its own, and so have the modern requests over HTTP that come from one principal, address
// and program.
type clientLanes struct {
	mu    sync.Mutex
	conns map[*server.Conn]*laneUse
	all   []*clientLane
	slots *quota.Pool
	last  int // number of the last lane, of earlier watches too
}

const (
	// maxClientLanes is the number of lanes that clients have until the watch ends. One principal
	// gets half of what others leave. Further clients share a lane.
	maxClientLanes  = 64
	maxLaneText     = 40 // columns of a name in the name of a lane
	otherClientLane = "other clients"
)

// A clientLane is the lane of a client.
type clientLane struct {
	name   string
	sender sender
	uses   int // connections and HTTP requests that it is the lane of
}

// A sender is what is known of a client without a connection.
type sender struct {
	principal string // as authenticated
	address   string // IP address; "" for a stream
	program   string // the name that the client has given itself
}

// A laneUse is a lane that a connection has until it ends.
type laneUse struct {
	lane *clientLane
	stop func() bool // makes the end of the connection have no effect
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

// handler makes the messages of one HTTP exchange have the same lane.
func (w *watchedMessages) handler(next http.Handler) http.Handler {
	if w == nil {
		return next
	}
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
		return otherClientLane // refused before its sender was known
	}
	e, _ := ctx.Value(exchangeKey{}).(*httpExchange)
	lasts := conn.Context().Done() != nil // it is a stream or session
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
		method, program := introduction(frame)
		from := sender{program: cmp.Or(program, conn.ClientName())}
		from.principal, _ = ctx.Value(dispatch.PrincipalKey{}).(string)
		if e != nil {
			from.address = e.address
		}
		found = l.find(from, lasts || method == mcp.MethodInitialize)
		if found == nil {
			return otherClientLane
		}
		if e != nil {
			e.lane = found
			found.uses++
		}
	}
	if lasts {
		l.use(conn, found)
	}
	return found.name
}

// use makes a lane that of a connection until it ends. mu must be held.
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

// find returns the lane of a sender: one that no connection or request has now, if alone is set. It
// returns nil if there are too many. mu must be held.
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

// lane returns the name of a lane. Its beginning is the same whatever the client calls itself, and
// no server's id has a space.
func (s sender) lane(number int) string {
	name := fmt.Sprintf("client %d", number)
	if s.principal != "" && s.principal != tokenPrincipal {
		name += " of " + printable.Cut(printable.Line(s.principal), maxLaneText)
	}
	if s.program != "" {
		name += ": " + printable.Cut(printable.Line(s.program), maxLaneText)
	}
	return name
}

// introduction returns the method of a message, and the name that its client gives itself in it, if
// any.
func introduction(frame []byte) (method, program string) {
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
