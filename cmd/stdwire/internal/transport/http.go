// Package transport serves an MCP server to clients: one on standard input and output, or many over
// HTTP, with the flags for its address, tokens, TLS, OAuth and server card.
package transport

import (
	"bytes"
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

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/access"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/connlimit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/login"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/observe"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
	"github.com/stdwire/stdwire/internal/keepalive"
	"github.com/stdwire/stdwire/server/streamable"
)

// maxConnections is the default of the limit of the same name in a configuration.
const maxConnections = 4096

// HTTPFlags are the flags for serving HTTP.
type HTTPFlags struct {
	Address  string // "" means HTTP is not served
	noAuth   bool
	token    bearerTokens
	metrics  metricsToken
	tls      tlsFlags
	oauth    oauthFlags
	card     cardFlags
	sse      bool
	hosts    allowedHosts
	StateKey []byte // nil means a random key
	// Public is the URL without a path at which browsers reach the server; "": as other flags say.
	Public string
	// Replica is the URL at which other servers reach this one; "": they do not.
	Replica string

	stateKeyFile string // of StateKey, or ""
}

// The flags for [HTTPFlags.StateKey].
const (
	StateKeyEnvFlag  = "--state-key-env"
	StateKeyFileFlag = "--state-key-file"
)

// StateKeyFlag returns the name of the flag that has given the state key, or "".
func (w *HTTPFlags) StateKeyFlag() string {
	switch {
	case w.stateKeyFile != "":
		return StateKeyFileFlag
	case w.StateKey != nil:
		return StateKeyEnvFlag
	}
	return ""
}

// stateKeyFlag returns a flag for the state key. read returns what the value names, and the key.
func (w *HTTPFlags) stateKeyFlag(name, value, help string,
	read func(value string) (what string, key []byte, err error)) command.Flag {
	return command.Flag{Name: name, Value: value, Help: help, Set: func(value string) error {
		const least = 32
		if w.StateKey != nil {
			return command.Usagef("%s and %s exclude each other", StateKeyEnvFlag,
				StateKeyFileFlag)
		}
		what, key, err := read(value)
		if err != nil {
			return err
		}
		if len(key) < least {
			return command.Usagef("%s: %s has fewer than %d bytes", name, what, least)
		}
		w.StateKey = key
		return nil
	}}
}

// StateKeyFlags returns the flags for the state key alone.
func (w *HTTPFlags) StateKeyFlags() []command.Flag {
	return []command.Flag{
		w.stateKeyFlag(StateKeyEnvFlag, "NAME",
			"environment variable that holds the secret shared by several servers behind one address (default: a random one)",
			func(name string) (string, []byte, error) {
				return "the environment variable " + name, []byte(os.Getenv(name)), nil
			}),
		w.stateKeyFlag(StateKeyFileFlag, "FILE",
			"a file with this secret, which others cannot read",
			func(path string) (string, []byte, error) {
				w.stateKeyFile = path
				content, err := target.ReadSecret(path)
				return path, bytes.TrimSpace(content), err
			}),
	}
}

// An HTTPServer serves MCP, and a catalog as an HTTP API.
type HTTPServer struct {
	*HTTPFlags
	Endpoints  *Endpoints
	Operations *dispatch.Catalog   // nil: there is no HTTP API
	Sessions   *streamable.Store   // of several servers behind one address; nil: there is none
	Forward    *streamable.Forward // lets servers own sessions; nil: they do not
	Limits     config.Limits
	Recorder   *observe.Recorder // may be nil
	// Interceptors wrap the calls of the HTTP API.
	Interceptors []dispatch.Interceptor

	// Rules decide what callers of the HTTP API see, and their calls of the built-in operations. It
	// may be nil.
	Rules *access.Rules
	// Builtin has the built-in operations, which Operations has too. It is required with Rules.
	Builtin *dispatch.Catalog

	// Logins has the pages on which users log in to servers; nil: there are none. KeepsLogins says
	// that the logins outlive the process.
	Logins      *login.Logins
	KeepsLogins bool

	// Listening is called with the URL once requests are accepted. It may be nil.
	Listening func(url string)
	// Missing waits for an operation that may still be added. It may be nil.
	Missing func(ctx context.Context, operation string) error
	// Requests and API, if not nil, return handlers that precede those of all requests, and those
	// of the HTTP API.
	Requests, API func(http.Handler) http.Handler
	// Readiness returns the readiness of what is served. If it is nil, it is ready.
	Readiness func() Readiness
}

// Flags returns the flags.
func (w *HTTPFlags) Flags() []command.Flag {
	flags := []command.Flag{
		{Name: "--http", Value: "ADDR",
			Help: "serve HTTP instead of stdio at an address such as 127.0.0.1:8080, at a socket unix:PATH, or at that of a systemd unit: systemd",
			Set: func(value string) error {
				if err := checkAddress(value); err != nil {
					return err
				}
				w.Address = value
				return nil
			}},
	}
	flags = append(flags, w.StateKeyFlags()...)
	flags = append(flags,
		command.SwitchFlag(&w.noAuth, "--no-auth",
			"serve --http without a token, to all users of this machine"),
		command.SwitchFlag(&w.sse, "--http-sse",
			"also serve the HTTP+SSE transport of 2024-11-05 at /mcp"))
	return slices.Concat(flags, w.token.flags(), w.tls.flags(), w.oauth.flags(), w.card.flags(),
		[]command.Flag{w.hosts.flag(), w.metrics.flag()})
}

