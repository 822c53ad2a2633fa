package server

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// An Item is a tool, prompt, resource, resource template or skill of another server, in JSON; see
// [Integration.AddItem].
type Item struct {
	Kind mcp.Kind

	// Definition is the item in lists: a JSON object with a valid [mcp.KindInfo].Key; a resource or
	// template also needs a name. It is sent byte by byte except for line breaks. For clients of
	// the legacy era, an outputSchema that does not describe an object is left out, and a tool
	// whose inputSchema does not describe an object is not listed. It is kept, perhaps without a
	// copy, and must not be modified.
	Definition json.RawMessage

	// Server is the ID of the other server, and Name its own name or URI of the item, for those who
	// search tools and for [Integration.Origin]; both may be "".
	Server, Name string

	// Listed says that a tool is also listed for clients that are shown find_tool in place of the
	// tools; see [ToolView].
	Listed bool

	// NeedsSession leaves the item out of lists for requests without a session, such as those of
	// modern clients over HTTP (see [Integration.Stateless]). Such clients can still use it, so Use
	// must refuse them.
	NeedsSession bool

	// Extension is the ID of the extension of [Options] that the item belongs to, or "". The item
	// exists only for clients with which the extension was negotiated.
	Extension string

	// Use answers a tools/call or prompts/get with this name, or a resources/read of this URI: that
	// of the resource, of one that matches the template, or of a file of the skill. The arguments
	// are those of the request, valid until Use returns. Those of a tool are not validated; those
	// of a prompt have been compared with its definition and are nil if the client has sent none.
	//
	// The result, a JSON object, is sent unchanged, with these exceptions. In the modern era, a
	// missing resultType is added, and to the contents of a resource cache hints that are missing
	// or invalid, so that caches may not store them. In the legacy era, cache hints and structured
	// content that is not an object are left out. Content of a prompt that the client's revision
	// does not support becomes text.
	//
	// The error follows the rules of [Resource].Read. A panic has the effect of one that is logged.
	// Use must be safe for concurrent use.
	Use func(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error)

	// Complete suggests values for an argument of a prompt or a variable of a template; nil: no
	// suggestions.
	Complete Completer

	// ReadDirectory returns an array of the definitions of the resources in a directory of a
	// dynamic skill; nil: it has no directories. The error follows the rules of [Resource].Read.
	ReadDirectory func(ctx context.Context, uri string) (json.RawMessage, error)
}

// Upstreams are the functions of a gateway for what clients use beyond the items that it has added;
// see [Integration.SetUpstreams]. Each may be nil, and must be safe for concurrent use. The errors
// follow the rules of [Resource].Read.
type Upstreams struct {
	// Read reads a URI that neither is a resource of this server nor matches a template: a resource
	// link in a result need not be in any list (2026-07-28, server/tools, Resource Links). Its
	// result is like that of [Item].Use; for an unknown URI it returns [ResourceNotFound].
	Read func(ctx context.Context, uri string) (json.RawMessage, error)

	// Own returns the items that only the caller of the request in ctx has, for each server whose
	// lists depend on the caller, in the order of their precedence; what was added to this server
	// precedes them. It returns nil if no lists depend on the caller; otherwise lists are private
	// to him and not to be kept. It may wait for these servers, but not for long, and is called
	// once for a request, and again after Await.
	Own func(ctx context.Context) []*OwnItems

	// Known returns what Own does as far as it is known: it must not block. A notification that
	// belongs to no request is sent if the client may see its subject by what is known.
	Known func(ctx context.Context) []*OwnItems

	// Withheld returns the items of a kind that the servers have and that nobody is offered before
	// they are reviewed. [Options].Visible says who may know of one, by its Origin. It must not
	// block.
	Withheld func(ctx context.Context, kind mcp.Kind) []Withheld

	// Await is called when a client uses a tool or prompt that this server does not have, and
	// waits for servers that are still starting. It may return an item that answers this request
	// and is in no list, such as one that asks the client's user for what its server needs. When it
	// returns nil, the server looks the name up once more.
	Await func(ctx context.Context, kind mcp.Kind, name string) (*Item, error)

	// Missing is called for each page of a list, of the request in ctx. It returns the IDs of the
	// servers whose items of the kind are missing, in _meta of the result (see [mcp.MetaPartial]),
	// whose ttlMs is then 0; or nil if the list is complete. It must not block.
	Missing func(ctx context.Context, kind mcp.Kind) []string

	// Instructions returns the instructions of the servers for the model of the client of the
	// request in ctx, which follow [Options].Instructions. It must not block. [MaySee] says what
	// the client may see.
	Instructions func(ctx context.Context) string

	// ResolveForApp converts the tool names and resource URIs that an app uses, which are those of
	// its own server, to those of the gateway. It is called for a tools/call or resources/read of a
	// client with apps whose _meta names the app (see [mcp.MetaApp]) and, with app "", for a
	// tools/call with an unknown name. It returns the name or URI to use; an error answers the
	// request.
	ResolveForApp func(ctx context.Context, app string, kind mcp.Kind, name string) (string, error)

	// SubscriptionsChanged is called whenever the result of [Integration.SubscribedResources] may
	// have changed. The request or connection that caused the change waits for it.
	SubscriptionsChanged func()
}

