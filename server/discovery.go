package server

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/paramheader"
	"github.com/stdwire/stdwire/internal/toolsearch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/discovery"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/params"
)

// initToolViews prepares the tools that find and call others.
func (s *Server) initToolViews() error {
	if s.o.ToolView == nil {
		return nil
	}
	s.views.meta = map[string]*item{}
	for name, definition := range discovery.Definitions() {
		s.views.meta[name] = toolItem(name, &tool{}, "", definition)
	}
	use, err := s.validatedCall(&RawTool{Tool: mcp.Tool{Name: discovery.Find,
		InputSchema: json.RawMessage(discovery.FindSchema)}, Call: findTool})
	s.views.meta[discovery.Find].use = use
	return err
}

// unwrap makes a tools/call of a tool that calls others the call of the inner tool, and one by the
// name that the client's view gives a tool the call by its own name.
func (r *request) unwrap() error {
	s := r.conn.server
	if s.views.meta == nil || r.Method != mcp.MethodCallTool ||
		r.params.Meta.App != nil { // an app uses the names of its own server
		return nil
	}
	name, err := r.params.Text(paramName)
	if err != nil {
		return err
	}
	inner, all := r.Params, s.toolList().listing
	if discovery.IsMeta(name) && (all.ByKey[string(name)] == nil || r.viewOf(all).Search) {
		if r.through = discovery.CallerRisk(name); r.through == discovery.Unknown {
			r.finds = true
			return nil
		}
		if inner, name, r.refused = discovery.Inner(r.Params); r.refused != nil {
			return nil
		}
	}
	if all.ByKey[string(name)] == nil {
		if own, ok := s.ownName(r.clientInfo().Name, all, name); ok {
			inner = jsonscan.SetMember(inner, "name", jsonscan.AppendString(nil, own))
		}
	}
	if jsonscan.Same(inner, r.Params) {
		return nil
	}
	request := *r.Request
	request.Params = inner
	r.Request, r.params = &request, params.Params{}
	return r.params.Read(inner)
}

// indexWait is how long a search waits for the index of a list that has changed before it uses the
// one of the list before.
const indexWait = 200 * time.Millisecond

