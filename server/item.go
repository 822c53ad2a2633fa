package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/uritemplate"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/items"
	"github.com/stdwire/stdwire/server/internal/legacy"
	"github.com/stdwire/stdwire/server/internal/projection"
)

// An item is an element of a list, in the form in which requests use it: what depends on how it was
// added was determined then.
type item struct {
	items.Item
	use      useFunc
	complete Completer // nil: no suggestions
	of       *item     // the template or skill that an unlisted resource belongs to

	server, own string // see Item.Server

	tool     *tool       // of a tool
	template *template   // of a resource template
	skill    *skillEntry // of a skill
}

// A useFunc runs the call of an item with these arguments. ctx is the request or derives from it.
type useFunc func(ctx context.Context, r *request, arguments json.RawMessage) (*Result, error)

// orEmptyObject returns arguments, or an object if there are none.
func orEmptyObject(arguments json.RawMessage) json.RawMessage {
	if len(arguments) == 0 || string(arguments) == "null" {
		return json.RawMessage(`{}`)
	}
	return arguments
}

type (
	listing    = items.Listing[*item]
	collection = items.Collection[*item]
)

// A provider is a source of items.
type provider interface {
	// List returns the items of a kind; nil for none. ctx is the request, if there is one.
	List(ctx context.Context, kind mcp.Kind) (*listing, error)
	// Find returns the item that a client uses by a key of this kind, or nil. It need not be
	// listed. ctx is like that of List. Find must not retain the bytes of the key.
	Find(ctx context.Context, kind mcp.Kind, key []byte) *item
}

// A Completer suggests values for an argument, based on the text that the user has typed so far and
// on the arguments that already have a value (2026-07-28, server/utilities/completion). At most 100
// values are sent to the client. The error follows the rules of [Resource].Read.
type Completer func(ctx context.Context, argument, typed string,
	settled map[string]string) (mcp.Completion, error)

// A tool is what only tools have of an item.
type tool struct {
	operation *dispatch.Operation // the operation of the catalog whose definition this is, or nil
	service   *projection.Service // the service whose operations calls select, or nil
	taskLater bool                // see RawTool.TaskLater
	forwarded bool                // the tool of another server
	listed    bool                // see Item.Listed
}

// operationFor returns the operation of the catalog that a call with these arguments runs, or nil.
func (t *tool) operationFor(arguments []byte) *dispatch.Operation {
	if t.service == nil {
		return t.operation
	}
	op, _, _ := t.service.Route(arguments)
	return op
}

// A template is what only resource templates have of an item.
type template struct {
	*uritemplate.Template
	// read returns the function that reads a URI with these values of the variables.
	read func(uri string, values map[string]string) useFunc
}

type templateSet struct {
	of  *listing
	set *uritemplate.Set
}

func newTemplateSet(l *listing) *templateSet {
	parsed := make([]*uritemplate.Template, 0, len(l.Sorted))
	for _, i := range l.Sorted {
		parsed = append(parsed, i.template.Template)
	}
	return &templateSet{l, uritemplate.NewSet(parsed...)}
}

// resource is [templates.resource] for these templates.
func (s *templateSet) resource(uri string) *item {
	index, values, ok := s.set.Match(uri)
	if !ok {
		return nil
	}
	texts := map[string]string{}
	for name, value := range values {
		texts[name] = value.String()
	}
	i := s.of.Sorted[index]
	return unlistedResource(uri, i, i.template.read(uri, texts))
}

// A skillEntry is what only skills have of an item.
type skillEntry struct {
	mcp.Skill
	read      func(uri string) useFunc // reads a file
	directory func(ctx context.Context, uri string) (json.RawMessage, error)
}

// newItem returns an item whose definition is the same in both eras.
func newItem(kind mcp.Kind, key string, definition []byte) *item {
	return &item{Item: items.New(kind, key, definition)}
}

// toolItem returns the item of a tool with this definition.
func toolItem(name string, t *tool, tasks mcp.TaskSupport, definition []byte) *item {
	i := newItem(mcp.KindTool, name, definition)
	i.tool, i.Tasks, i.Legacy = t, tasks, nil
	if legacy, ok := legacy.ToolDefinition(definition); ok {
		i.Legacy = legacy
	}
	return i
}

// unlistedResource returns a resource that belongs to a template or skill, or to none.
func unlistedResource(uri string, of *item, read useFunc) *item {
	return &item{Item: items.New(mcp.KindResource, uri, nil), of: of, use: read}
}

// checkResource returns an error if a resource is invalid.
func checkResource(uri, name string) error {
	if u, err := url.Parse(uri); err != nil || u.Scheme == "" || name == "" {
		return errors.New("it needs an absolute URI and a Name")
	}
	return nil
}

// checkTemplate returns the parsed URI template. It returns an error if the resource template is
// invalid.
func checkTemplate(uriTemplate, name string) (*uritemplate.Template, error) {
	parsed, err := uritemplate.Parse(uriTemplate)
	if err == nil && name == "" {
		err = errors.New("it needs a Name")
	}
	return parsed, err
}