// SetUpstreams sets the functions of a gateway, in place of those of an earlier call. Those that
// are nil have no effect. Requests in progress may still call the earlier ones.
func (i Integration) SetUpstreams(u Upstreams) { i.s.upstreams.Store(&u) }

// A Withheld is an item of another server that is not offered before somebody has reviewed it.
type Withheld struct {
	Key    string // the name or URI under which it would be offered
	Why    string // as in "its definition has changed"
	Origin        // Definition is the one that was reviewed last, or else the server's
}

// A withheldList has the items of a kind that the caller of a request could use if they were
// reviewed.
type withheldList struct {
	kind  mcp.Kind
	all   []Withheld
	byKey map[string]*Withheld
}

// withheld returns the items that are withheld from the caller in ctx. A request keeps them,
// because whether he may know of them is asked for each.
func (s *Server) withheld(ctx context.Context, kind mcp.Kind) *withheldList {
	get, r := s.upstreams.Load().Withheld, requestFrom(ctx)
	if get == nil {
		return &withheldList{}
	}
	if r != nil {
		if known := r.withheld.Load(); known != nil && known.kind == kind {
			return known
		}
	}
	l := &withheldList{kind, get(ctx, kind), nil}
	if len(l.all) > 0 {
		l.byKey = make(map[string]*Withheld, len(l.all))
	}
	for i := range l.all {
		if w := &l.all[i]; l.byKey[w.Key] == nil {
			l.byKey[w.Key] = w
		}
	}
	if r != nil {
		r.withheld.Store(l)
	}
	return l
}

// missingServers returns the servers whose items of a kind are missing, or nil.
func (r *request) missingServers(kind mcp.Kind) []string {
	if missing := r.conn.server.upstreams.Load().Missing; missing != nil {
		return missing(r, kind)
	}
	return nil
}

// subscriptionsChanged calls the function SubscriptionsChanged of [Upstreams]. The caller holds no
// lock.
func (s *Server) subscriptionsChanged() {
	if changed := s.upstreams.Load().SubscriptionsChanged; changed != nil {
		s.runCallback("SubscriptionsChanged", changed)
	}
}

// OwnItems are items of another server that only some callers have: see [Upstreams].Own. They are
// immutable.
type OwnItems struct {
	lists     map[mcp.Kind]*listing
	templates *templateSet
	all       atomic.Pointer[ownTools] // the latest
}

// ownTools are the tools of a server together with those of a caller.
type ownTools struct {
	static *listing
	sets   []*OwnItems
	*listing
}

// find returns an item, or nil.
func (o *OwnItems) find(kind mcp.Kind, key []byte) *item {
	if l := o.lists[kind]; l != nil && l.ByKey[string(key)] != nil {
		return l.ByKey[string(key)]
	}
	if kind != mcp.KindResource || o.templates == nil {
		return nil
	}
	return o.templates.resource(string(key))
}

// own is the provider of the items that only the caller has.
type own struct{ *Server }

func (o own) List(ctx context.Context, kind mcp.Kind) (all *listing, err error) {
	for _, set := range o.ownItems(ctx) {
		all = all.With(set.lists[kind])
	}
	return all, nil
}

func (o own) Find(ctx context.Context, kind mcp.Kind, key []byte) *item {
	for _, set := range o.ownItems(ctx) {
		if i := set.find(kind, key); i != nil {
			return i
		}
	}
	return nil
}

// ownItems returns the items that only the caller of the request in ctx has; nil: no lists depend
// on the caller.
func (s *Server) ownItems(ctx context.Context) []*OwnItems {
	u := s.upstreams.Load()
	if u.Own == nil {
		return nil
	}
	if r := requestFrom(ctx); r != nil {
		return r.own()
	}
	if ctx.Value(notificationKey{}) == nil {
		return u.Own(ctx)
	}
	if u.Known != nil {
		return u.Known(ctx)
	}
	return []*OwnItems{}
}

// own is ownItems for the request, which keeps them.
func (r *request) own() []*OwnItems {
	get := r.conn.server.upstreams.Load().Own
	if get == nil {
		return nil
	}
	if known := r.owned.Load(); known != nil {
		return *known
	}
	sets := get(r)
	r.owned.Store(&sets)
	return sets
}