// toolIndex returns the index of the current tools or, while it takes long to make that, the one
// before. The error is that of ctx.
func (s *Server) toolIndex(ctx context.Context, all *listing) (*toolIndex, error) {
	if all != s.toolList().listing && len(s.ownItems(ctx)) > 0 {
		return s.views.ownIndex(all), nil
	}
	v := &s.views
	v.mu.Lock()
	latest, done := v.index, v.building
	if latest != nil && latest.of == all {
		v.mu.Unlock()
		return latest, nil
	}
	if done == nil {
		done = make(chan struct{})
		v.building = done
		go s.buildToolIndex(all, done)
	}
	v.mu.Unlock()
	var enough <-chan time.Time
	if latest != nil {
		enough = time.After(indexWait)
	}
	select {
	case <-done:
	case <-enough:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.index, nil
}

// maxOwnIndexes limits the indexes that are kept of tools of which some belong to one caller.
const maxOwnIndexes = 8

// ownIndex returns the index of tools of which some belong to one caller.
func (v *toolViews) ownIndex(all *listing) *toolIndex {
	v.mu.Lock()
	known := v.own[all]
	v.mu.Unlock()
	if known != nil {
		return known
	}
	made := newToolIndex(all)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.own == nil {
		v.own = map[*listing]*toolIndex{}
	}
	for other := range v.own {
		if len(v.own) < maxOwnIndexes {
			break
		}
		delete(v.own, other)
	}
	v.own[all] = made
	return made
}

func newToolIndex(of *listing) *toolIndex {
	tools := make([]toolsearch.Tool, len(of.Sorted))
	for n, i := range of.Sorted {
		tools[n] = searched(i.server, i.own, i.Key, i.Definition)
	}
	return &toolIndex{of, toolsearch.New(tools)}
}

// searched returns a tool as searches know it. Words count that are in the name under which it is
// offered, and not in one of its server's that an override has replaced.
func searched(server, own, key string, definition []byte) toolsearch.Tool {
	return toolsearch.Tool{Server: server, Name: itemname.Offered(server, cmp.Or(own, key), key),
		Public: key, Definition: definition}
}

func (s *Server) buildToolIndex(of *listing, done chan<- struct{}) {
	made := &toolIndex{of, toolsearch.New(nil)}
	s.runCallback("the index of the tools", func() { made = newToolIndex(of) })
	s.views.mu.Lock()
	defer s.views.mu.Unlock()
	s.views.index, s.views.building = made, nil
	close(done)
}

// findTool answers a call of [discovery.Find].
func findTool(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	r := requestFrom(ctx)
	s := r.conn.server
	q, err := discovery.ParseQuery(arguments)
	if err != nil {
		return nil, err
	}
	all := s.toolsFor(r)
	x, err := s.toolIndex(ctx, all)
	if err != nil {
		return nil, err
	}
	withheld, some := r.withheldTools(&q, all)
	found := discovery.Found{Missing: r.missingServers(mcp.KindTool), Withheld: withheld}
	if q.Server != "" {
		if found.Servers = r.toolServers(all); some || slices.Contains(found.Servers, q.Server) {
			found.Servers = nil
		} else {
			return q.Answer(&found)
		}
	}
	current := func(n int) *item { return all.ByKey[x.of.Sorted[n].Key] }
	if x.of == all {
		current = func(n int) *item { return all.Sorted[n] }
	}
	options := toolsearch.Options{Limit: q.Limit, Allow: func(n int) bool {
		i := current(n)
		return i != nil && (q.Server == "" || i.server == q.Server) && r.shows(i)
	}}
	if q.ReadOnly {
		visible := options.Allow
		reads := func(n int) bool {
			return discovery.RiskOf(current(n).Definition) == discovery.Read
		}
		options.Allow = func(n int) bool { return visible(n) && !reads(n) }
		found.Writing = x.Search(q.Query, options).Found
		options.Allow = func(n int) bool { return visible(n) && reads(n) }
	}
	result := x.Search(q.Query, options)
	if found.Matched = result.Found; len(result.Hits) == 0 && len(result.Unknown) > 0 {
		found.Matched, found.Unknown = 0, result.Unknown
	}
	for _, hit := range result.Hits {
		found.Definitions = append(found.Definitions, current(hit.Tool).Definition)
	}
	return q.Answer(&found)
}

// maxWithheld limits the withheld tools among which a search looks.
const maxWithheld = 100

// withheldTools returns the tools that fit a query, that the client may know of, and that are not
// offered. some reports whether there are any that the query permits, even if they do not fit.
func (r *request) withheldTools(q *discovery.Query, all *listing) (fit []discovery.Withheld,
	some bool) {
	var tools []toolsearch.Tool
	var named []discovery.Withheld
	for _, w := range r.conn.server.withheld(r, mcp.KindTool).all {
		if q.Server != "" && w.Server != q.Server || all.ByKey[w.Key] != nil ||
			q.ReadOnly && discovery.RiskOf(w.Definition) != discovery.Read ||
			!r.conn.server.visible(r, mcp.KindTool, w.Key) {
			continue
		}
		tools = append(tools, searched(w.Server, w.Name, w.Key, w.Definition))
		named = append(named, discovery.Withheld{Name: w.Key, Why: w.Why})
		if len(tools) == maxWithheld {
			break
		}
	}
	if tools == nil {
		return nil, false
	}
	options := toolsearch.Options{Limit: q.Limit}
	for _, hit := range toolsearch.New(tools).Search(q.Query, options).Hits {
		fit = append(fit, named[hit.Tool])
	}
	return fit, true
}

// toolServers returns the IDs of the servers of the tools that the client may see.
func (r *request) toolServers(all *listing) []string {
	ids := map[string]bool{}
	for _, i := range all.Sorted {
		if i.server != "" && !ids[i.server] && r.shows(i) {
			ids[i.server] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// CheckToolHeaders compares the headers of an HTTP request that repeat arguments of a tool with
// the arguments in the params of its tools/call (2026-07-28, basic/transports/streamable-http,
// Custom Headers from Tool Parameters). header returns the values of a header, whatever the case of
// its name. If there is a difference, the transport must refuse the request with
// [mcp.CodeHeaderMismatch] and the text of the error. A tool is known by the name that the client's
// [ToolView] gives it, too. Of one that another tool calls, headers may be missing, because the
// other tool's definition does not ask for them.
//
// ctx is that of the request. What the caller may not see has no headers.
func (i Integration) CheckToolHeaders(ctx context.Context, tool string, params json.RawMessage,
	header func(name string) []string) error {
	optional := false
	if s := i.s; s.views.meta != nil && s.toolList().ByKey[tool] == nil {
		if inner, own, ok := discovery.InnerCall([]byte(tool), params); ok {
			tool, params, optional = string(own), inner, true
		}
		info := jsonscan.Member(jsonscan.Member(params, "_meta"), mcp.MetaClientInfo)
		if own, ok := s.ownName(era.ReadClientInfo(info).Name, s.toolsFor(ctx), []byte(tool)); ok {
			tool = own
		}
	}
	if visible := i.s.o.Visible; visible != nil && !visible(ctx, mcp.KindTool, tool) {
		return nil
	}
	for _, p := range i.s.headerParams(ctx, tool) {
		values := header(p.Header)
		if optional && len(values) == 0 {
			continue
		}
		if err := p.Check(values, jsonscan.Member(params, "arguments")); err != nil {
			return err
		}
	}
	return nil
}

// headerParams returns the parameters of a tool that headers repeat. It returns nil if the tool has
// none or does not exist, or if its annotations are invalid. The slice is shared. Those of a tool
// that only the caller of the request in ctx has are not cached.
func (s *Server) headerParams(ctx context.Context, tool string) []paramheader.Param {
	list := s.toolList()
	list.mu.RLock()
	known, ok := list.headers[tool]
	list.mu.RUnlock()
	if ok {
		return known
	}
	item := list.ByKey[tool]
	isOwn := item == nil
	if isOwn {
		item = s.toolsFor(ctx).ByKey[tool]
	}
	if item == nil {
		return nil // not cached, because clients can invent names
	}
	params, err := paramheader.Of(jsonscan.Member(item.Definition, "inputSchema"))
	if err != nil {
		s.log.Error("clients over HTTP will not call this tool", "tool", tool, "error", err)
	}
	if !isOwn {
		list.mu.Lock()
		list.headers[tool] = params
		list.mu.Unlock()
	}
	return params
}
