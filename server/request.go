package server

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/mrtr"
	"github.com/stdwire/stdwire/server/internal/outgoing"
	"github.com/stdwire/stdwire/server/internal/task"
)

// A request is an MCP request that is being handled, and its context. Its slices point into the
// params and are valid until the handler returns.
type request struct {
	context.Context
	*rpc.Request
	conn       *Conn
	link       Link
	era        *era
	meta       meta
	progress   *progress  // nil if the client has sent no progress token
	task       *task.Task // the task that the request is or may become; nil: neither
	members    []member   // of the params
	memberBuf  [3]member  // as many as a tool call has
	ownAccount atomic.Pointer[quota.Account]

	mu     sync.Mutex   // guards rounds and its fields: several goroutines may ask
	rounds *mrtr.Rounds // nil until a question is asked
}

const maxMembers = 12 // of the params; the protocol defines fewer

type requestKey struct{}

// Value returns the request itself for [Elicit] and similar functions, and its account for
// [dispatch.Reserve].
func (r *request) Value(key any) any {
	switch key {
	case requestKey{}:
		return r
	case quota.Key{}:
		return r.account()
	}
	return r.Context.Value(key)
}

// account returns the account for memory that the handler uses: the transport's, or the request's
// own if the transport has none. A task also has its own, because it outlives the transport's.
func (r *request) account() *quota.Account {
	if r.task == nil {
		if a := quota.FromContext(r.Context); a != nil {
			return a
		}
	}
	if a := r.ownAccount.Load(); a != nil {
		return a
	}
	a := r.conn.server.o.Memory.Pool().Open(r.quotaOwner())
	if !r.ownAccount.CompareAndSwap(nil, a) {
		return r.ownAccount.Load()
	}
	return a
}

// quotaOwner returns the owner of the memory and task slots that the request uses.
func (r *request) quotaOwner() string {
	if r.task != nil {
		return r.task.QuotaOwner
	}
	if a := quota.FromContext(r.Context); a != nil {
		return a.Owner()
	}
	return r.conn.principal
}

// close releases the memory of the request's own account, after the handler has returned.
// Goroutines that still run get an account without memory.
func (r *request) close() { r.ownAccount.Swap(r.conn.server.closedAccount).Close() }

func requestFrom(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

type member struct{ name, value []byte }

// meta holds the members of _meta that the protocol defines. A nil slice means that the member is
// missing.
type meta struct {
	version, capabilities, logLevel, progressToken []byte
	traceparent, tracestate, baggage, app          []byte
}

// open initializes r for a message with the context ctx, and reads its params.
func (r *request) open(ctx context.Context, req *rpc.Request) error {
	from, _ := ctx.Value(connKey{}).(*connContext)
	r.Context, r.Request, r.conn, r.link = ctx, req, from.conn, from.link
	if r.link == nil {
		r.link = outgoing.None{}
		if peer := req.Peer(); peer != nil {
			r.link = r.conn.server.wrapLink(peer)
		}
	}
	return r.read()
}

// read finds the members of params. It refuses duplicates.
func (r *request) read() error {
	if len(r.Params) > 0 && r.Params[0] != '{' {
		return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: MCP requires an object")
	}
	r.members = r.memberBuf[:0]
	for token, value := range jsonscan.Members(r.Params) {
		name, _ := jsonscan.Unquote(token)
		if r.param(name) != nil {
			return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: %.100q occurs twice", name)
		}
		if len(r.members) == maxMembers {
			return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: more than %d members",
				maxMembers)
		}
		r.members = append(r.members, member{name, value})
	}
	return r.meta.read(r.param(paramMeta))
}

// The names of the params that are looked up in every tool call.
var (
	paramMeta      = []byte("_meta")
	paramName      = []byte("name")
	paramArguments = []byte("arguments")
	paramCursor    = []byte("cursor")
)

// param returns the value of a member of params, or nil.
func (r *request) param(name []byte) []byte {
	for i := range r.members {
		if bytes.Equal(r.members[i].name, name) {
			return r.members[i].value
		}
	}
	return nil
}

// text returns a member of params that must be a string, or nil if it is missing.
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

// member returns where to store the value of a key, or nil if the protocol does not define the key.
func (m *meta) member(key []byte) *[]byte {
	switch string(key) {
	case mcp.MetaProtocolVersion:
		return &m.version
	case mcp.MetaClientCapabilities:
		return &m.capabilities
	case mcp.MetaLogLevel:
		return &m.logLevel
	case mcp.MetaProgressToken:
		return &m.progressToken
	case mcp.MetaTraceparent:
		return &m.traceparent
	case mcp.MetaTracestate:
		return &m.tracestate
	case mcp.MetaBaggage:
		return &m.baggage
	case mcp.MetaApp:
		return &m.app
	}
	return nil
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
		slot := m.member(name)
		if slot == nil {
			continue
		}
		if *slot != nil {
			return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: _meta has %q twice", name)
		}
		*slot = value
	}
	if t := m.progressToken; t != nil && t[0] != '"' && t[0] != '-' && (t[0] < '0' || t[0] > '9') {
		return rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: the progress token must be a string or an integer")
	}
	return nil
}

// A scannedRequest is a request whose params are read before middleware gets it. It is also the
// context for the middleware.
type scannedRequest struct {
	context.Context
	request request
	err     error // the error of request.read
	raw     json.RawMessage
	used    atomic.Bool // a call of handle uses request; middleware may call handle again
}

type scannedKey struct{}

func (s *scannedRequest) Value(key any) any {
	switch key.(type) {
	case scannedKey, contextkey.RequestParams:
		return s
	case contextkey.Connection:
		return s.request.conn
	}
	return s.Context.Value(key)
}

// scan returns a handler that reads the params of each request once, both for next, which is
// middleware, and for handle.
func scan(next rpc.Handler) rpc.Handler {
	return func(ctx context.Context, req *rpc.Request) (any, error) {
		if req.IsNotification() {
			return next(ctx, req)
		}
		s := &scannedRequest{Context: ctx, raw: req.Params}
		s.err = s.request.open(ctx, req)
		return next(s, req)
	}
}

// request returns the request for a call of handle. It fails if the params are invalid.
func (s *Server) request(ctx context.Context, req *rpc.Request) (*request, error) {
	if len(s.o.Middleware) > 0 {
		scanned, _ := ctx.Value(scannedKey{}).(*scannedRequest)
		if scanned != nil && scanned.Of(req.Params) && scanned.used.CompareAndSwap(false, true) {
			scanned.request.Context, scanned.request.Request = ctx, req
			return &scanned.request, scanned.err
		}
	}
	r := new(request)
	return r, r.open(ctx, req)
}

// Of implements [mcp.RequestParams].
func (s *scannedRequest) Of(params json.RawMessage) bool {
	return jsonscan.Same(params, s.raw)
}

// Param implements [mcp.RequestParams].
func (s *scannedRequest) Param(name string) json.RawMessage {
	for i := range s.request.members {
		if string(s.request.members[i].name) == name {
			return s.request.members[i].value
		}
	}
	return nil
}

// MetaValue implements [mcp.RequestParams].
func (s *scannedRequest) MetaValue(key string) json.RawMessage {
	if value := s.request.meta.member([]byte(key)); value != nil {
		return *value
	}
	return nil
}
