package rpchttp

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/stdwire/stdwire/internal/httphost"
	"github.com/stdwire/stdwire/internal/httpdeadline"
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
	// the last one of the response. Default 128.
	MaxRequests int
	// AllowedHosts are the host names and addresses, without port, that a request's Host header may
	// have. Case is ignored. If it is empty, a request to a loopback address must name localhost
	// or a loopback address, and a request to another address may name any host. Behind a proxy on
	// the same machine, list the names that the proxy forwards.
	AllowedHosts []string
	// Hooks observe the messages. Frame gets whole bodies. OtherID is not called.
	Hooks rpc.Hooks
}

// A Handler is an [http.Handler] that serves JSON-RPC. It is safe for concurrent use. Each of
// MaxRequests holds about MaxBody and twice MaxResponse bytes at most, 1.5 GiB in all by default,
// besides the results of the [rpc.Handler].
type Handler struct {
	handler rpc.Handler
	o       HandlerOptions
	origins *http.CrossOriginProtection

	ctx    context.Context // ends when a shutdown cancels the requests in progress
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	running int
	closing bool
	idle    chan struct{} // closed when closing is true and running is 0
}

// NewHandler returns a Handler that calls h. It starts no goroutine.
//
// The context of h is that of the HTTP request: it has its deadline, and what HTTP middleware added
// to it, such as who sent the request. It ends when the client disconnects. [rpc.Request.Peer] and
// [rpc.PeerFromContext] return nil. What h returns becomes the response as described at
// [rpc.Handler]; a panic of h becomes an error response.
func NewHandler(h rpc.Handler, o HandlerOptions) *Handler {
	positive := func(n, def int64) int64 { return cmp.Or(max(n, 0), def) }
	o.MaxBody, o.MaxResponse = positive(o.MaxBody, 4<<20), positive(o.MaxResponse, 4<<20)
	o.MaxBatch = int(positive(int64(o.MaxBatch), 100))
	o.MaxRequests = int(positive(int64(o.MaxRequests), 128))
	o.AllowedHosts = httphost.Names(o.AllowedHosts)
	o.Hooks = o.Hooks.Safe()
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Handler{handler: h, o: o, origins: http.NewCrossOriginProtection(),
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
		ctx, end, busy := h.begin(r.Context())
		defer end()
		var body []byte
		if refused = busy; refused == nil {
			body, refused = h.readBody(w, r)
		}
		if refused == nil {
			deadlines.BodyRead()
			response = h.respond(ctx, body)
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
