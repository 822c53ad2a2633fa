package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/traffic"
	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/shellwords"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A server is a server that the page can use.
type server struct {
	id       string
	selector string // the flags that select it on the command line, without secrets
	command  string // its command line, without secrets; "" if it has none
	url      string // without user and query; "" for a process
	filter   *host.Filter
	config   scan.Config
	refusal  *reply.Problem // why it cannot be started; nil if it can
	source   string         // where it is configured
	file     string         // that defines it and that the page can edit; "" for none
	digest   string         // of the configured definition
	disabled bool           // by the configuration
	gateway  bool           // it is the gateway that the page watches
	upstream gateway.Upstream
	// endpoint returns how it is reached at its URL; nil for one that has none
	endpoint func() (*config.Endpoint, error)
	inDir    bool   // it is a process of the command line, whose root is the working directory
	added    bool   // by the page, until the process ends
	addedAs  string // what the user entered, such as the URL; it may be secret
	login    string // the command that logs in to it; "" if nobody can
}

// servers are the servers of the page. A [host.Manager] starts, restarts and ends them.
type servers struct {
	processes *guard.Servers
	manager   *host.Manager
	changes   *changes.Changes
	traffic   *traffic.Traffic
	questions *questions

	changing sync.Mutex // held while the field all is replaced

	mu          sync.Mutex
	all         []*server                   // by the order of the configuration
	state       map[string]*connectionState // by server
	updates     []update
	updateBytes int
	undeclared  map[string]bool // extensions that are not declared, by id
	noStream    map[string]bool // servers whose GET stream is turned off, by id
	noAdding    string          // why the page cannot add servers; "" if it can
}

// A connectionState describes the latest connection to a server.
type connectionState struct {
	took    time.Duration // the handshake
	details *details
}

// details describe a connection that is established.
type details struct {
	Era          string          `json:"era"`
	Revision     mcp.Revision    `json:"revision"`
	Method       string          `json:"method"` // of the handshake
	Handshake    json.RawMessage `json:"handshake"`
	Capabilities any             `json:"capabilities"`
	Info         any             `json:"info"`
	Instructions string          `json:"instructions"`
	Pid          int             `json:"pid,omitempty"`
	Environment  []string        `json:"environment,omitempty"` // the names of its variables
}

// An update is a change of a subscribed resource.
type update struct {
	Server string `json:"server"`
	URI    string `json:"uri"`
	At     int64  `json:"at"` // milliseconds since 1970
}

const (
	maxUpdates     = 1000
	maxUpdateBytes = 1 << 20 // of the URIs of all updates
)

func newServers(c *changes.Changes, t *traffic.Traffic, q *questions) *servers {
	s := &servers{changes: c, traffic: t, questions: q, state: map[string]*connectionState{},
		undeclared: map[string]bool{}, noStream: map[string]bool{}}
	s.manager = host.NewManager(func(host.Status) { c.Add(changes.Servers) })
	return s
}

// add adds a server.
func (s *servers) add(srv *server) error {
	if err := s.manage(srv); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, srv)
	return nil
}

// manage adds a server to the manager.
func (s *servers) manage(srv *server) error {
	up := srv.upstream
	up.ID = srv.id
	connect := up.Connect
	up.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
		error) {
		return s.connect(srv.id, o, func(o client.Options) (*client.Client, error) {
			return connect(ctx, session, o)
		})
	}
	s.answer(srv.id, &up.Options)
	return s.manager.Add(up.Server)
}

// answer sets the callbacks of a client.
func (s *servers) answer(id string, o *client.Options) {
	// the capabilities of a gateway, so that the server has the same tools and pins hold
	gateway.DeclareCapabilities(o)
	o.Output = client.OutputFail // the page shows the result nevertheless
	o.OnElicit = func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return ask[mcp.ElicitResult](ctx, s.questions, id, mcp.MethodElicit, p)
	}
	o.OnSample = func(ctx context.Context, p mcp.CreateMessageParams) (*mcp.CreateMessageResult,
		error) {
		return s.questions.sample(ctx, id, p)
	}
	o.OnRoots = func(ctx context.Context) ([]mcp.Root, error) {
		result, err := ask[mcp.ListRootsResult](ctx, s.questions, id, mcp.MethodListRoots, nil)
		if err != nil {
			return nil, err
		}
		return result.Roots, nil
	}
	o.OnListChanged = func(kind mcp.Kind) {
		s.changes.Add(topicDefinitions(id))
		s.changes.Add(changes.List + kind.Info().ListMethod)
	}
	o.OnResourceUpdated = func(uri string) { s.updated(id, uri) }
}

// topicDefinitions is the topic of the lists of a server.
func topicDefinitions(id string) string { return "definitions " + id }

