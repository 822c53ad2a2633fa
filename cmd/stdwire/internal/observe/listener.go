package observe

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/connlimit"
	"github.com/stdwire/stdwire/internal/hostname"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// metricsAddress returns the address of --metrics. Without a host it is the loopback address,
// because the metrics need no token.
func metricsAddress(value string) (string, error) {
	host, port, err := net.SplitHostPort(value)
	if err != nil || port == "" {
		return "", command.Usagef("--metrics: %q is not an address",
			value).WithHint("write 127.0.0.1:9464, or 127.0.0.1:0 for any free port")
	}
	host = cmp.Or(host, "127.0.0.1")
	return net.JoinHostPort(host, port), nil
}

// A listener serves metrics over HTTP.
type listener struct {
	net.Listener
	server *http.Server
	done   chan struct{}
}

// maxConnections is the number of connections to the metrics at a time.
const maxConnections = 1024

// listen serves the metrics of t at an address.
func listen(address string, t *telemetry.Telemetry, log *slog.Logger) (*listener, error) {
	bound, err := net.Listen("tcp", address)
	if err != nil {
		return nil, command.Usagef("--metrics: %v",
			err).WithHint("the port may be in use; 127.0.0.1:0 selects a free one")
	}
	handler := http.Handler(metricsHandler(t))
	if at, ok := bound.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		handler = localOnly(handler)
	}
	limited := connlimit.New(bound, maxConnections)
	l := &listener{bound, &http.Server{Handler: handler, ConnState: limited.TrackState,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}, make(chan struct{})}
	go func() {
		defer close(l.done)
		_ = l.server.Serve(limited) // until close
	}()
	return l, nil
}

func (l *listener) close() {
	_ = l.server.Close()
	<-l.done
}

// metricsHandler serves /metrics for Prometheus, and /debug/vars as package expvar does, without
// the command line, which may have secrets.
func metricsHandler(t *telemetry.Telemetry) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", prometheusHandler(t))
	mux.HandleFunc("GET /debug/vars", func(w http.ResponseWriter, _ *http.Request) {
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(map[string]any{"memstats": &memory,
			"mcp": json.RawMessage(t.String())})
	})
	return mux
}

func prometheusHandler(t *telemetry.Telemetry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", telemetry.PrometheusContentType)
		_ = t.WritePrometheus(w)
	})
}

// localOnly refuses requests whose Host header names another machine. Otherwise a web page could
// give the name of its server the loopback address (DNS rebinding), and read the metrics.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hostname.IsLoopback(hostname.Of(r.Host)) {
			http.Error(w, "the Host header names another machine: use 127.0.0.1 or localhost",
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
