package server

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/toolsearch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/discovery"
	"github.com/stdwire/stdwire/server/internal/items"
	"github.com/stdwire/stdwire/server/internal/params"
)

// A ToolView says how tools/list shows the tools to a client; see [Options].ToolView.
type ToolView struct {
	// Search lists four tools in place of all, so that many tools cost a model little: find_tool
	// finds tools by a few words, and call_tool_read, call_tool_write and call_tool_destructive
	// call the ones that it has found. Hosts ask their users by the annotations of what is called,
	// so call_tool_read only calls tools with readOnlyHint, and call_tool_write only these and
	// tools whose destructiveHint is false. The tools that are not listed can be called by their
	// names as well.
	//
	// A call by one of the three is a call of the inner tool before anything else sees it:
	// Middleware, Interceptors, tasks and logs get the inner name and arguments.
	Search bool

	// MinTools and MinBytes restrict Search to clients that may see so many tools, or definitions
	// of so many bytes: one of the two is enough. If both are 0, Search applies always.
	MinTools, MinBytes int

	// MaxName limits the bytes of the names of tools in lists; 0: as they are. A longer name is cut
	// and ends with a hash. Calls may use either name. NoDots also replaces dots. A transport that
	// permits calls by the names of tools sees the name that the client uses, so that it must know
	// both, or neither field is set.
	MaxName int
	NoDots  bool

	// MaxDescription limits the characters of the descriptions in lists; 0: as they are. A longer
	// one is cut after a word and ends with "…".
	MaxDescription int
}

// metaAlwaysLoad is the key of _meta by which a tool asks hosts to show it from the beginning.
const metaAlwaysLoad = "anthropic/alwaysLoad"

// isListed reports whether a tool is listed with [ToolView].Search too.
func (i *item) isListed() bool {
	return i.tool.listed || string(jsonscan.Member(jsonscan.Member(i.Definition, "_meta"),
		metaAlwaysLoad)) == "true"
}

// A ToolViewUse says what a client got with its latest tools/list.
type ToolViewUse struct {
	// the name and version in its clientInfo, cut after 128 bytes; nobody has authenticated them
	Client, Version string
	Principal       string // as the transport has authenticated it; "": it has not

	Search bool // see [ToolView].Search
	Tools  int  // that the client may use
	Bytes  int  // of their definitions
	Listed int  // bytes of the definitions that are listed
	Names  int  // tools that are listed by another name
	Cut    int  // descriptions that are cut
}

const (
	maxToolViewUses = 64
	maxFitted       = 16 // views whose lists are kept
)

// toolViews holds what the functions of this file keep.
type toolViews struct {
	meta map[string]*item // the tools of package discovery; nil without Options.ToolView

	mu       sync.Mutex
	uses     []ToolViewUse // by clients, the latest last
	fitted   map[fitting]*fittedTools
	index    *toolIndex              // the latest; nil before the first search
	building chan struct{}           // closed when another one has been made; nil: none is
	own      map[*listing]*toolIndex // see ownIndex
}

// A toolIndex is the index of the tools of a listing.
type toolIndex struct {
	of *listing
	*toolsearch.Index
}

// A fitting is what a view says about names and descriptions.
type fitting struct {
	maxName        int
	noDots         bool
	maxDescription int
}

// fittedTools are the tools of a listing as a view names and describes them.
type fittedTools struct {
	of       *listing
	*listing                   // with the same keys
	names    map[string]string // the names of those that are listed by others, by these
	cut      int
}

// fit returns the tools as the view names and describes them.
func (s *Server) fit(v ToolView, all *listing) *fittedTools {
	key := fitting{max(v.MaxName, 0), v.NoDots, max(v.MaxDescription, 0)}
	if key == (fitting{}) {
		return &fittedTools{of: all, listing: all}
	}
	s.views.mu.Lock()
	defer s.views.mu.Unlock()
	if f := s.views.fitted[key]; f != nil && f.of == all {
		return f
	}
	maps.DeleteFunc(s.views.fitted, func(_ fitting, f *fittedTools) bool { return f.of != all })
	f := &fittedTools{of: all, names: map[string]string{}}
	names := make([]string, len(all.Sorted))
	for n, i := range all.Sorted {
		names[n] = i.Key
	}
	fitted := itemname.Fitting(names, cmp.Or(key.maxName, math.MaxInt), !v.NoDots)
	byKey := make(map[string]*item, len(all.Sorted))
	for _, i := range all.Sorted {
		definition := i.Definition
		if name := fitted[i.Key]; name != i.Key {
			f.names[name] = i.Key
			definition = jsonscan.SetMember(definition, "name", jsonscan.AppendString(nil, name))
		}
		description, _ := jsonscan.Text(jsonscan.Member(definition, "description"))
		if cut := printable.CutWords(description, v.MaxDescription); cut != description {
			f.cut++
			definition = jsonscan.SetMember(definition, "description",
				jsonscan.AppendString(nil, cut))
		}
		if !jsonscan.Same(definition, i.Definition) {
			changed := *i
			changed.Item = toolItem(i.Key, i.tool, i.Tasks, definition).Item
			changed.SessionOnly, changed.Extension = i.SessionOnly, i.Extension
			i = &changed
		}
		byKey[i.Key] = i
	}
	f.listing = items.NewListing(byKey)
	if s.views.fitted == nil || len(s.views.fitted) == maxFitted {
		s.views.fitted = map[fitting]*fittedTools{}
	}
	s.views.fitted[key] = f
	return f
}

