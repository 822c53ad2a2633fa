package streamable

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/httphost"
	"github.com/stdwire/stdwire/internal/keepalive"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/turn"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable/internal/card"
	"github.com/stdwire/stdwire/server/streamable/internal/eventstore"
	"github.com/stdwire/stdwire/server/streamable/internal/workers"
)

// A Handler serves MCP over HTTP. It is safe for concurrent use. Call Close or Shutdown when it is
// no longer used, to end its sessions.
type Handler struct {
	sessionTable
	responses   modernResponses
	toolViews   bool            // the server has Options.ToolView: tools may call others
	refusalLog  lograte.Limiter // limits log lines about refused callers
	streamSlots *quota.Pool
	card        *card.Documents // nil: none
	workers     workers.Pool    // for requests in sessions
	// stopped timers of streams; of each handler, because timers belong to a synctest bubble
	timers sync.Pool
}

// New returns a handler with default options, like Options{}.New(s).
func New(s *server.Server) *Handler { return Options{}.New(s) }

// New returns a handler that serves s with these options.
func (o Options) New(s *server.Server) *Handler {
	o.MaxBody = cmp.Or(o.MaxBody, 4<<20)
	o.MaxRequests = cmp.Or(o.MaxRequests, 1024)
	o.MaxStreams = cmp.Or(o.MaxStreams, 4096)
	o.MaxSessions = cmp.Or(o.MaxSessions, 10_000)
	o.SessionIdle = cmp.Or(o.SessionIdle, 30*time.Minute)
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	o.MaxEvents = cmp.Or(o.MaxEvents, 256)
	o.MaxEventBytes = cmp.Or(o.MaxEventBytes, 1<<20)
	o.MaxStored = cmp.Or(o.MaxStored, 64<<20)
	o.Logger = lograte.Logger(cmp.Or(o.Logger, s.Integration().Options().Logger))
	if principal := o.Principal; principal != nil && o.Authorize == nil {
		o.Authorize = func(r *http.Request) (c Caller, err error) {
			c.Principal, err = principal(r)
			return c, err
		}
	}
	o.AllowedHosts = httphost.Names(o.AllowedHosts)
	o.AllowedOrigins = slices.Clone(o.AllowedOrigins)
	for i, origin := range o.AllowedOrigins {
		o.AllowedOrigins[i] = strings.ToLower(origin)
	}
	return newHandler(o, s)
}

func newHandler(o Options, s *server.Server) *Handler {
	i := s.Integration()
	h := &Handler{toolViews: i.Options().ToolView != nil,
		streamSlots: quota.NewPool(int64(o.MaxStreams))}
	h.o, h.server, h.anonymous = o, s, i.Stateless("", mcp.Latest)
	h.observer = &observer{i.Options().Hooks.Safe(), o.Logger}
	h.memoryPool = newMemoryPool((*quota.Pool)(i.Options().Memory))
	h.requestSlots = quota.NewPool(int64(o.MaxRequests))
	h.eventStore = eventstore.New[*event](o.MaxStored)
	h.sessions, h.idleHeaps = map[string]*session{}, map[string]*idleHeap{}
	h.sessionSlots = quota.NewPool(int64(o.MaxSessions))
	h.responses.inflight = map[*modernResponse]struct{}{}
	h.responses.heartbeat, h.responses.running = o.Heartbeat, &h.running
	h.line, _ = h.anonymous.HookContext(context.Background()).Value(
		turn.Key{}).(*turn.Line)
	if o.Card != nil {
		var err error
		if h.card, err = card.New(*o.Card); err != nil {
			o.Logger.Error("the server card is not served", "error", err)
		}
	}
	if o.PublicURL != "" {
		if err := checkPublicURL(o.PublicURL); err != nil {
			o.Logger.Error("the PublicURL is not used", "error", err)
			h.o.PublicURL = ""
		}
	}
	shares := o.Store != nil && !o.Stateless
	if h.isReplicated = shares || o.Replicas; shares {
		h.share(o.Store)
	}
	return h
}

// Stats are the current numbers of a [Handler].
type Stats struct {
	Sessions int // sessions of legacy clients; modern clients have none
	Streams  int // GET streams, and subscriptions of modern clients

	// Forwarded is how many requests have been passed on to other servers; see [Options].Forward.
	Forwarded int64
}

