package server

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/toolsearch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/discovery"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/items"
	"github.com/stdwire/stdwire/server/internal/params"
)

// A ToolView says how tools/list shows the tools to a client; see [Options].ToolView.
type ToolView struct {
	// Search lists four tools in place of all, so that many tools cost a model little: find_tool
	// finds tools by a few words, and call_tool_read, call_tool_write and call_tool_destructive
	// call the ones that it has found. Hosts ask their users by the annotations of what is called,
	// so call_tool_read only calls tools with readOnlyHint, and call_tool_write only these and tools
	// whose destructiveHint is false. The tools that are not listed can be called by their names as
	// well.
	//
	// A call by one of the three is a call of the inner tool before anything else sees it:
	// Middleware, Interceptors, tasks and logs get the inner name and arguments.
	Search bool

	// MinTools and MinBytes restrict Search to clients that may see so many tools, or definitions
	// of so many bytes; 0: no such limit, and if both are 0, Search applies always.
	MinTools, MinBytes int

	// Listed reports whether a tool is listed with Search too, by its name; nil: none. Tools whose
	// _meta has "anthropic/alwaysLoad" are.
	Listed func(name string) bool
}

// metaAlwaysLoad is the key of _meta by which a tool asks hosts to show it from the beginning.
const metaAlwaysLoad = "anthropic/alwaysLoad"

// A ToolViewUse says what a client got with its latest tools/list.
type ToolViewUse struct {
	Client string // the name in its clientInfo, cut after 128 bytes; nobody has authenticated it
	Search bool   // see [ToolView].Search
	Tools  int    // that the client may use
	Bytes  int    // of their definitions
	Listed int    // bytes of the definitions that are listed
}

const maxToolViewUses = 64

// toolViews holds what the functions of this file keep.
type toolViews struct {
	meta map[string]*item // the tools of package discovery; nil without Options.ToolView

	mu       sync.Mutex
	uses     []ToolViewUse // by clients, the latest last
	index    *toolIndex    // the latest; nil before the first search
	building chan struct{} // closed when another one has been made; nil: none is
}

// A toolIndex is the index of the tools of a listing.
type toolIndex struct {
	of *listing
	*toolsearch.Index
}

// initToolViews prepares the tools that find and call others.
func (s *Server) initToolViews() error {
	if s.o.ToolView == nil {
		return nil
	}
	s.views.meta = map[string]*item{}
	for name, definition := range discovery.Definitions() {
		i := toolItem(name, &tool{}, "", definition)
		i.use = func(_ context.Context, r *request, _ json.RawMessage) (*Result, error) {
			return r.toolError("An app calls tools by their own names.") // see request.unwrap
		}
		s.views.meta[name] = i
	}
	use, err := s.validatedCall(&RawTool{Tool: mcp.Tool{Name: discovery.Find,
		InputSchema: json.RawMessage(discovery.FindSchema)}, Call: findTool})
	s.views.meta[discovery.Find].use = use
	return err
}

// client returns the name of the client in its clientInfo.
func (r *request) client() string {
	if !r.era.Modern {
		return r.era.Client
	}
	info := jsonscan.Member(r.params.Get(paramMeta), mcp.MetaClientInfo)
	name, _ := jsonscan.Text(jsonscan.Member(info, "name"))
	return era.ClientName(name)
}

// unwrap makes a tools/call of a tool that calls others the call of the inner tool.
func (r *request) unwrap() error {
	if r.conn.server.views.meta == nil || r.Method != mcp.MethodCallTool ||
		r.params.Meta.App != nil { // an app uses the names of its own server
		return nil
	}
	name, err := r.params.Text(paramName)
	if err != nil {
		return err
	}
	risk := discovery.CallerRisk(name)
	if risk == discovery.Unknown {
		return nil
	}
	r.through = risk
	inner := *r.Request
	if inner.Params, r.refused = discovery.Inner(r.Params); r.refused != nil {
		return nil
	}
	r.Request, r.params = &inner, params.Params{}
	return r.params.Read(inner.Params)
}

// checkCaller returns the result for a client that may not call a tool in the way it has, or nil.
func (r *request) checkCaller(found *item, name string) (*Result, error) {
	switch {
	case r.through == discovery.Unknown:
		return nil, nil
	case r.refused != nil:
		return r.toolError(r.refused.Error())
	case found == nil:
		return r.toolError("Unknown tool: " + printable.TruncateBytes(name, 200) + ". " +
			discovery.Find + " returns the names of tools.")
	}
	if err := r.through.Check(name, found.Definition); err != nil {
		return r.toolError(err.Error())
	}
	return nil, nil
}

