package transport

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// Endpoints are the MCP servers that are served over HTTP.
type Endpoints struct {
	main *endpoint // at /mcp
	// returns a server for a profile; if it is nil, profiles have no endpoints
	open func(profile string) *server.Server

	mu       sync.Mutex
	options  *streamable.Options  // of the handlers; nil before register
	finished bool                 // set by stop
	profiles map[string]*endpoint // at /mcp/NAME
	ending   sync.WaitGroup       // shutdowns of removed profiles
}

// NewEndpoints returns the endpoint of a server at /mcp. open returns a server for a profile. If it
// is nil, profiles have no endpoints.
func NewEndpoints(main *server.Server, open func(profile string) *server.Server) *Endpoints {
	return &Endpoints{main: &endpoint{server: main}, open: open}
}

// An endpoint is an MCP server and its HTTP handler.
type endpoint struct {
	server  *server.Server
	handler *streamable.Handler
}

// drainTimeout is how long running requests may continue after the server stopped accepting new
// ones.
const drainTimeout = 3 * time.Second

// answerTimeout is how long requests that are cancelled then may take to be answered.
const answerTimeout = 250 * time.Millisecond

const (
	mainPath    = "/mcp"
	profilePath = mainPath + "/{profile}"
	apiPath     = "/v1/"
)

// register adds the endpoints to mux.
func (e *Endpoints) register(mux *http.ServeMux, o streamable.Options) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if o.Card != nil {
		for _, path := range []string{mainPath + mcp.ServerCardPath, mcp.CatalogPath} {
			mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
				e.main.handler.ServeHTTP(w, r)
			})
		}
	}
	e.main.handler = o.New(e.main.server)
	o.Card = nil // it describes the main endpoint only
	e.options = &o
	for name, p := range e.profiles {
		p.handler = profileOptions(o, name).New(p.server)
	}
	mux.Handle(mainPath, e.main.handler)
	if e.open == nil {
		return
	}
	none := unknownProfile(o).New(e.main.server) // never has sessions
	mux.HandleFunc(profilePath, func(w http.ResponseWriter, r *http.Request) {
		handler := none
		if p := e.profile(r.PathValue("profile")); p != nil {
			handler = p.handler
		}
		handler.ServeHTTP(w, r)
	})
}

// profileOptions returns the options of the handler of a profile, whose sessions are not those of
// other endpoints.
func profileOptions(o streamable.Options, name string) streamable.Options {
	if o.Store != nil {
		o.Store = o.Store.Part("profile " + name)
	}
	return o
}

func (e *Endpoints) profile(name string) *endpoint {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.profiles[name]
}

// SetProfiles opens and closes endpoints so that exactly these profiles have one. It calls offer
// for each profile to set what its server offers; for a closed one, without ids. It returns the
// names of those that it opened and closed.
func (e *Endpoints) SetProfiles(profiles map[string][]string,
	offer func(s *server.Server, ids ...string)) (opened, closed []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.finished {
		return nil, nil
	}
	if e.profiles == nil {
		e.profiles = make(map[string]*endpoint)
	}
	for name, p := range e.profiles {
		if _, still := profiles[name]; still {
			continue
		}
		delete(e.profiles, name)
		closed = append(closed, name)
		offer(p.server)
		e.ending.Go(p.shutdown)
	}
	for name, ids := range profiles {
		p := e.profiles[name]
		if p == nil {
			p = &endpoint{server: e.open(name)}
			if e.options != nil {
				p.handler = profileOptions(*e.options, name).New(p.server)
			}
			e.profiles[name] = p
			opened = append(opened, name)
		}
		offer(p.server, ids...)
	}
	return opened, closed
}

// shutdown closes the streams of an endpoint and stops its server.
func (p *endpoint) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if p.handler != nil {
		_ = p.handler.Shutdown(ctx) // on a timeout, too, it closes all streams
	}
	_ = p.server.Close(ctx)
}

// all returns the endpoints.
func (e *Endpoints) all() []*endpoint {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append(slices.Collect(maps.Values(e.profiles)), e.main)
}

// Servers returns the servers of the endpoints.
func (e *Endpoints) Servers() (servers []*server.Server) {
	for _, p := range e.all() {
		servers = append(servers, p.server)
	}
	return servers
}

// ToolViews returns what clients got with tools/list, by profile; "" is the main endpoint.
func (e *Endpoints) ToolViews() map[string][]server.ToolViewUse {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := map[string][]server.ToolViewUse{"": e.main.server.Integration().ToolViews()}
	for name, p := range e.profiles {
		all[name] = p.server.Integration().ToolViews()
	}
	return all
}

// ListsChanged notifies the clients of all profiles that what they may see has changed.
func (e *Endpoints) ListsChanged() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.profiles {
		p.server.Integration().ListsChanged(nil)
	}
}

// Stats returns the sum of the statistics of all endpoints.
func (e *Endpoints) Stats() (sum streamable.Stats) {
	e.mu.Lock()
	registered := e.options != nil
	e.mu.Unlock()
	if !registered {
		return sum
	}
	for _, p := range e.all() {
		now := p.handler.Stats()
		sum.Sessions += now.Sessions
		sum.Streams += now.Streams
		sum.Forwarded += now.Forwarded
	}
	return sum
}

// stop closes all streams, within ctx. Later changes of profiles have no effect.
func (e *Endpoints) stop(ctx context.Context) {
	e.mu.Lock()
	e.finished = true
	e.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range e.all() {
		wg.Go(func() { _ = p.handler.Shutdown(ctx) }) // on a timeout, too, it closes all streams
	}
	wg.Wait()
}

// close stops the servers. Call it after stop.
func (e *Endpoints) close(ctx context.Context) (err error) {
	for _, p := range e.all() {
		if failed := p.server.Close(ctx); err == nil {
			err = failed
		}
	}
	e.ending.Wait()
	return err
}

// printProfiles prints the addresses of the profiles.
func (e *Endpoints) printProfiles(std *term.Streams, base string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(e.profiles)) {
		// names of profiles need no escaping in a path
		std.Err.Printf("stdwire: serving the profile %s at %s%s/%[1]s", name, base,
			mainPath)
	}
}
