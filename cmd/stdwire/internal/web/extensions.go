package web

import (
	"net/http"
	"slices"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
)

// An extension is an extension of MCP that the page can declare to servers.
type extension struct {
	ID       string `json:"id"`
	Declared bool   `json:"declared"`
}

// extensions returns the extensions that the page can declare.
func (s *servers) extensions() (all []extension) {
	var o client.Options
	gateway.DeclareCapabilities(&o)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range o.Extensions {
		all = append(all, extension{e.ID, !s.undeclared[e.ID]})
	}
	return all
}

// declared returns those of all that are declared to a server that starts now.
func (s *servers) declared(all []client.Extension) []client.Extension {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(all),
		func(e client.Extension) bool { return s.undeclared[e.ID] })
}

// declare changes whether an extension is declared, and restarts the running servers.
func (s *servers) declare(id string, on bool) error {
	if !slices.ContainsFunc(s.extensions(), func(e extension) bool { return e.ID == id }) {
		return reply.NotFound("extension", id)
	}
	s.mu.Lock()
	s.undeclared[id] = !on
	s.mu.Unlock()
	s.changes.Add(changes.Extensions)
	for _, status := range s.manager.Status() {
		if status.State != host.Ready {
			continue
		}
		if err := s.manager.Restart(status.ID); err != nil {
			return err
		}
	}
	return nil
}

// extensionRoutes adds the routes of extensions.
func (s *servers) extensionRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/extensions", func(w http.ResponseWriter, _ *http.Request) {
		reply.JSON(w, s.extensions())
	})
	post(mux, "/api/extensions", func(_ *http.Request, in extension) (any, error) {
		return nil, s.declare(in.ID, in.Declared)
	})
}