// toolView returns how the client sees the tools.
func (r *request) toolView() ToolView { return r.conn.server.o.ToolView(r.clientInfo().Name) }

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
	inner, all := *r.Request, s.toolList().listing
	if discovery.IsMeta(name) && (all.ByKey[string(name)] == nil || r.viewOf(all).Search) {
		if r.through = discovery.CallerRisk(name); r.through == discovery.Unknown {
			r.finds = true
			return nil
		}
		if inner.Params, name, r.refused = discovery.Inner(r.Params); r.refused != nil {
			return nil
		}
	}
	if all.ByKey[string(name)] == nil {
		if own, ok := s.ownName(r.clientInfo().Name, all, name); ok {
			inner.Params = jsonscan.SetMember(inner.Params, "name",
				jsonscan.AppendString(nil, own))
		}
	}
	if jsonscan.Same(inner.Params, r.Params) {
		return nil
	}
	r.Request, r.params = &inner, params.Params{}
	return r.params.Read(inner.Params)
}

// ToolName returns the name of the tool that a tools/call with this name and these params calls, if
// another tool calls it (see [ToolView]), for a transport that permits calls by the names of tools.
func (i Integration) ToolName(name string, params json.RawMessage) string {
	if i.s.views.meta == nil {
		return name
	}
	if _, own, ok := innerCall([]byte(name), params); ok {
		return string(own)
	}
	return name
}

// innerCall returns the params and the name of the tool that a tools/call calls by another one. ok
// is false if it does not, and nothing is called if the arguments are invalid.
func innerCall(name []byte, params json.RawMessage) (inner json.RawMessage, own []byte, ok bool) {
	if discovery.CallerRisk(name) == discovery.Unknown {
		return nil, nil, false
	}
	inner, own, err := discovery.Inner(params)
	return inner, own, err == nil
}

// ownName returns the name of the tool of all that the view of a client lists by another one.
func (s *Server) ownName(client string, all *listing, name []byte) (own string, ok bool) {
	if s.views.meta == nil {
		return "", false
	}
	own, ok = s.fit(s.o.ToolView(client), all).names[string(name)]
	return own, ok
}

// checkCaller returns the result for a client that may not call a tool in the way it has, or nil.
func (r *request) checkCaller(found *item, name string) (*Result, error) {
	switch {
	case r.through == discovery.Unknown:
		return nil, nil
	case found == nil:
		return r.toolError("Unknown tool: " + printable.TruncateBytes(name, 200) + ". " +
			discovery.Find + " returns the names of tools.")
	}
	if err := r.through.Check(name, found.Definition); err != nil {
		return r.toolError(err.Error())
	}
	return nil, nil
}

// viewOf returns what tools/list shows to the client of all tools, with what counts only for that
// list: Listed of a search is 0.
func (r *request) viewOf(all *listing) (use ToolViewUse) {
	view := r.toolView()
	fitted := r.conn.server.fit(view, all)
	from := r.clientInfo()
	use = ToolViewUse{Client: from.Name, Version: from.Version, Principal: r.conn.principal,
		Names: len(fitted.names), Cut: fitted.cut}
	own := 0 // tools with the names of those that search
	ownBytes := 0
	for _, i := range fitted.Sorted {
		switch {
		case !r.lists(i):
		case r.shows(i):
			use.Tools++
			use.Bytes += len(i.Definition)
		default:
			own++
			ownBytes += len(i.Definition)
		}
	}
	use.Search = view.Search && (view.MinTools <= 0 && view.MinBytes <= 0 ||
		view.MinTools > 0 && use.Tools >= view.MinTools ||
		view.MinBytes > 0 && use.Bytes >= view.MinBytes)
	if !use.Search { // they are tools like others
		use.Tools += own
		use.Bytes += ownBytes
		use.Listed = use.Bytes
	}
	return use
}

// shownTools returns what tools/list has for the client.
func (s *Server) shownTools(r *request, all *listing) *listing {
	use := r.viewOf(all)
	shown := s.fit(r.toolView(), all).listing
	if use.Search {
		listed := maps.Clone(s.views.meta)
		for _, i := range shown.Sorted {
			if i.isListed() && r.shows(i) {
				listed[i.Key] = i
			}
		}
		shown = items.NewListing(listed)
		for _, i := range shown.Sorted {
			use.Listed += len(i.Definition)
		}
	}
	s.views.record(use)
	s.log.Debug("the tools are listed for a client", "client", use.Client, "search", use.Search,
		"tools", use.Tools, "bytes", use.Bytes, "listed_bytes", use.Listed, "other_names",
		use.Names, "cut_descriptions", use.Cut)
	return shown
}

// ToolBytes returns the size of the definitions of the tools of each server, by the IDs of
// [Item].Server; "" is for those of no other server. A token of a model is about four bytes.
func (i Integration) ToolBytes() map[string]int {
	sizes := map[string]int{}
	for _, item := range i.s.toolList().Sorted {
		sizes[item.server] += len(item.Definition)
	}
	return sizes
}

func (v *toolViews) record(use ToolViewUse) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.uses = slices.DeleteFunc(v.uses, func(u ToolViewUse) bool {
		return u.Client == use.Client && u.Principal == use.Principal
	})
	if len(v.uses) == maxToolViewUses {
		v.uses = slices.Delete(v.uses, 0, 1)
	}
	v.uses = append(v.uses, use)
}

// ToolViews returns what the latest 64 clients, by name and principal, got with tools/list, the
// latest last, if [Options].ToolView is set.
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

// shows reports whether lists for the client have a tool, or would have it without a ToolView.
func (r *request) shows(i *item) bool {
	return (r.conn.server.views.meta == nil || !discovery.IsMeta([]byte(i.Key))) && r.lists(i)
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
