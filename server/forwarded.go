package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/skill"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/items"
	"github.com/stdwire/stdwire/server/internal/legacy"
	"github.com/stdwire/stdwire/server/internal/results"
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

// AddItem adds an item of another server, or replaces the one with the same key, as the methods of
// [Server] for its kind do. A tool may have any name, because the other server has chosen it.
func (i Integration) AddItem(item Item) error {
	key := item.Kind.KeyOf(item.Definition)
	return itemError(item.Kind, key, i.s.addItem(&item, key))
}

func (s *Server) addItem(from *Item, key string) error {
	i, err := from.item(key)
	switch {
	case err != nil:
		return err
	case from.Kind == mcp.KindTool:
		s.addTool(i)
	case from.Kind == mcp.KindSkill:
		return s.addSkill(i)
	default:
		s.add(i)
	}
	return nil
}

// item returns the item as requests use it.
func (from *Item) item(key string) (*item, error) {
	if !results.IsObject(from.Definition) {
		return nil, errors.New("its Definition is not a JSON object")
	}
	definition, err := oneLine(from.Definition)
	if err != nil {
		return nil, err
	}
	switch {
	case from.Use == nil:
		return nil, errors.New("it needs Use")
	case key == "" && (from.Kind == mcp.KindTool || from.Kind == mcp.KindPrompt):
		return nil, errors.New("it needs a name")
	}
	i := newItem(from.Kind, key, definition)
	name, _ := jsonscan.Text(jsonscan.Member(definition, "name"))
	switch from.Kind {
	case mcp.KindTool:
		i = toolItem(key, &tool{forwarded: true, listed: from.Listed}, "", definition)
		i.use = from.use(mcp.KindTool, key)
	case mcp.KindPrompt:
		err = from.usePrompt(i)
	case mcp.KindResource:
		i.use, err = from.use(mcp.KindResource, key), checkResource(key, name)
	case mcp.KindResourceTemplate:
		i.template = &template{read: func(uri string, _ map[string]string) useFunc {
			return from.use(mcp.KindResource, uri)
		}}
		i.template.Template, err = checkTemplate(key, name)
	case mcp.KindSkill:
		i.skill = &skillEntry{directory: from.ReadDirectory,
			read: func(uri string) useFunc { return from.use(mcp.KindResource, uri) }}
		if err = mcp.Unmarshal(definition, &i.skill.Skill); err == nil {
			err = skill.Check(&i.skill.Skill)
		}
	default:
		err = errors.New("a server cannot add items of this kind")
	}
	if err != nil {
		return nil, err
	}
	i.server, i.own = from.Server, from.Name
	i.SessionOnly, i.Extension, i.complete = from.NeedsSession, from.Extension, from.Complete
	return i, nil
}

// oneLine returns a valid object without line breaks: a copy only if there are some.
func oneLine(object json.RawMessage) ([]byte, error) {
	if object[0] == '{' && object[len(object)-1] == '}' && jsonscan.Valid(object) == nil &&
		!bytes.ContainsAny(object, "\r\n") {
		return object, nil
	}
	return mcp.Marshal(object)
}

// usePrompt sets what answers prompts/get. It refuses arguments that do not fit the definition, as
// for a [Prompt].
func (from *Item) usePrompt(i *item) error {
	var declared []mcp.PromptArgument
	if raw := jsonscan.Member(i.Definition, "arguments"); raw != nil {
		if err := mcp.Unmarshal(raw, &declared); err != nil {
			return err
		}
	}
	use := from.use(mcp.KindPrompt, i.Key)
	i.use = func(ctx context.Context, r *request, arguments json.RawMessage) (*Result, error) {
		if _, err := promptArguments(i.Key, declared, arguments); err != nil {
			return nil, err
		}
		return use(ctx, r, arguments)
	}
	return nil
}