// connect connects to a server and records its messages until it ends.
func (s *servers) connect(id string, o client.Options,
	connect func(client.Options) (*client.Client, error)) (*client.Client, error) {
	o.Extensions = s.declared(o.Extensions)
	end := s.traffic.Record(id, &o)
	s.set(id, &connectionState{})
	c, err := connect(o)
	if err != nil {
		end()
		return nil, err
	}
	d := &details{Era: c.Era().String(), Revision: c.Revision(), Method: c.Handshake().Method,
		Handshake: c.Handshake().Result, Capabilities: c.Capabilities(), Info: c.ServerInfo(),
		Instructions: c.Instructions()}
	if p := c.Process(); p != nil {
		d.Pid, d.Environment = p.Pid, p.EnvNames
	}
	s.set(id, &connectionState{c.Handshake().Took, d})
	s.changes.Add(topicDefinitions(id))
	go func() {
		<-c.Done()
		end()
	}()
	return c, nil
}

func (s *servers) set(id string, c *connectionState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state[id] = c
}

// updated records that a resource has changed.
func (s *servers) updated(id, uri string) {
	s.mu.Lock()
	s.updates = append(s.updates, update{id, uri, time.Now().UnixMilli()})
	s.updateBytes += len(uri)
	for len(s.updates) > maxUpdates || s.updateBytes > maxUpdateBytes {
		s.updateBytes -= len(s.updates[0].URI)
		s.updates[0] = update{} // append reuses the array for a while
		s.updates = s.updates[1:]
	}
	s.mu.Unlock()
	s.changes.Add(changes.Updates)
}

// latest returns the latest changes of resources.
func (s *servers) latest() []update {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.updates)
}

// find returns the server with an id.
func (s *servers) find(id string) (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.all, func(srv *server) bool { return srv.id == id })
	if i < 0 {
		return nil, reply.NotFound("server", id)
	}
	return s.all[i], nil
}

// callable returns a server that may be sent a request of this method, and the name of its tool.
func (s *servers) callable(id, method string, params json.RawMessage) (srv *server, tool string,
	err error) {
	if srv, err = s.find(id); err != nil {
		return nil, "", err
	}
	tool, _ = jsonscan.Text(jsonscan.Member(params, "name"))
	return srv, tool, srv.checkAllowed(method, tool)
}

// soleID returns the id of the server if there is exactly one, or "".
func (s *servers) soleID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) != 1 {
		return ""
	}
	return s.all[0].id
}

// use calls f with the client of a server, which it starts if needed.
func (s *servers) use(ctx context.Context, id string, f func(*server, *client.Client) error) error {
	srv, err := s.find(id)
	if err != nil {
		return err
	}
	if srv.refusal != nil {
		return &command.Failure{Code: srv.refusal.Code, Why: srv.refusal.Message,
			Hint: srv.refusal.Hint}
	}
	err = s.manager.Use(ctx, id, "", func(c *client.Client) error { return f(srv, c) })
	if e, ok := errors.AsType[*host.UnavailableError](err); ok { // the cause has the remedy
		err = e.Err
	}
	return srv.explain(err)
}

// ask returns what f makes of the server that a request names.
func (s *servers) ask(r *http.Request,
	f func(context.Context, *client.Client) (any, error)) (answer any, err error) {
	err = s.use(r.Context(), r.PathValue("id"), func(_ *server, c *client.Client) (err error) {
		answer, err = f(r.Context(), c)
		return err
	})
	return answer, err
}

// explain adds to an error of the server how to log in, if a login is the remedy.
func (srv *server) explain(err error) error {
	f := target.Explain(err)
	if srv.login == "" || f == nil || f.Code != "auth_required" {
		return err
	}
	with := *f
	with.Hint = "log in, under Authorization or at the terminal: " + srv.login
	return &with
}

// A serverStatus is a server as the page shows it.
type serverStatus struct {
	ID       string         `json:"id"`
	Selector string         `json:"selector"`
	URL      string         `json:"url,omitempty"`
	Command  string         `json:"command,omitempty"`
	Memory   int64          `json:"memory,omitempty"` // bytes, where they are known
	Source   string         `json:"source,omitempty"`
	File     string         `json:"file,omitempty"`  // of Source
	Added    bool           `json:"added,omitempty"` // by the page
	NoStream bool           `json:"no_stream,omitempty"`
	Watched  bool           `json:"watched,omitempty"` // a server of the watched gateway
	Gateway  bool           `json:"gateway,omitempty"` // the watched gateway itself
	State    host.State     `json:"state"`
	Ran      bool           `json:"ran,omitempty"`   // a connection to it has begun
	Since    int64          `json:"since,omitempty"` // milliseconds since 1970
	RetryAt  int64          `json:"retry_at,omitempty"`
	Uses     int            `json:"uses"`
	Restarts int            `json:"restarts"`
	TookMs   float64        `json:"took_ms,omitempty"` // the handshake
	Problem  *reply.Problem `json:"problem,omitempty"`
	Details  *details       `json:"details,omitempty"` // of the connection, if ready
	// Roots are what its requests for roots are answered with; nil if it has sent none and the user
	// has set none, or if the user is asked.
	Roots []string `json:"roots,omitzero"`

	// Of a server of the watched gateway:
	Era      string `json:"era,omitempty"`
	Revision string `json:"revision,omitempty"`
	Tools    *int   `json:"tools,omitempty"` // how many it offers

	Withheld []ops.WithheldItem `json:"withheld,omitempty"`
}