// shownTools returns what tools/list has for the client.
func (s *Server) shownTools(r *request, all *listing) *listing {
	view := s.o.ToolView(r.client())
	if view == nil {
		view = &ToolView{}
	}
	use := ToolViewUse{Client: r.client()}
	shown := make(map[string]*item, len(s.views.meta))
	for _, i := range all.Sorted {
		if !r.shows(i) {
			continue
		}
		use.Tools++
		use.Bytes += len(i.Definition)
		if view.Listed != nil && view.Listed(i.Key) || string(jsonscan.Member(
			jsonscan.Member(i.Definition, "_meta"), metaAlwaysLoad)) == "true" {
			shown[i.Key] = i
		}
	}
	use.Search = view.Search && use.Tools >= view.MinTools && use.Bytes >= view.MinBytes
	use.Listed = use.Bytes
	listed := all
	if use.Search {
		for name, i := range s.views.meta {
			shown[name] = i
		}
		listed, use.Listed = items.NewListing(shown), 0
		for _, i := range listed.Sorted {
			use.Listed += len(i.Definition)
		}
	}
	s.views.record(use)
	s.log.Debug("tools are listed", "client", use.Client, "search", use.Search, "tools",
		use.Tools, "bytes", use.Bytes, "listed_bytes", use.Listed)
	return listed
}

func (v *toolViews) record(use ToolViewUse) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.uses = slices.DeleteFunc(v.uses, func(u ToolViewUse) bool { return u.Client == use.Client })
	if len(v.uses) == maxToolViewUses {
		v.uses = slices.Delete(v.uses, 0, 1)
	}
	v.uses = append(v.uses, use)
}

// ToolViews returns what the latest 64 clients got with tools/list, the latest last, if
// [Options].ToolView is set.
func (i Integration) ToolViews() []ToolViewUse {
	i.s.views.mu.Lock()
	defer i.s.views.mu.Unlock()
	return slices.Clone(i.s.views.uses)
}

// indexWait is how long a search waits for the index of a list that has changed before it uses the
// one of the list before.
const indexWait = 200 * time.Millisecond

// toolIndex returns the index of the current tools or, while it takes long to make that, the one
// before. The error is that of ctx.
func (s *Server) toolIndex(ctx context.Context, all *listing) (*toolIndex, error) {
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

func (s *Server) buildToolIndex(of *listing, done chan<- struct{}) {
	made := &toolIndex{of, toolsearch.New(nil)}
	s.runCallback("the index of the tools", func() {
		tools := make([]toolsearch.Tool, len(of.Sorted))
		for n, i := range of.Sorted {
			tools[n] = toolsearch.Tool{Server: i.tool.server, Name: cmp.Or(i.tool.own, i.Key),
				Public: i.Key, Definition: i.Definition}
		}
		made.Index = toolsearch.New(tools)
	})
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
	all := s.toolList().listing
	x, err := s.toolIndex(ctx, all)
	if err != nil {
		return nil, err
	}
	found := discovery.Found{Missing: s.missingServers(mcp.KindTool)}
	if q.Server != "" {
		if found.Servers = r.toolServers(all); slices.Contains(found.Servers, q.Server) {
			found.Servers = nil
		} else {
			return q.Answer(&found)
		}
	}
	current := func(n int) *item { return all.ByKey[x.of.Sorted[n].Key] }
	options := toolsearch.Options{Limit: q.Limit, Allow: func(n int) bool {
		i := current(n)
		return i != nil && (q.Server == "" || i.tool.server == q.Server) && r.shows(i)
	}}
	result := x.Search(q.Query, options)
	if q.ReadOnly {
		visible, matched := options.Allow, result.Found
		options.Allow = func(n int) bool {
			return visible(n) && discovery.RiskOf(current(n).Definition) == discovery.Read
		}
		result = x.Search(q.Query, options)
		found.Writing = matched - result.Found
	}
	if found.Matched = result.Found; result.Abstained {
		found.Matched, found.Unknown = 0, result.Unknown
	}
	for _, hit := range result.Hits {
		found.Definitions = append(found.Definitions, current(hit.Tool).Definition)
	}
	return q.Answer(&found)
}

// shows reports whether lists for the client have a tool, or would have it without a ToolView.
func (r *request) shows(i *item) bool {
	return r.conn.server.views.meta[i.Key] == nil && r.lists(i)
}

// toolServers returns the IDs of the servers of the tools that the client may see.
func (r *request) toolServers(all *listing) []string {
	ids := map[string]bool{}
	for _, i := range all.Sorted {
		if i.tool.server != "" && !ids[i.tool.server] && r.shows(i) {
			ids[i.tool.server] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}
