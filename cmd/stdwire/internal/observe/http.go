package observe

import (
	"net/http"

	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// Metrics returns a handler that serves the metrics for Prometheus.
func (r *Recorder) Metrics() http.Handler { return prometheusHandler(r.Telemetry) }

// Handler makes the requests to a handler belong to the trace of their header traceparent.
func (r *Recorder) Handler(next http.Handler) http.Handler {
	if !r.records() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if text := request.Header.Get("Traceparent"); text != "" {
			parent, err := telemetry.ParseSpanContext(text, request.Header.Values("Tracestate")...)
			if err == nil {
				request = request.WithContext(
					telemetry.ContextWithParent(request.Context(), parent))
			}
		}
		next.ServeHTTP(w, request)
	})
}
