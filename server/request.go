package server

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/discovery"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/mrtr"
	"github.com/stdwire/stdwire/server/internal/outgoing"
	"github.com/stdwire/stdwire/server/internal/params"
	"github.com/stdwire/stdwire/server/internal/task"
)

// ErrNoRequest is the error of [Elicit], [Sample], [Roots] and [Once] if ctx does not belong to a
// tools/call, prompts/get or resources/read request. Only during these can the client be asked.
var ErrNoRequest = errors.New("server: the context is not that of a request whose client can be asked")

// ErrUnsupported matches the error of [Elicit], [Sample], [Roots] and [RequireInput] if the client
// does not declare the capability that the question needs. [CapabilitiesFrom] returns the client's
// capabilities.
var ErrUnsupported = errors.New("server: the client does not declare the capability")

// A request is an MCP request that is being handled, and its context. Its slices point into the
// params and are valid until the handler returns.
type request struct {
	context.Context
	*rpc.Request
	conn       *Conn
	link       Link
	era        *era.Era
	params     params.Params
	progress   *outgoing.Progress // nil if the client has sent no progress token
	task       *task.Task         // the task that the request is or may become; nil: neither
	through    discovery.Risk     // of the tool by which the client calls a tool, if it does
	refused    error              // why that tool calls none; for the model
	finds      bool               // the client searches tools
	ownAccount atomic.Pointer[quota.Account]
	owned      atomic.Pointer[[]*OwnItems]  // what Upstreams.Own has returned; nil: not called yet
	withheld   atomic.Pointer[withheldList] // the last of Server.withheld; nil: there is none yet

	mu     sync.Mutex   // guards rounds and its fields: several goroutines may ask
	rounds *mrtr.Rounds // nil until a question is asked
}

type requestKey struct{}

