package server

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/items"
)

// unlisted is part of a provider whose items are in no list.
type unlisted struct{}

func (unlisted) List(context.Context, mcp.Kind) (*listing, error) { return nil, nil }

// pages returns the function of the method table that answers requests for the list of a kind.
func pages(kind mcp.Kind) func(*request) (*Result, error) {
	return func(r *request) (*Result, error) {
		var all *listing
		for _, p := range r.conn.server.providers[kind] {
			l, err := p.List(r, kind)
			if err != nil {
				return r.handlerError(err)
			}
			all = all.With(l)
		}
		p, err := newPage(r, kind, all)
		if err != nil {
			return nil, err
		}
		return &p.Result, nil
	}
}

// A page is a part of a list. One allocation has the result and what encodes it.
type page struct {
	Result
	items.Page[*item]
}

// newPage returns the page of a list that the client requests.
func newPage(r *request, kind mcp.Kind, l *listing) (*page, error) {
	s := r.conn.server
	cursor, err := r.params.Text(paramCursor)
	if err != nil {
		return nil, err
	}
	var keep func(*item) bool
	if s.o.Visible != nil || l.HasSessionOnly && r.conn.isStateless() || l.HasExtension ||
		l.HasModernOnly && !r.era.Modern {
		keep = r.lists
	}
	p := &page{Page: items.Page[*item]{Common: s.results, Era: r.era,
		Member: kind.Info().ListMember, Partial: r.missingServers(kind), HiddenMeta: r.hiddenMeta(),
		Public: s.o.PublicLists && !l.HasExtension && !s.metaIsOffered(),
		Varies: r.own() != nil}}
	if p.Items, p.More, err = l.Page(cursor, s.o.PageSize, keep); err != nil {
		return nil, err
	}
	p.Result = Result{content: &p.Page, checked: true}
	return p, nil
}

// metaIsOffered reports whether an extension with keys of _meta is declared, so that lists differ
// between clients.
func (s *Server) metaIsOffered() bool {
	has := s.declaredKinds()
	return slices.ContainsFunc(s.extensions.withMeta,
		func(x *extension) bool { return x.isOffered(&era.Era{Modern: true}, has) })
}

