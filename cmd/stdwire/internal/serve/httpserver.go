package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
	"github.com/stdwire/stdwire/server/streamable"
)

// An httpServer serves MCP and the HTTP API over HTTP. Its fields are set by flags.
type httpServer struct {
	address  string // "" means HTTP is not served
	tokenEnv string
	noAuth   bool
	oauth    oauthFlags
	sse      bool
	stateKey []byte // nil means a random key

	listening func(url string) // called with the URL; may be nil
	// waits for an operation that may still be added; may be nil
	missing func(ctx context.Context, operation string) error
}

func (w *httpServer) flags() []command.Flag {
	flags := []command.Flag{
		{Name: "--http", Value: "ADDR",
			Help: "serve HTTP at this address instead of stdio, such as 127.0.0.1:8080",
			Set: func(value string) error {
				if _, _, err := net.SplitHostPort(value); err != nil {
					return command.Usagef("--http: %q is not an address",
						value).WithHint("write 127.0.0.1:8080, or 127.0.0.1:0 for any free port")
				}
				w.address = value
				return nil
			}},
		{Name: "--token-env", Value: "NAME",
			Help: "environment variable that holds the bearer token for --http, 16 bytes or more (default: a random token, which is printed)",
			Set: func(value string) error {
				const least = 16 // shorter tokens can be guessed
				switch token := os.Getenv(value); {
				case token == "":
					return command.Usagef("--token-env: the environment variable %s is empty",
						value)
				case len(token) < least:
					return command.Usagef(
						"--token-env: the token in %s has fewer than %d bytes and could be guessed",
						value, least).WithHint("create one with: openssl rand -hex 16")
				}
				w.tokenEnv = value
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
	return append(flags, w.oauth.flags()...)
}

// given returns the name of a given flag that needs --http, or "".
func (w *httpServer) given() string {
	switch {
	case w.tokenEnv != "":
		return "--token-env"
	case w.stateKey != nil:
		return "--state-key-env"
	case w.noAuth:
		return "--no-auth"
	case w.sse:
		return "--http-sse"
	}
	return w.oauth.given()
}

// serve serves until ctx ends: MCP, and the catalog as an HTTP API unless it is nil.
func (w *httpServer) serve(ctx context.Context, std *term.Streams, e *endpoints,
	catalog *dispatch.Catalog, log *slog.Logger) error {
	bound, err := net.Listen("tcp", w.address)
	if err != nil {
		return command.Usagef("%v",
			err).WithHint("the port may be in use; 127.0.0.1:0 selects a free one")
	}
	listener := newLimitListener(bound, maxConnections)
	defer listener.Close()
	address, _ := listener.Addr().(*net.TCPAddr)
	if w.noAuth && !address.IP.IsLoopback() {
		return command.Usagef("--no-auth: %s can be reached from other machines",
			address).WithHint("serve on 127.0.0.1, or use a token")
	}
	hosts := w.oauth.hosts(address.IP)
	overMCP := streamable.Options{Logger: log, HTTPSSE: w.sse, Replicas: w.stateKey != nil,
		AllowedHosts: hosts}
	overHTTP := api.Options{Title: "stdwire", Version: command.Version(), Logger: log, AllowedHosts: hosts,
		Memory: e.main.server.Integration().Memory()}
	mux := http.NewServeMux()
	if w.oauth.issuer != "" {
		resource, err := w.oauth.resource(log)
		if err != nil {
			return err
		}
		overMCP.Authorize, overHTTP.Principal = resource.Authorize, principalOf(resource)
		for _, path := range resource.MetadataPaths() {
			mux.Handle(path, resource)
		}
		std.Err.Printf("stdwire: accepting access tokens of %s, issued for %s", w.oauth.issuer,
			w.oauth.audience)
	} else {
		overMCP.Principal = w.principal(std)
		overHTTP.Principal = overMCP.Principal
	}
	e.register(mux, overMCP)
	also := ""
	if catalog != nil {
		also = fmt.Sprintf(", and the same as an HTTP API at http://%s/v1/", address)
		mux.Handle("/v1/",
			overHTTP.New(dispatch.NewDispatcher(catalog,
				dispatch.Options{Logger: log, Missing: w.missing})))
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	if w.listening != nil {
		w.listening(fmt.Sprintf("http://%s%s", address, mainPath))
	}
	std.Err.Printf("stdwire: serving MCP at http://%s%s%s", address, mainPath, also)
	e.printProfiles(std, address)
	web := &http.Server{
		Handler: mux, ConnState: listener.trackState,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	e.stop(grace)
	err = web.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = web.Close() // it cancels running requests
	}
	err = errors.Join(err, e.close(grace))
	<-served
	return err
}

var errToken = errors.New("the bearer token is missing or wrong")

// principal returns the function that authenticates requests by the bearer token, or nil if
// --no-auth is set.
func (w *httpServer) principal(std *term.Streams) func(*http.Request) (string, error) {
	if w.noAuth {
		return nil
	}
	token := os.Getenv(w.tokenEnv)
	if w.tokenEnv == "" {
		token = rand.Text()
		std.Err.Printf("stdwire: the bearer token is %s", token)
	}
	want := sha256.Sum256([]byte(token))
	return func(r *http.Request) (string, error) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(given)))
		if !strings.EqualFold(scheme, "Bearer") ||
			subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			return "", errToken
		}
		return "token", nil
	}
}