// Value returns the request itself for [Elicit] and similar functions, its account for
// [dispatch.Reserve], and whether it asks for the log of the dispatcher.
func (r *request) Value(key any) any {
	switch key {
	case requestKey{}:
		return r
	case quota.Key{}:
		return r.account()
	case contextkey.Asks{}:
		return r.asks
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
	a := (*quota.Pool)(r.conn.server.o.Memory).Open(r.quotaOwner())
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

// negotiated reports whether the server offers an extension and the client of the request supports
// it.
func (r *request) negotiated(id string) bool {
	s := r.conn.server
	x := s.extensions.byID[id]
	if x == nil || !x.isOffered(r.era, s.declaredKinds()) {
		return false
	}
	if x.ServerOnly {
		return true
	}
	settings, declared := r.era.Extension(id)
	if !declared || x.Accepts == nil {
		return declared
	}
	accepted := false
	s.runCallback("Extension.Accepts of "+id, func() { accepted = x.Accepts(settings) })
	return accepted
}

// permits reports whether an item of this extension exists for the client. "" means no extension.
func (r *request) permits(extension string) bool {
	return extension == "" || r.negotiated(extension)
}

// hiddenMeta returns the keys of _meta that the client of the request does not get.
func (r *request) hiddenMeta() (keys []string) {
	s := r.conn.server
	for _, x := range s.extensions.withMeta {
		if x.isOffered(r.era, s.declaredKinds()) && !r.negotiated(x.ID) {
			keys = append(keys, x.Meta...)
		}
	}
	return keys
}

func requestFrom(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// The names of the params that are looked up in every tool call.
var (
	paramMeta      = []byte("_meta")
	paramName      = []byte("name")
	paramArguments = []byte("arguments")
	paramCursor    = []byte("cursor")
)

// CapabilitiesFrom returns the capabilities that the client of a request declares. It returns the
// zero value outside of a request, or if the client's value is invalid.
func CapabilitiesFrom(ctx context.Context) mcp.ClientCapabilities {
	if r := requestFrom(ctx); r != nil {
		can, _ := r.era.ClientCapabilities()
		return can
	}
	return mcp.ClientCapabilities{}
}

// A Client is the client of a request. Nobody has verified its name and version, which may be
// unprintable.
type Client struct {
	Name, Version string // of its clientInfo, each cut after 128 bytes; "" if it says none
	// Session is a random name of its stream, or of its legacy session over HTTP; "" for a request
	// that belongs to neither. It is no secret: it is not the session ID of Streamable HTTP, and no
	// request is accepted because it contains it.
	Session string
	// Revision is that of the request; "" before a legacy client has sent initialize.
	Revision mcp.Revision
}

// ClientFrom returns the client of the request that ctx belongs to, in both eras. In a hook call it
// knows only what a legacy client has sent with initialize. Outside of these it returns the zero
// value.
func ClientFrom(ctx context.Context) Client {
	r := requestFrom(ctx)
	if r == nil {
		conn := ConnFrom(ctx)
		if conn == nil {
			return Client{}
		}
		r = &request{conn: conn, era: conn.legacy.Load()}
	}
	info := r.clientInfo()
	c := Client{Name: info.Name, Version: info.Version, Session: r.conn.publicSession()}
	if r.era != nil {
		c.Revision = r.era.Revision
	}
	return c
}

// clientInfo returns what the client says of itself, in each request or, in the legacy era, with
// initialize.
func (r *request) clientInfo() era.ClientInfo {
	if m := &r.params.Meta; m.Version == nil && m.Capabilities == nil {
		return era.Legacy(r.conn.legacy.Load()).Client
	}
	return era.ReadClientInfo(jsonscan.Member(r.params.Get(paramMeta), mcp.MetaClientInfo))
}

// RequestIDFrom returns the id of the request that ctx belongs to, as JSON text. Outside of a
// request it returns "".
func RequestIDFrom(ctx context.Context) string {
	if r := requestFrom(ctx); r != nil {
		return r.ID.String()
	}
	return ""
}

// metaPrefix begins the keys of _meta that MCP defines (2026-07-28, Base Protocol, "_meta").
const metaPrefix = "io.modelcontextprotocol/"

// MetaFrom returns a copy of those members of the _meta of the request that ctx belongs to that the
// client has added itself: those that neither MCP nor a function of this package gives a meaning,
// and the trace context ([mcp.MetaTraceparent], [mcp.MetaTracestate] and [mcp.MetaBaggage], as far
// as they are texts), which requests to the client carry automatically. It is nil if there are
// none. Nobody has authenticated what they say.
func MetaFrom(ctx context.Context) (m mcp.Meta) {
	r := requestFrom(ctx)
	if r == nil {
		return nil
	}
	for token, value := range jsonscan.Members(r.params.Get(paramMeta)) {
		key, ok := jsonscan.Unquote(token)
		if !ok || strings.HasPrefix(string(key), metaPrefix) {
			continue
		}
		switch string(key) {
		case mcp.MetaTraceparent, mcp.MetaTracestate, mcp.MetaBaggage:
			text, _ := jsonscan.Text(value)
			if text == "" {
				continue
			}
			value = jsonscan.AppendString(nil, text)
		default:
			if r.params.Meta.Member(key) != nil {
				continue
			}
			value = bytes.Clone(value)
		}
		if m == nil {
			m = mcp.Meta{}
		}
		m[string(key)] = value
	}
	return m
}

// Progress reports the progress of a request to its client: done of total. A total of 0 means that
// it is unknown. Progress is for handlers of tools, prompts and resources; operations use
// [dispatch.Progress]. It does nothing if the client has not asked for progress or the handler has
// returned. It is safe for concurrent use.
func Progress(ctx context.Context, done, total float64, message string) {
	if r := requestFrom(ctx); r != nil && r.wantsProgress() {
		r.reportProgress(done, total, message)
	}
}

// beginProgress prepares to send progress, if the client has asked for it.
func (r *request) beginProgress() {
	if token := r.params.Meta.ProgressToken; token != nil {
		r.progress = &outgoing.Progress{Context: r, Link: r.link, Token: token}
	}
}

// wantsProgress reports whether progress is sent or recorded.
func (r *request) wantsProgress() bool { return r.progress != nil || r.task != nil }

// reportProgress records the progress of a task, or sends it to the client of a request.
func (r *request) reportProgress(done, total float64, message string) {
	switch {
	case r.task.IsTask():
		r.task.Report(done, total, message)
	case r.progress != nil:
		r.progress.Report(done, total, message)
	}
}
