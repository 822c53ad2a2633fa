package server

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A request is an MCP request being answered, and the context in which it is. Its slices are of the params, and live as long as the handler.
type request struct {
	context.Context
	*rpc.Request
	conn       *Conn
	link       Link
	era        *era
	meta       meta
	progress   *progress // to be told of; nil if the client does not ask
	task       *task     // that the request is, or may become; nil: neither
	members    []member  // of params
	memberBuf  [5]member // room for as many as most requests have
	ownAccount atomic.Pointer[quota.Account]

	mu     sync.Mutex // guards asks and what is in it: a handler may ask from several goroutines
	rounds *mrtr      // what the client is asked meanwhile; nil until it is
}

const maxMembers = 12 // of params: those of the protocol are fewer

type requestKey struct{}

// Value has [Elicit] and its like find the request in the context of what they are called from, and
// who needs memory find its account.
func (r *request) Value(key any) any {
	switch key {
	case requestKey{}:
		return r
	case quota.Key{}:
		return r.account()
	}
	return r.Context.Value(key)
}

// account returns what the request holds of the server's memory: the transport's account, or one of
// its own where the transport has none, or where the request goes on when the transport is done
// with it.
func (r *request) account() *quota.Account {
	if r.task == nil {
		if a := quota.FromContext(r.Context); a != nil {
			return a
		}
	}
	if a := r.ownAccount.Load(); a != nil {
		return a
	}
	a := r.conn.server.o.Memory.Open(r.quotaOwner())
	if !r.ownAccount.CompareAndSwap(nil, a) {
		return r.ownAccount.Load()
	}
	return a
}

// quotaOwner is in whose name the request takes memory and places.
func (r *request) quotaOwner() string {
	if r.task != nil {
		return r.task.quotaOwner
	}
	if a := quota.FromContext(r.Context); a != nil {
		return a.Owner()
	}
	return r.conn.principal
}

// close gives back what the request's own account holds. Its handler has returned; what it may have
// left behind gets an account that holds nothing.
func (r *request) close() { r.ownAccount.Swap(r.conn.server.closedAccount).Close() }

func requestFrom(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

type member struct{ name, value []byte }

// meta is what the protocol itself has in a request's _meta. A nil slice was not there.
type meta struct {
	version, capabilities, logLevel, progressToken []byte
	traceparent, tracestate, baggage               []byte
}

// read finds the members of params, and refuses what is there twice.
func (r *request) read() error {
	if len(r.Params) > 0 && r.Params[0] != '{' {
		return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: MCP wants an object")
	}
	r.members = r.memberBuf[:0]
	for token, value := range jsonscan.Members(r.Params) {
		name, _ := jsonscan.Unquote(token)
		if r.param(name) != nil {
			return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: %.100q is there twice", name)
		}
		if len(r.members) == maxMembers {
			return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: more than %d members", maxMembers)
		}
		r.members = append(r.members, member{name, value})
	}
	return r.meta.read(r.param(paramMeta))
}

// The names of the params that are looked up on the way of every tool call.
var (
	paramMeta      = []byte("_meta")
	paramName      = []byte("name")
	paramArguments = []byte("arguments")
	paramCursor    = []byte("cursor")
)

// param returns the value of one of the params, nil if it is not there.
func (r *request) param(name []byte) []byte {
	for i := range r.members {
		if bytes.Equal(r.members[i].name, name) {
			return r.members[i].value
		}
	}
	return nil
}

// text returns a param that must be a string; "" if it is not there.
func (r *request) text(name []byte) ([]byte, error) {
	value := r.param(name)
	if value == nil {
		return nil, nil
	}
	text, ok := jsonscan.Unquote(value)
	if !ok {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: %s must be a string", name)
	}
	return text, nil
}

func (m *meta) read(raw []byte) error {
	if raw == nil {
		return nil
	}
	if raw[0] != '{' {
		return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: _meta must be an object")
	}
	for token, value := range jsonscan.Members(raw) {
		name, _ := jsonscan.Unquote(token)
		var slot *[]byte
		switch string(name) {
		case mcp.MetaProtocolVersion:
			slot = &m.version
		case mcp.MetaClientCapabilities:
			slot = &m.capabilities
		case mcp.MetaLogLevel:
			slot = &m.logLevel
		case mcp.MetaProgressToken:
			slot = &m.progressToken
		case mcp.MetaTraceparent:
			slot = &m.traceparent
		case mcp.MetaTracestate:
			slot = &m.tracestate
		case mcp.MetaBaggage:
			slot = &m.baggage
		default:
			continue
		}
		if *slot != nil {
			return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: _meta has %q twice", name)
		}
		*slot = value
	}
	if t := m.progressToken; t != nil && t[0] != '"' && t[0] != '-' && (t[0] < '0' || t[0] > '9') {
		return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: the progress token must be a string or an integer")
	}
	return nil
}