// statuses returns the state of all servers.
func (s *servers) statuses() []serverStatus {
	list := []serverStatus{}
	states := map[string]host.Status{}
	for _, status := range s.manager.Status() {
		states[status.ID] = status
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, srv := range s.all {
		now := states[srv.id]
		status := serverStatus{ID: srv.id, Selector: srv.selector, URL: srv.url,
			Command: srv.command, Source: srv.source, File: srv.file, Added: srv.added,
			State: now.State, Uses: now.Uses, Restarts: now.Restarts, Problem: srv.refusal,
			Gateway: srv.gateway, NoStream: s.noStream[srv.id],
			Roots: s.questions.rootsFor(srv.id)}
		status.Since, status.RetryAt = milliseconds(now.Since), milliseconds(now.RetryAt)
		if now.Err != nil {
			status.Problem = reply.ProblemOf(srv.explain(now.Err))
		}
		c := s.state[srv.id]
		status.Ran = c != nil
		if c != nil && now.State == host.Ready {
			status.Details, status.TookMs = c.details, command.Milliseconds(c.took)
			if c.details != nil && c.details.Pid > 0 {
				status.Memory = ops.Memory(c.details.Pid)
			}
		}
		list = append(list, status)
	}
	return list
}

// defaultRoots returns the working directory for a process of the command line, and no roots for
// others: roots would replace the directories that the arguments of a configured server name, and
// other servers may be on other machines.
func (s *servers) defaultRoots(id string) []string {
	srv, err := s.find(id)
	dir, wdErr := os.Getwd()
	if err != nil || wdErr != nil || !srv.inDir {
		return []string{}
	}
	path := filepath.ToSlash(dir)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // of Windows
	}
	return []string{(&url.URL{Scheme: "file", Path: path}).String()}
}

// setRoots sets the answer to all requests of a server for roots, see [questions.setRoots], and
// says that they have changed if the server runs.
func (s *servers) setRoots(ctx context.Context, id string, result json.RawMessage) error {
	if _, err := s.find(id); err != nil {
		return err
	}
	s.questions.setRoots(id, result)
	for _, now := range s.manager.Status() {
		if now.ID == id && now.State == host.Ready {
			return s.use(ctx, id,
				func(_ *server, c *client.Client) error { return c.RootsChanged(ctx) })
		}
	}
	return nil
}

func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// serverActions are the actions of the page on a server, by name.
var serverActions = map[string]func(s *servers, ctx context.Context, id string) error{
	"start": func(s *servers, ctx context.Context, id string) error {
		return s.use(ctx, id, func(*server, *client.Client) error { return nil })
	},
	"stop": func(s *servers, _ context.Context, id string) error { // until its next use
		return errors.Join(s.manager.Disable(id), s.manager.Enable(id))
	},
	"restart": func(s *servers, ctx context.Context, id string) error {
		if srv, err := s.find(id); err != nil || srv.refusal != nil {
			return s.use(ctx, id, nil) // which fails and says why
		}
		return s.manager.Restart(id)
	},
	"disable": func(s *servers, _ context.Context, id string) error { return s.manager.Disable(id) },
	"enable":  func(s *servers, _ context.Context, id string) error { return s.manager.Enable(id) },
	"forget":  func(s *servers, _ context.Context, id string) error { return s.forget(id) },
}

// addTarget adds the server of a command line. The caller has called t.Check and resolved the
// configuration.
func (s *servers) addTarget(t *target.Target, std *term.Streams) error {
	srv := s.targetServer(t, std)
	t.Observe = s.observe(srv.id)
	return s.add(srv)
}

// targetServer returns the server of a command line.
func (s *servers) targetServer(t *target.Target, std *term.Streams) *server {
	up := t.KeptServer(std, s.manager.Log)
	srv := &server{id: up.ID, upstream: up, filter: &up.Filter, config: t.Config()}
	switch {
	case t.Connection != "":
		srv.selector = "@" + t.Connection
	case t.Configured.ID != "":
		srv.selector = "-s " + t.Configured.ID
		if endpoint := t.Configured.Endpoint; endpoint.URL != "" {
			srv.url = httpurl.PublicText(endpoint.URL)
			srv.endpoint = func() (*config.Endpoint, error) { return endpoint, nil }
			if target.NoLoginReason(endpoint) == "" {
				srv.login = target.LoginCommand(t.Configured.ID, "")
			}
		}
	case t.Remote.URL != "":
		srv.url = httpurl.PublicText(t.Remote.URL)
		srv.selector = "--url " + shellwords.Quote(srv.url)
		srv.endpoint = func() (*config.Endpoint, error) { return t.Remote.Endpoint(), nil }
		if target.NoLoginReason(t.Remote.Endpoint()) == "" {
			srv.login = target.LoginCommand("", t.Remote.URL)
		}
	case t.Words != nil:
		srv.selector = "-- " + t.LaunchedName()
		if t.LaunchedName() == t.Name() && len(t.Words) > 1 {
			srv.selector += " …" // arguments may be secret
		}
		srv.command, srv.inDir = strings.TrimPrefix(srv.selector, "-- "), true
	default:
		srv.command, srv.inDir = "stdwire serve", true
	}
	return srv
}
