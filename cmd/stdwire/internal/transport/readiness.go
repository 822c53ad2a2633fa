package transport

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/stdwire/stdwire/client/host"
)

// A Readiness is the body of /readyz. It names no server, because readers need no token.
type Readiness struct {
	Ready bool `json:"ready"`
	// a server that is not required cannot be used
	Degraded bool               `json:"degraded,omitempty"`
	Servers  map[host.State]int `json:"servers,omitempty"` // how many are in each state
	// how many of the required servers that cannot be used are in each state
	Required map[host.State]int `json:"required,omitempty"`
	Store    *StoreReadiness    `json:"store,omitempty"` // that servers share
}

// A StoreReadiness says whether a store can be used. It does not count against readiness, because
// all that share it would be withdrawn at once.
type StoreReadiness struct {
	Reachable bool     `json:"reachable"`
	Affected  []string `json:"affected,omitempty"` // the parts that do without it
}

// readyStates are the states of a server that do not count against readiness. The next call starts
// a stopped server, and a disabled one offers nothing.
var readyStates = map[host.State]bool{host.Ready: true, host.Stopped: true, host.Disabled: true}

// ReadinessOf returns the readiness of servers, of which those with the required IDs must be
// usable. They are not ready before started is closed, unless it is nil. Processes of single
// sessions do not count, because each concerns only one client.
func ReadinessOf(servers []host.Status, required map[string]bool,
	started <-chan struct{}) Readiness {
	r := Readiness{Ready: true, Servers: make(map[host.State]int),
		Required: make(map[host.State]int)}
	for _, s := range servers {
		if s.Session != "" {
			continue
		}
		r.Servers[s.State]++
		switch {
		case readyStates[s.State]:
		case required[s.ID]:
			r.Ready = false
			r.Required[s.State]++
		default:
			r.Degraded = true
		}
	}
	if started != nil {
		select {
		case <-started:
		default:
			r.Ready = false
		}
	}
	return r
}

// serveReadiness answers 200 if requests can be served, and otherwise 503: when the server is not
// ready, and when ctx has ended.
func (w *HTTPServer) serveReadiness(ctx context.Context) http.HandlerFunc {
	return func(response http.ResponseWriter, _ *http.Request) {
		r := Readiness{Ready: true}
		if w.Readiness != nil {
			r = w.Readiness()
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
