package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/httphost"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/quota"
)

// Options are the settings of a handler. The zero value is ready for use.
type Options struct {
	Title   string // of the OpenAPI document; "": "API"
	Version string // of the API in the OpenAPI document; "": "1"

	// Principal returns the principal that sends a request. If it is nil, every caller is served as
	// the principal "". It is called for every request, those for the documents included, before
	// the body is read, concurrently. An error refuses the request: a [*dispatch.Error] or a bare
	// [dispatch.Code] is shown to the caller, with the status of its code. Any other error results
	// in a 401 with a fixed text; its own text is logged, and should not contain secrets.
	Principal func(*http.Request) (string, error)

	// Visible reports whether the caller of a request, whose context it gets, may see and use an
	// operation; nil: every one. An operation that is hidden from him is like an unknown one. It
	// may be called concurrently, once for each operation of a document.
	Visible func(ctx context.Context, op *dispatch.Operation) bool

	// AllowedHosts are the host names and addresses, without port, that a request's Host header may
	// have. Case is ignored. If it is empty, a request to a loopback address must name localhost
	// or a loopback address, and a request to another address may name any host. Behind a proxy on
	// the same machine, list the names that the proxy forwards.
	AllowedHosts []string

	MaxBody int64 // maximum size of a request body in bytes; 0: 4 MiB
	// MaxCalls is the maximum number of concurrent requests; 0: 256. A principal has at most half
	// of what the others leave.
	MaxCalls int
	// Memory bounds the bytes of bodies and answers held at a time; nil: 256 MiB. Bodies and
	// answers up to 64 KiB are not counted. Handlers and servers may use the same budget.
	Memory *dispatch.Budget
	// Logger receives refused principals, at most once a second for each address, and panics, never
	// headers or bodies; nil: the dispatcher's.
	Logger *slog.Logger
}

// New returns a handler of the operations that d's catalog has at the time of each request. It is
// safe for concurrent use and starts no goroutine.
func (o Options) New(d *dispatch.Dispatcher) http.Handler {
	o.Title = cmp.Or(o.Title, "API")
	o.Version = cmp.Or(o.Version, "1")
	o.MaxBody = cmp.Or(o.MaxBody, 4<<20)
	o.MaxCalls = cmp.Or(o.MaxCalls, 256)
	if o.Memory == nil {
		o.Memory = dispatch.NewBudget(256 << 20)
	}
	o.Logger = lograte.Logger(cmp.Or(o.Logger, d.Logger()))
	o.AllowedHosts = httphost.Names(o.AllowedHosts)
	return &handler{
		o: o, dispatcher: d, catalog: d.Catalog(), log: o.Logger,
		origins: http.NewCrossOriginProtection(), calls: quota.NewPool(int64(o.MaxCalls)),
	}
}

type handler struct {
	o          Options
	dispatcher *dispatch.Dispatcher
	catalog    *dispatch.Catalog
	log        *slog.Logger
	origins    *http.CrossOriginProtection
	calls      *quota.Pool // places for requests that are served
	documents  documents
	unknowns   lograte.Limiter // limits log lines about unknown callers
}