// find returns the item that the client uses by a key of this kind, or nil if there is none that
// the client may see. If no provider has the item, find calls the function Await of [Upstreams],
// and looks once more unless that returns one. exists reports whether there is one then.
func (r *request) find(kind mcp.Kind, key []byte) (found *item, exists bool, err error) {
	if found, exists = r.lookUp(kind, key); !exists {
		if found, err = r.awaitMissing(kind, key); found != nil {
			return found, true, nil
		}
		if err == nil {
			r.owned.Store(nil)
			r.withheld.Store(nil)
			found, exists = r.lookUp(kind, key)
		}
	}
	return found, exists, err
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

// lookUp is find without waiting.
func (r *request) lookUp(kind mcp.Kind, key []byte) (found *item, exists bool) {
	for _, p := range r.conn.server.providers[kind] {
		if i := p.Find(r, kind, key); i != nil {
			if exists = true; r.maySee(i) {
				return i, true
			}
		}
	}
	return nil, exists
}

// The errors about a faulty interceptor.
var (
	errNotJSON   = errors.New("server: an interceptor set arguments that are not JSON")
	errNotResult = errors.New("server: an interceptor returned a result that is not a JSON object")
)

// use runs the call of an item within the interceptors, with the arguments as they have left them.
func (r *request) use(i *item, arguments json.RawMessage) (*Result, error) {
	if err := r.readInputResponses(); err != nil {
		return nil, err
	}
	chain := r.conn.server.interceptors
	if chain == nil {
		return r.run(r, i, arguments)
	}
	var (
		made    *Result // the last result of the item
		failure error   // its last error, which has been logged
	)
	call := &dispatch.Invocation{Kind: string(i.Kind), Name: i.Key, Arguments: arguments,
		Principal: r.conn.principal, RequestID: r.ID.String(), Surface: "mcp"}
	if i.tool != nil {
		call.Operation = i.tool.operationFor(arguments)
	}
	result, err := call.Run(r, chain,
		func(ctx context.Context, c *dispatch.Invocation) (dispatch.Result, error) {
			if !jsonscan.Same(c.Arguments, arguments) && jsonscan.Valid(c.Arguments) != nil {
				return nil, errNotJSON
			}
			if made, failure = r.repeat(func(r *request) (*Result, error) {
				return r.run(ctx, i, c.Arguments)
			}); failure != nil {
				return nil, failure
			}
			return made, nil
		})
	if err == nil {
		own, ok := result.(*Result)
		if !ok || own == nil || own != made && !own.isValid() {
			return nil, r.logError(errNotResult)
		}
		return own, nil
	}
	if err == failure {
		return nil, err
	}
	return r.errorResponse(err)
}

// run runs an item, and asks the client the questions that are pending then if it has failed.
func (r *request) run(ctx context.Context, i *item, arguments json.RawMessage) (*Result, error) {
	result, err := i.use(ctx, r, arguments)
	if !r.asks() || err == nil && (result == nil || result.Type() == mcp.ResultInputRequired) {
		return result, err
	}
	log := r.conn.server.log.With("method", r.Method, "name", i.Key)
	if err == nil && !result.IsError() {
		log.Warn("a handler has returned a result in place of the error of a question that it asked; the client is not asked: return that error, wrapped with %w if at all")
		return result, nil
	}
	log.Warn("a handler has hidden the error of a question that it asked; the client is asked all the same, but wrap it with %w",
		"error", err)
	return r.inputRequired()
}

// resolveForApp returns the tool name or resource URI to use for a request that the host makes for
// an app. It refuses a tool that is not visible to apps.
func (r *request) resolveForApp(kind mcp.Kind, name string) (string, error) {
	app, ok := jsonscan.Text(r.params.Meta.App)
	if !ok || !appdef.IsURI(app) {
		return "", rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: _meta[%q] must be the URI of an app", mcp.MetaApp)
	}
	if !r.negotiated(mcp.ExtensionApps) {
		return "", rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: _meta[%q] is for clients with the extension %s", mcp.MetaApp,
			mcp.ExtensionApps)
	}
	s := r.conn.server
	own := s.apps.has(app)
	if resolve := s.upstreams.Load().ResolveForApp; resolve != nil && !own {
		var err error
		if name, err = resolve(r, app, kind, name); err != nil {
			return "", err
		}
	}
	if kind == mcp.KindTool {
		found := s.first(r, kind, []byte(name))
		if found != nil && (!found.visibleToApps() || own && found.tool.forwarded) {
			return "", rpc.Errorf(rpc.CodeInvalidParams, "Apps may not call the tool %.200s", name)
		}
	}
	return name, nil
}

// resolveUnknownTool returns the tool for a name that the server does not have, or nil. Such a
// request may come from an app whose host does not name the app in _meta.
func (r *request) resolveUnknownTool(name string) (*item, error) {
	resolve := r.conn.server.upstreams.Load().ResolveForApp
	if resolve == nil || !r.negotiated(mcp.ExtensionApps) {
		return nil, nil
	}
	name, err := resolve(r, "", mcp.KindTool, name)
	if err != nil {
		return nil, err
	}
	found, _ := r.lookUp(mcp.KindTool, []byte(name))
	if found != nil && found.visibleToApps() {
		return found, nil
	}
	return nil, nil
}

// visibleToApps reports whether an app may call a tool.
func (i *item) visibleToApps() bool {
	var meta mcp.Meta
	if raw := jsonscan.Member(i.Definition, "_meta"); raw != nil && mcp.Unmarshal(raw, &meta) != nil {
		return false
	}
	ui, err := appdef.ToolUI(meta)
	return err == nil && ui.Allows(mcp.VisibleToApp)
}
