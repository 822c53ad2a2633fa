package streamable

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/internal/keepalive"
)

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
