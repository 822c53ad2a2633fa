package otlp

import (
	"context"
	"log/slog"
	"net"
	"net/http"
)

// StartDial is [Start] with connections that dial makes.
func StartDial(c *Config, log *slog.Logger,
	dial func(context.Context, string, string) (net.Conn, error)) *Exporter {
	return start(c, log, func(t *http.Transport) { t.Proxy, t.DialContext = nil, dial })
}