// itemError returns the error of a method that adds an item; nil for nil.
func itemError(kind mcp.Kind, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("server: %s %.200q: %w", kind, key, err)
}

// Must panics with err if it is not nil. It is for the items that a program adds when it starts:
//
//	server.Must(s.AddPrompt(server.Prompt{Prompt: prompt, Get: get}))
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// add adds an item, or replaces the one with the same key, and notifies clients.
func (s *Server) add(i *item) {
	if i.complete != nil {
		s.completions.Store(true)
	}
	s.added[i.Kind].Add(i)
	s.listChanged(i.Kind.Info().ListChanged)
	if i.Legacy == nil { // only of a tool
		s.log.Warn("a tool is not listed for clients of revisions before 2026-07-28, which would refuse the whole list: its inputSchema is not that of an object",
			"tool", i.Key)
	}
}

// addSkill adds a skill, unless AddSkills has added it.
func (s *Server) addSkill(i *item) error {
	s.skills.sources.mu.Lock()
	defer s.skills.sources.mu.Unlock()
	if s.skills.sources.has(i.Key) {
		return errors.New("AddSkills has already added it")
	}
	s.add(i)
	return nil
}

// Remove removes the items of a kind with these names, URIs or URI templates, which methods of the
// server or [AddTool] have added, and returns their number.
func (s *Server) Remove(kind mcp.Kind, keys ...string) (removed int) {
	if kind == mcp.KindApp {
		return s.removeApps(keys)
	}
	c := s.added[kind]
	if c == nil {
		return 0
	}
	if removed = c.Remove(keys); removed > 0 {
		s.listChanged(kind.Info().ListChanged)
	}
	return removed
}

// removeApps removes apps and returns their number.
func (s *Server) removeApps(uris []string) (removed int) {
	s.apps.mu.Lock()
	for _, uri := range uris {
		now := s.apps.toolsWithout(uri)
		s.apps.tools.Store(&now)
	}
	s.apps.mu.Unlock()
	if removed = s.Remove(mcp.KindResource, uris...); removed > 0 {
		s.listChanged(mcp.NotificationToolListChanged)
	}
	return removed
}

// An Origin says what an item is, for those who decide who may see it.
type Origin struct {
	// Server is the ID of the other server that has the item, and Name its own name or URI of it;
	// see [Item].
	Server, Name string
	// Definition is that in lists; nil: it is in no list. Of a URI that belongs to a template or
	// skill, Server and Definition are those of the template or skill, and Name is "".
	Definition json.RawMessage
	Operation  *dispatch.Operation // of the catalog, if the item is its tool
}

// Origin returns what is known of the item that the client of the request in ctx uses by a key,
// whether it may see it or not. ok is false if the server has none, not even one that is withheld
// (see [Upstreams]).
func (i Integration) Origin(ctx context.Context, kind mcp.Kind, key string) (o Origin, ok bool) {
	if found := i.s.first(ctx, kind, []byte(key)); found != nil {
		o = Origin{Server: found.server, Name: found.own, Definition: found.Definition}
		if found.of != nil {
			o.Server, o.Definition = found.of.server, found.of.Definition
		}
		if found.tool != nil {
			o.Operation = found.tool.operation
		}
		return o, true
	}
	if w := i.s.withheld(ctx, kind).byKey[key]; w != nil {
		return w.Origin, true
	}
	return o, false
}

// first returns the item that a key names, whether the client may see it or not; nil: none.
func (s *Server) first(ctx context.Context, kind mcp.Kind, key []byte) *item {
	for _, p := range s.providers[kind] {
		if found := p.Find(ctx, kind, key); found != nil {
			return found
		}
	}
	return nil
}

// maySee reports whether an item exists for the client.
func (r *request) maySee(i *item) bool {
	return (i.of == nil || r.maySee(i.of)) && r.permits(i.Extension) &&
		r.conn.server.visible(r, i.Kind, i.Key)
}

// lists reports whether lists for the client have an item.
func (r *request) lists(i *item) bool {
	return (!i.SessionOnly || !r.conn.isStateless()) && (i.Legacy != nil || r.era.Modern) &&
		r.maySee(i)
}

// MaySee reports whether the client of the request in ctx may see an item, as [Options].Visible
// says. It is true if ctx belongs to no request.
func MaySee(ctx context.Context, kind mcp.Kind, key string) bool {
	r := requestFrom(ctx)
	return r == nil || r.conn.server.visible(r, kind, key)
}

func (s *Server) visible(r *request, kind mcp.Kind, key string) bool {
	return s.o.Visible == nil || s.o.Visible(r, kind, key)
}

// showsTasksOf reports whether the client of the request in ctx may see the tasks of a tool. While
// there are tools that depend on the caller, those of an unknown one are hidden: it may be one that
// Options.Visible hides, of a server that does not return its list now.
func (s *Server) showsTasksOf(ctx context.Context, tool string) bool {
	if s.o.Visible == nil {
		return true
	}
	if s.ownItems(ctx) != nil {
		if _, known := (Integration{s}).Origin(ctx, mcp.KindTool, tool); !known {
			return false
		}
	}
	return s.o.Visible(ctx, mcp.KindTool, tool)
}
