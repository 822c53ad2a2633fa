package main

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// endpoints are the MCP servers that are served over HTTP.
type endpoints struct {
	main     *server.Server            // at /mcp
	profiles map[string]*server.Server // at /mcp/NAME
	handlers map[string]*streamable.Handler
}

const (
	mainPath    = "/mcp"
	profilePath = mainPath + "/{profile}"
)

// servers are all of them, the main one as "".
func (e *endpoints) servers() map[string]*server.Server {
	all := map[string]*server.Server{"": e.main}
	maps.Copy(all, e.profiles)
	return all
}

// handle has them served.
func (e *endpoints) handle(mux *http.ServeMux, o streamable.Options) {
	e.handlers = make(map[string]*streamable.Handler)
	for name, s := range e.servers() {
		e.handlers[name] = o.New(s)
	}
	mux.Handle(mainPath, e.handlers[""])
	if len(e.profiles) == 0 {
		return
	}
	mux.HandleFunc(profilePath, func(w http.ResponseWriter, r *http.Request) {
		h := e.handlers[r.PathValue("profile")]
		if h == nil {
			http.Error(w, "there is no such profile: all servers are at "+mainPath, http.StatusNotFound)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// finish ends what is open, for which ctx gives time.
func (e *endpoints) finish(ctx context.Context) {
	var wg sync.WaitGroup
	for _, h := range e.handlers {
		wg.Go(func() { _ = h.Shutdown(ctx) }) // in time or not, what is open ends
	}
	wg.Wait()
}

// close ends what the servers still do when nothing is open any more.
func (e *endpoints) close(ctx context.Context) (err error) {
	for _, s := range e.servers() {
		if failed := s.Close(ctx); err == nil {
			err = failed
		}
	}
	return err
}

// tell says where the profiles are.
func (e *endpoints) tell(std *streams, address net.Addr) {
	for _, name := range slices.Sorted(maps.Keys(e.profiles)) {
		std.err.printf("stdwire: serving the profile %s at http://%s%s/%[1]s", name, address, mainPath) // a name is one that a path can have
	}
}
