package rpchttp

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/internal/httphost"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/turn"
	"github.com/stdwire/stdwire/rpc"
)

// HandlerOptions configures a [Handler]. A number that is not positive means the default.
type HandlerOptions struct {
	// MaxBody is the maximum size of the body of a request in bytes. Default 4 MiB.
	MaxBody int64
	// MaxResponse is the maximum size of the body of a response in bytes. A JSON-RPC response that
	// does not fit is replaced by an error with [rpc.CodeInternalError]. Default 4 MiB.
	MaxResponse int64
	// MaxBatch is how many messages a batch may have. Default 100.
	MaxBatch int
	// MaxRequests is how many HTTP requests are served at once, from the first byte of the body to
	// the last one of the response. Default 128. See MaxMemory for shares.
	MaxRequests int
	// MaxMemory bounds the bytes of the bodies of all requests and of their responses, except for
	// the first 64 KiB of each body and for single responses of up to 64 KiB. Default 64 MiB, or
	// four times the larger one of MaxBody and MaxResponse if that is more.
	//
	// A sender may use at most half of the memory, and of MaxRequests, that the others leave. The
	// sender is the RemoteAddr of the request, without the port and the last 64 bits of an IPv6
	// address. HTTP middleware may set it, for example to the address that a proxy states. A sender
	// on this machine may use everything.
	MaxMemory int64
	// AllowedHosts are the host names and addresses, without port, that a request's Host header may
	// have. Case is ignored. If it is empty, a request to a loopback address must name localhost
	// or a loopback address, and a request to another address may name any host. Behind a proxy on
	// the same machine, list the names that the proxy forwards.
	AllowedHosts []string
	// Hooks observe the messages. Frame gets whole bodies. OtherID is not called.
	Hooks rpc.Hooks
}

// A Handler is an [http.Handler] that serves JSON-RPC. It is safe for concurrent use. Its requests
// hold about MaxMemory and 128 KiB for each of MaxRequests, 80 MiB in all by default, besides the
// params and results of the [rpc.Handler], and one response each that is about to be counted.
type Handler struct {
	handler rpc.Handler
	o       HandlerOptions
	origins *http.CrossOriginProtection

	ctx    context.Context // ends when a shutdown cancels the requests in progress
	cancel context.CancelCauseFunc

	requests, memory *quota.Pool
	line             turn.Line // for the work on large messages

	mu      sync.Mutex
	running int
	closing bool
	idle    chan struct{} // closed when closing is true and running is 0
}

// New returns a Handler that calls h. It starts no goroutine.
//
// The context of h is that of the HTTP request: it has its deadline, and what HTTP middleware added
// to it, such as who sent the request. It ends when the client disconnects. [rpc.Request.Peer] and
// [rpc.PeerFromContext] return nil. What h returns becomes the response as described at
// [rpc.Handler]; a panic of h becomes an error response.
func (o HandlerOptions) New(h rpc.Handler) *Handler {
	positive := func(n, def int64) int64 { return cmp.Or(max(n, 0), def) }
	o.MaxBody, o.MaxResponse = positive(o.MaxBody, 4<<20), positive(o.MaxResponse, 4<<20)
	o.MaxBatch = int(positive(int64(o.MaxBatch), 100))
	o.MaxRequests = int(positive(int64(o.MaxRequests), 128))
	o.MaxMemory = positive(o.MaxMemory, max(64<<20, 4*max(o.MaxBody, o.MaxResponse)))
	o.AllowedHosts = httphost.Names(o.AllowedHosts)
	o.Hooks = o.Hooks.Safe()
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Handler{handler: h, o: o, origins: http.NewCrossOriginProtection(),
		requests: quota.NewPool(int64(o.MaxRequests)), memory: quota.NewPool(o.MaxMemory),
		ctx: ctx, cancel: cancel, idle: make(chan struct{})}
}

// ServeHTTP implements [http.Handler]. It sets the deadlines for reading the body and writing the
// response itself, so the [http.Server] needs no timeouts for these.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	deadlines := httpdeadline.New(w, r)
	header, status := w.Header(), http.StatusOK
	header.Set("X-Content-Type-Options", "nosniff")
	var response []byte
	refused := h.check(r)
	if refused == nil {
		owner := ownerOf(r)
		ctx, end, busy := h.begin(r.Context(), owner)
		defer end()
		memory := h.memory.Open(owner)
		defer memory.Close()
		var body []byte
		if refused = busy; refused == nil {
			body, refused = h.readBody(w, r, memory)
		}
		if refused == nil {
			deadlines.BodyRead()
			response = h.respond(turn.Within(ctx, &h.line, owner), body, memory)
		}
	}
	if refused != nil {
		status, response = refused.status, rpc.AppendError(nil, rpc.ID{}, refused.err)
		header.Set(refused.header[0], refused.header[1])
	}
	if response == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(response)))
	writer := deadlines.Writer(len(response))
	w.WriteHeader(status)
	_, _ = writer.Write(response)
}
