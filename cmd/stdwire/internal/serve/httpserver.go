package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/connlimit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/observe"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
	"github.com/stdwire/stdwire/internal/keepalive"
	"github.com/stdwire/stdwire/server/streamable"
)

// maxConnections is the default of the limit of the same name in a configuration.
const maxConnections = 4096

// An httpServer serves MCP and the HTTP API over HTTP. Its fields are set by flags.
type httpServer struct {
	address  string // "" means HTTP is not served
	noAuth   bool
	token    bearerToken
	metrics  metricsToken
	tls      tlsFlags
	oauth    oauthFlags
	card     cardFlags
	sse      bool
	stateKey []byte // nil means a random key

	limits    config.Limits
	listening func(url string) // called with the URL; may be nil
	// waits for an operation that may still be added; may be nil
	missing  func(ctx context.Context, operation string) error
	recorder *observe.Recorder
	starting *startup               // nil if no servers are offered, or they have all been started
	servers  *host.Manager          // nil if no servers are offered
	required func() map[string]bool // IDs of the servers without which it is not ready
	watched  *watchedMessages
}

func (w *httpServer) flags() []command.Flag {
	flags := []command.Flag{
		{Name: "--http", Value: "ADDR",
			Help: "serve HTTP instead of stdio at an address such as 127.0.0.1:8080, at a socket unix:PATH, or at that of a systemd unit: systemd",
			Set: func(value string) error {
				if err := checkAddress(value); err != nil {
					return err
				}
				w.address = value
				return nil
			}},
		{Name: "--state-key-env", Value: "NAME",
			Help: "environment variable that holds the secret shared by several servers behind one address (default: a random one)",
			Set: func(value string) error {
				const least = 32
				if w.stateKey = []byte(os.Getenv(value)); len(w.stateKey) < least {
					return command.Usagef(
						"--state-key-env: the environment variable %s has fewer than %d bytes",
						value, least)
				}
				return nil
			}},
		command.SwitchFlag(&w.noAuth, "--no-auth",
			"serve --http without a token, to all users of this machine"),
		command.SwitchFlag(&w.sse, "--http-sse",
			"also serve the HTTP+SSE transport of 2024-11-05 at /mcp"),
	}
	return slices.Concat(flags, w.token.flags(), w.tls.flags(), w.oauth.flags(), w.card.flags(),
		[]command.Flag{w.metrics.flag()})
}

// given returns the name of a given flag that needs --http, or "".
func (w *httpServer) given() string {
	switch {
	case w.noAuth:
		return "--no-auth"
	case w.sse:
		return "--http-sse"
	}
	return cmp.Or(w.token.given(), w.tls.given(), w.oauth.given(), w.card.given(),
		w.metrics.given())
}

