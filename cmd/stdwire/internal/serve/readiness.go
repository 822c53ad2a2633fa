package serve

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/stdwire/stdwire/client/host"
)

// A readiness is the body of /readyz. It has no names, because it needs no token.
type readiness struct {
	Ready   bool               `json:"ready"`
	Servers map[host.State]int `json:"servers,omitempty"` // how many are in each state
}

// readyStates are the states of a server that do not count against readiness. The next call starts
// a stopped server, and a disabled one offers nothing.
var readyStates = map[host.State]bool{host.Ready: true, host.Stopped: true, host.Disabled: true}

// readinessOf returns the readiness of servers. Processes of single sessions do not count, because
// each concerns only one client.
func readinessOf(servers []host.Status) readiness {
	r := readiness{Ready: true, Servers: make(map[host.State]int)}
	for _, s := range servers {
		if s.Session == "" {
			r.Servers[s.State]++
			r.Ready = r.Ready && readyStates[s.State]
		}
	}
	return r
}

// serveReadiness answers 200 if requests can be served, and otherwise 503: while servers start or
// fail, and when ctx has ended.
func (w *httpServer) serveReadiness(ctx context.Context) http.HandlerFunc {
	return func(response http.ResponseWriter, _ *http.Request) {
		r := readiness{Ready: true}
		if w.servers != nil {
			r = readinessOf(w.servers.Status())
		}
		if w.starting != nil {
			select {
			case <-w.starting.done:
			default:
				r.Ready = false
			}
		}
		r.Ready = r.Ready && ctx.Err() == nil
		body, err := json.Marshal(r)
		if err != nil {
			http.Error(response, "internal error", http.StatusInternalServerError)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		response.Header().Set("Cache-Control", "no-store")
		if !r.Ready {
			response.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = response.Write(append(body, '\n'))
	}
}
