package serve

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/access"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/credential"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/transport"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A startup makes requests for lists wait for the servers that a gateway starts. Other requests do
// not wait.
type startup struct {
	done chan struct{} // closed when the servers are listed, or have taken too long
}

func newStartup() *startup { return &startup{done: make(chan struct{})} }

// settle waits until the servers of g are listed, up to a limit, and ends the startup. A limit
// of 0 means settleTimeout; a negative one means that there is no limit. announce is called at the
// end, and announces once that the lists have changed meanwhile.
func (s *startup) settle(ctx context.Context, g *gateway.Gateway, limit time.Duration,
	announce func(), log *slog.Logger) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if limit = cmp.Or(limit, settleTimeout); limit > 0 {
		limited, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	g.Settle(limited)
	if ids := slices.Sorted(maps.Keys(g.Unlisted())); len(ids) > 0 && ctx.Err() == nil {
		log.Warn("the first lists are partial: clients that ignore list_changed miss items",
			slog.Int("servers", len(ids)), slog.Any("missing", ids[:min(len(ids), maxInvalid)]),
			slog.String("see", "--wait-lists and --warm-lists in stdwire serve --help"))
	}
	announce()
	close(s.done)
}

// wait blocks until the startup is done or ctx ends.
func (s *startup) wait(ctx context.Context) {
	select {
	case <-s.done:
	case <-ctx.Done():
	}
}

// middleware makes the requests of MCP for lists wait.
func (s *startup) middleware(next rpc.Handler) rpc.Handler {
	lists := []string{mcp.MethodListTools, mcp.MethodListPrompts, mcp.MethodListResources,
		mcp.MethodListResourceTemplates, mcp.MethodListSkills}
	return func(ctx context.Context, req *rpc.Request) (any, error) {
		if slices.Contains(lists, req.Method) {
			s.wait(ctx)
		}
		return next(ctx, req)
	}
}

// documents makes requests for the documents of an HTTP API wait.
func (s *startup) documents(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			deadline := httpdeadline.New(w, r)
			deadline.BodyRead() // a GET has none
			s.wait(r.Context())
		}
		api.ServeHTTP(w, r)
	})
}

// awaitCaller makes requests for the documents of an HTTP API wait for what only their caller has.
func (st *Reloader) awaitCaller(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			st.Gateway.AwaitCaller(r.Context())
		}
		api.ServeHTTP(w, r)
	})
}

// httpServer returns what is served over HTTP with a gateway: its profiles and the tools of its
// servers, too.
func (st *Reloader) httpServer(w transport.HTTPServer, starting *startup) transport.HTTPServer {
	w.Operations, w.Limits = st.g.Operations, st.g.Limits
	if st.g.Endpoints != nil {
		w.Endpoints = st.g.Endpoints
	}
	w.Listening, w.Missing = st.setEndpoint, st.Gateway.AwaitOperation
	w.Logins, w.KeepsLogins = st.g.Logins, st.g.logins.HasKey() || st.g.store != nil
	w.Requests = func(next http.Handler) http.Handler {
		return credential.Inbound(st.g.Messages.Handler(next))
	}
	w.API = func(next http.Handler) http.Handler {
		return access.InProfile(st.g.Profile, starting.documents(st.awaitCaller(next)))
	}
	if st.g.Rates != nil {
		w.Interceptors = []dispatch.Interceptor{st.g.Rates.Operations(st.g.Catalog)}
	}
	w.Readiness = func() transport.Readiness {
		r := transport.ReadinessOf(st.Gateway.Manager().Status(), st.requiredServers(),
			starting.done)
		st.g.store.AddTo(&r)
		return r
	}
	return w
}
