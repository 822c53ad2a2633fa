package server

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/toolsearch"
	"github.com/stdwire/stdwire/server/internal/discovery"
	"github.com/stdwire/stdwire/server/internal/items"
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

// toolViews holds what is kept of the views of clients, and for searches.
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

// ownName returns the name of the tool of all that the view of a client lists by another one.
func (s *Server) ownName(client string, all *listing, name []byte) (own string, ok bool) {
	if s.views.meta == nil {
		return "", false
	}
	own, ok = s.fit(s.o.ToolView(client), all).names[string(name)]
	return own, ok
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

// shows reports whether lists for the client have a tool, or would have it without a ToolView.
func (r *request) shows(i *item) bool {
	return (r.conn.server.views.meta == nil || !discovery.IsMeta([]byte(i.Key))) && r.lists(i)
}