// use returns the function that calls Use with this name, for a request of a kind of item.
func (from *Item) use(kind mcp.Kind, name string) useFunc {
	use := from.Use
	return func(ctx context.Context, r *request, arguments json.RawMessage) (*Result, error) {
		if kind == mcp.KindTool {
			arguments = orEmptyObject(arguments)
		}
		result, err := use(ctx, name, arguments)
		if err != nil {
			return r.handlerError(err)
		}
		if !results.IsObject(result) || jsonscan.Valid(result) != nil {
			return nil, r.logError(
				fmt.Errorf("the result of the %s %s is not a JSON object", kind, name))
		}
		return r.forwardedResult(kind, result), nil
	}
}

// forwardedResult returns the result of another server in the form of the client's era. For the
// modern era it stores isError, so that middleware need not search the result again.
func (r *request) forwardedResult(kind mcp.Kind, result json.RawMessage) *Result {
	if !r.era.Modern {
		return NewResult(legacy.Result(r.era.Revision, kind, result))
	}
	made := &Result{checked: true}
	made.json, made.isError = results.Forwarded(kind, result)
	return made
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

// awaitMissing calls the function Await, if it is set and the client may see an item with this key.
// It returns the item for this request only, or nil.
func (r *request) awaitMissing(kind mcp.Kind, key []byte) (*item, error) {
	s := r.conn.server
	await := s.upstreams.Load().Await
	if await == nil || !s.visible(r, kind, string(key)) {
		return nil, nil
	}
	from, err := await(r, kind, string(key))
	if from == nil || err != nil {
		return nil, err
	}
	return from.item(string(key))
}

// missingServers returns the servers whose items of a kind are missing, or nil.
func (r *request) missingServers(kind mcp.Kind) []string {
	if missing := r.conn.server.upstreams.Load().Missing; missing != nil {
		return missing(r, kind)
	}
	return nil
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

// NewOwnItems returns items as [Integration.AddItem] would add them; skills are not supported. The
// errors are those of the items that cannot be offered and are left out.
func NewOwnItems(all []Item) (*OwnItems, []error) {
	byKind := map[mcp.Kind]map[string]*item{}
	var errs []error
	for _, from := range all {
		key := from.Kind.KeyOf(from.Definition)
		i, err := from.item(key)
		if err == nil && from.Kind == mcp.KindSkill {
			err = errors.New("a skill cannot belong to some callers only")
		}
		if err != nil {
			errs = append(errs, itemError(from.Kind, key, err))
			continue
		}
		if byKind[from.Kind] == nil {
			byKind[from.Kind] = map[string]*item{}
		}
		byKind[from.Kind][key] = i
	}
	o := &OwnItems{lists: map[mcp.Kind]*listing{}}
	for kind, byKey := range byKind {
		o.lists[kind] = items.NewListing(byKey)
	}
	if templates := o.lists[mcp.KindResourceTemplate]; templates != nil {
		o.templates = newTemplateSet(templates)
	}
	return o, errs
}

// find returns an item, or nil.
func (o *OwnItems) find(kind mcp.Kind, key []byte) *item {
	if l := o.lists[kind]; l != nil && l.ByKey[string(key)] != nil {
		return l.ByKey[string(key)]
	}
	if kind != mcp.KindResource || o.templates == nil {
		return nil
	}
	uri := string(key)
	i, values := o.templates.match(uri)
	if i == nil {
		return nil
	}
	return unlistedResource(uri, i, i.template.read(uri, values))
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

// notificationKey is the key of the context of a notification that belongs to no request.
type notificationKey struct{}

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

// toolsFor returns the tools of the server and those that only the caller of the request in ctx
// has.
func (s *Server) toolsFor(ctx context.Context) *listing {
	static, sets := s.toolList().listing, s.ownItems(ctx)
	if len(sets) == 0 {
		return static
	}
	if known := sets[0].all.Load(); known != nil && known.static == static &&
		slices.Equal(known.sets, sets) {
		return known.listing
	}
	all := static
	for _, set := range sets {
		all = all.With(set.lists[mcp.KindTool])
	}
	sets[0].all.Store(&ownTools{static, sets, all})
	return all
}