// given returns the name of a given flag that needs --http, or "".
func (w *HTTPFlags) given() string {
	switch {
	case w.noAuth:
		return "--no-auth"
	case w.sse:
		return "--http-sse"
	}
	return cmp.Or(w.token.given(), w.tls.given(), w.oauth.given(), w.card.given(),
		w.hosts.given(), w.metrics.given())
}

// Serve serves until ctx ends.
func (w *HTTPServer) Serve(ctx context.Context, std *term.Streams, log *slog.Logger) error {
	e := w.Endpoints
	secure, err := w.tls.config(log)
	if err != nil {
		return err
	}
	bound, err := w.listen()
	if err != nil {
		return err
	}
	listener := connlimit.New(bound, cmp.Or(w.Limits.MaxConnections, maxConnections))
	defer listener.Close()
	if w.noAuth && !bound.local {
		return command.Usagef("--no-auth: %s can be reached from other machines",
			bound.Addr()).WithHint("serve on 127.0.0.1, or use a token")
	}
	hosts := w.allowedHosts(bound)
	overMCP := streamable.Options{Logger: log, HTTPSSE: w.sse, Replicas: w.StateKey != nil,
		Store: w.Sessions, Forward: w.Forward,
		AllowedHosts: hosts, MaxBody: int64(w.Limits.MaxBody), MaxRequests: w.Limits.MaxRequests,
		MaxStreams: w.Limits.MaxStreams, MaxSessions: w.Limits.MaxSessions,
		SessionIdle: w.Limits.SessionIdle, Heartbeat: w.Limits.Heartbeat}
	overHTTP := api.Options{Title: "stdwire", Version: command.Version(), Logger: log, AllowedHosts: hosts,
		Memory: e.main.server.Integration().Options().Memory, MaxBody: int64(w.Limits.MaxBody),
		MaxCalls: w.Limits.MaxCalls}
	if w.Rules != nil {
		overHTTP.Visible = w.Rules.OperationVisible
	}
	mux := http.NewServeMux()
	failures := w.Recorder.Counter(authFailures)
	who, err := w.callers(std, bound, log)
	if err != nil {
		return err
	}
	defer who.close()
	if who != nil {
		overMCP.Authorize = countFailures(who.authorize, failures)
		overHTTP.Principal = apiPrincipal
		if who.resource != nil {
			for _, path := range who.resource.MetadataPaths() {
				mux.Handle(path, who.resource)
			}
		}
	}
	overMCP.Card, err = w.card.card(bound.base+mainPath, w.oauth.audience, bound.local)
	if err != nil {
		return err
	}
	e.register(mux, overMCP)
	also := ""
	if w.Operations != nil {
		also = fmt.Sprintf(", and the same as an HTTP API at %s%s", bound.base, apiPath)
		handler := overHTTP.New(dispatch.Options{Logger: log, Missing: w.Missing,
			Interceptors: w.interceptors()}.New(w.Operations))
		if w.API != nil {
			handler = w.API(handler)
		}
		if who != nil {
			handler = identify(overMCP.Authorize, handler)
		}
		mux.Handle(apiPath, handler)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", w.serveReadiness(ctx))
	if w.metrics != "" && w.Recorder.Telemetry != nil { // nil: OTEL_SDK_DISABLED
		mux.Handle("GET /metrics", w.metrics.guard(w.Recorder.Metrics(), failures))
	}
	addConnectionMetrics(w.Recorder.Telemetry, listener, e)
	if w.Listening != nil {
		w.Listening(bound.base + mainPath)
	}
	std.Err.Printf("stdwire: serving MCP at %s%s%s", bound.base, mainPath, also)
	e.printProfiles(std, bound.base)
	if bound.all {
		std.Err.Printf("note: it can be reached at all addresses of this machine")
	}
	if !bound.local && secure == nil {
		std.Err.Printf("warning: tokens and data are not encrypted: add --tls-cert and --tls-key, " +
			"or let a proxy with TLS forward to 127.0.0.1")
	}
	// Handlers that run for longer have read the body, and remove the deadline: see httpdeadline.
	const bodyTimeout = 30 * time.Second
	handler := w.Recorder.Handler(warnOfHosts(std, hosts, mux))
	if w.Requests != nil {
		handler = w.Requests(handler)
	}
	if w.Logins != nil {
		w.announceLogins(std, bound)
		handler = loginPages(w.Logins, hosts, handler)
	}
	web := &http.Server{
		Handler: handler, ConnState: listener.TrackState,
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
	if who != nil && who.peers {
		web.ConnContext = withPeer
	}
	std.Servers.DelaySignal(drainTimeout)
	defer std.Servers.Served()
	served := make(chan error, 1)
	go func() { served <- web.Serve(serving) }()
	manager := newServiceManager(log)
	defer manager.close()
	manager.notify("READY=1\nSTATUS=serving MCP at " + bound.base + mainPath)
	var watching sync.WaitGroup
	who.follow(ctx, watching.Go)
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

// ServesMetrics reports whether metrics are served over HTTP.
func (w *HTTPFlags) ServesMetrics() bool { return w.metrics != "" }

// ServerName returns the name that the server reports, which is that of its card.
func (w *HTTPFlags) ServerName() string { return w.card.serverName() }

// URL returns the URL of the main endpoint as far as it is known before the server listens.
func (w *HTTPFlags) URL() string { return w.baseURL(w.Address) + mainPath }

// interceptors returns all interceptors of the HTTP API.
func (w *HTTPServer) interceptors() (all []dispatch.Interceptor) {
	if w.Recorder != nil && w.Recorder.Telemetry != nil {
		all = append(all, dispatch.Observe(w.Recorder.Operation))
	}
	if w.Rules != nil {
		all = append(all, w.Rules.Operations(w.Builtin))
	}
	return append(all, w.Interceptors...)
}