// serve serves until ctx ends: MCP, and the catalog as an HTTP API unless it is nil.
func (w *httpServer) serve(ctx context.Context, std *term.Streams, e *endpoints,
	catalog *dispatch.Catalog, log *slog.Logger) error {
	secure, err := w.tls.config(log)
	if err != nil {
		return err
	}
	bound, err := w.listen()
	if err != nil {
		return err
	}
	listener := connlimit.New(bound, cmp.Or(w.limits.MaxConnections, maxConnections))
	defer listener.Close()
	if w.noAuth && !bound.local {
		return command.Usagef("--no-auth: %s can be reached from other machines",
			bound.Addr()).WithHint("serve on 127.0.0.1, or use a token")
	}
	hosts := w.oauth.hosts(bound.local)
	overMCP := streamable.Options{Logger: log, HTTPSSE: w.sse, Replicas: w.stateKey != nil,
		AllowedHosts: hosts, MaxBody: int64(w.limits.MaxBody), MaxRequests: w.limits.MaxRequests,
		MaxStreams: w.limits.MaxStreams, MaxSessions: w.limits.MaxSessions,
		SessionIdle: w.limits.SessionIdle, Heartbeat: w.limits.Heartbeat}
	overHTTP := api.Options{Title: "stdwire", Version: command.Version(), Logger: log, AllowedHosts: hosts,
		Memory: e.main.server.Integration().Memory(), MaxBody: int64(w.limits.MaxBody),
		MaxCalls: w.limits.MaxCalls}
	mux := http.NewServeMux()
	failures := w.recorder.Counter(authFailures)
	if w.oauth.issuer != "" {
		resource, err := w.oauth.resource(log)
		if err != nil {
			return err
		}
		overMCP.Authorize = countFailures(resource.Authorize, failures)
		overHTTP.Principal = countFailures(principalOf(resource), failures)
		for _, path := range resource.MetadataPaths() {
			mux.Handle(path, resource)
		}
		std.Err.Printf("stdwire: accepting access tokens of %s, issued for %s", w.oauth.issuer,
			w.oauth.audience)
	} else {
		if overMCP.Principal, err = w.principal(std, log); err != nil {
			return err
		}
		overMCP.Principal = countFailures(overMCP.Principal, failures)
		overHTTP.Principal = overMCP.Principal
	}
	overMCP.Card, err = w.card.card(bound.base+mainPath, w.oauth.audience, bound.local)
	if err != nil {
		return err
	}
	e.register(mux, overMCP)
	also := ""
	if catalog != nil {
		also = fmt.Sprintf(", and the same as an HTTP API at %s/v1/", bound.base)
		handler := overHTTP.New(dispatch.NewDispatcher(catalog,
			dispatch.Options{Logger: log, Missing: w.missing, Interceptors: w.interceptors()}))
		if w.starting != nil {
			handler = w.starting.documents(handler)
		}
		mux.Handle("/v1/", handler)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", w.serveReadiness(ctx))
	if w.metrics != "" && w.recorder.Telemetry != nil { // nil: OTEL_SDK_DISABLED
		mux.Handle("GET /metrics", w.metrics.guard(w.recorder.Metrics(), failures))
	}
	addConnectionMetrics(w.recorder.Telemetry, listener, e)
	if w.listening != nil {
		w.listening(bound.base + mainPath)
	}
	std.Err.Printf("stdwire: serving MCP at %s%s%s", bound.base, mainPath, also)
	e.printProfiles(std, bound.base)
	// Handlers that run for longer have read the body, and remove the deadline: see httpdeadline.
	const bodyTimeout = 30 * time.Second
	web := &http.Server{
		Handler: w.watched.handler(w.recorder.Handler(mux)), ConnState: listener.TrackState,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ReadTimeout: bodyTimeout, HTTP2: keepalive.ServerHTTP2(),
	}
	var serving net.Listener = listener
	if secure != nil {
		serving = tls.NewListener(listener, secure)
	}
	requests, cancelRequests := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancelRequests(nil)
	web.BaseContext = func(net.Listener) context.Context { return requests }
	std.Servers.DelaySignal(drainTimeout)
	defer std.Servers.Served()
	served := make(chan error, 1)
	go func() { served <- web.Serve(serving) }()
	manager := newServiceManager(log)
	defer manager.close()
	manager.notify("READY=1\nSTATUS=serving MCP at " + bound.base + mainPath)
	var watching sync.WaitGroup
	watching.Go(func() { manager.watch(ctx, func() { _ = e.all() }) })
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	watching.Wait()
	logShutdown(ctx, log)
	manager.notify("STOPPING=1")
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	e.stop(grace)
	// MCP requests have been answered, calls of the HTTP API may still run.
	if err = web.Shutdown(grace); errors.Is(err, context.DeadlineExceeded) {
		cancelRequests(http.ErrServerClosed)
		answered, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
		defer cancel()
		err = web.Shutdown(answered)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = web.Close()
	}
	err = errors.Join(err, e.close(grace))
	<-served
	return err
}

// checkToken returns an error if the flags for tokens and TLS contradict each other.
func (w *httpServer) checkToken() error {
	switch {
	case w.token.env != "" && w.token.file != "":
		return command.Usagef("--token-env and --token-file exclude each other")
	case w.noAuth && w.token.given() != "":
		return command.Usagef("--no-auth and %s exclude each other", w.token.given())
	case w.noAuth && w.tls.clientCA != "":
		return command.Usagef("--no-auth and --tls-client-ca exclude each other").WithHint(
			"clients with a certificate need no token: leave out --no-auth")
	}
	if err := w.card.check(); err != nil {
		return err
	}
	return w.tls.check()
}

// tokenPrincipal is the principal of all clients that send the token.
const tokenPrincipal = "token"

// principal returns the function that authenticates requests, or nil if --no-auth is set. Without
// a certificate of the client, all have the same principal.
func (w *httpServer) principal(std *term.Streams, log *slog.Logger) (func(*http.Request) (string,
	error), error) {
	byCertificate := w.tls.clientCA != ""
	switch {
	case w.noAuth:
		return nil, nil
	case byCertificate && w.token.given() == "":
		return certificatePrincipal, nil
	}
	check, err := w.token.check(std, log)
	if err != nil {
		return nil, err
	}
	return func(r *http.Request) (string, error) {
		if err := check(r); err != nil {
			return "", err
		}
		if byCertificate {
			return certificatePrincipal(r)
		}
		return tokenPrincipal, nil
	}, nil
}

// interceptors returns the interceptors of the HTTP API.
func (w *httpServer) interceptors() []dispatch.Interceptor {
	if w.recorder == nil || w.recorder.Telemetry == nil {
		return nil
	}
	return []dispatch.Interceptor{w.recorder.Operation()}
}