// Stats returns the current numbers.
func (h *Handler) Stats() Stats {
	s := Stats{Sessions: int(h.sessionSlots.Used()), Streams: int(h.streamSlots.Used())}
	if h.forwarder != nil {
		s.Forwarded = h.forwarder.PassedOn.Load()
	}
	return s
}

// owner returns the quota owner of a principal.
func (h *Handler) owner(principal string) string {
	if principal == "" && h.o.Authorize != nil {
		return quota.Anonymous
	}
	return principal
}

// Shutdown closes the handler gracefully. It refuses new requests with 503, ends subscriptions with
// their result, waits for running requests until ctx ends, and cancels the others, which have 250
// ms to be answered with 503 or, in a stream, an error with the code [rpc.CodeBusy]. Then it calls
// Close. It returns the context's error if requests were still running. Call it before
// [http.Server.Shutdown], which waits for streams but does not end them.
func (h *Handler) Shutdown(ctx context.Context) error {
	drained := h.drain()
	h.responses.finish()
	for _, s := range h.allSessions() {
		s.conn.Finish()
	}
	var err error
	select {
	case <-drained:
	case <-ctx.Done():
		err = ctx.Err()
		h.cancelRequests()
		select {
		case <-drained:
		case <-time.After(answerTimeout):
		}
	}
	h.Close()
	return err
}

// flushTimeout is how long Close waits until the store has the last events of streams, and for what
// else is on its way there.
const flushTimeout = time.Second

// answerTimeout is how long cancelled requests may take to be answered.
const answerTimeout = 250 * time.Millisecond

// cancelRequests cancels all requests, which are answered with the error of a shutdown.
func (h *Handler) cancelRequests() {
	h.forwarder.Cancel()
	h.responses.cancel()
	for _, s := range h.allSessions() {
		s.cancelRequests()
	}
}

// Close cancels all requests, closes all sessions and streams, and ends subscriptions with their
// result. It returns when no request is running, so an operation that ignores its context delays
// it. It may be called more than once.
func (h *Handler) Close() {
	h.forwarder.Cancel()
	if h.endBackground != nil {
		defer time.AfterFunc(flushTimeout, h.endBackground).Stop()
	}
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.responses.close()
	for _, s := range h.allSessions() {
		s.close(ErrClosed)
	}
	if h.events != nil {
		h.events.Close(flushTimeout)
	}
	if h.stopShared != nil {
		h.stopShared()
	}
	h.running.Wait()
	h.workers.Close()
	switch {
	case h.forwarder != nil:
		h.forwarder.Client.Close() // operations may still have something of sessions
	case h.replicas != nil:
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		defer cancel()
		_ = h.replicas.Release(ctx) // or the lease expires
	}
}

// drainTimeout is how long running requests may take to end when Serve ends.
const drainTimeout = 10 * time.Second

// Serve serves the handler at every path of the listener until ctx ends. It then waits up to 10
// seconds for running requests, cancels the rest, closes handler and listener, and returns nil. If
// the listener fails, Serve closes both earlier and returns the error.
//
// A client has 10 seconds to send the header of a request, of at most 64 KiB, and may keep an idle
// connection for 2 minutes. Serve does not limit the number of connections; the listener can do so.
// A program that serves other paths as well, or that uses TLS, needs its own [http.Server].
//
//	l, err := net.Listen("tcp", "127.0.0.1:8080")
//	…
//	err = streamable.New(s).Serve(ctx, l)
func (h *Handler) Serve(ctx context.Context, l net.Listener) error {
	web := &http.Server{
		Handler: h, ErrorLog: slog.NewLogLogger(h.o.Logger.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		HTTP2: keepalive.ServerHTTP2(),
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(keepalive.Listener(l)) }()
	select {
	case err := <-served:
		h.Close()
		return errors.Join(err, web.Close())
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	_ = h.Shutdown(drain) // an error means that requests were cancelled
	answered, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	err := web.Shutdown(answered)
	if errors.Is(err, context.DeadlineExceeded) {
		err = web.Close()
	}
	<-served
	return err
}
