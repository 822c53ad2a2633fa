package server

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/paramheader"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/subscriptions"
)

// An Integration has the methods of a [Server] for transports and gateways; applications do not
// need them. A transport that receives messages one by one, such as package streamable, makes a
// [Conn] for each client and passes messages to [Conn.Handle]. A gateway, such as package
// client/host/gateway, offers the items of other servers and follows the actions of its own
// clients.
//
// All its methods are safe for concurrent use. Callbacks may block and may call the server: none is
// called with a lock held. A panic in a callback is logged and recovered.
type Integration struct{ s *Server }

// Integration returns the methods for transports and gateways.
func (s *Server) Integration() Integration { return Integration{s} }

// Options returns the options of the server, with the defaults of those that are zero. A transport
// opens an account in the pool of Memory for each principal. It calls the hooks that
// [rpc.Hooks.Safe] returns for each message, unless an [rpc.Peer] does; Hooks.Panic is not nil and
// logs the panic, too.
func (i Integration) Options() Options { return i.s.o }

// ListsChanged notifies the clients of these principals, or all clients if there is none, that all
// lists may have changed, because what they may see has.
func (i Integration) ListsChanged(principals ...string) {
	if len(principals) == 0 {
		defer i.s.deferListChanged()()
		for method := range i.s.listChangedMethods() {
			i.s.listChanged(method)
		}
		return
	}
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	for c := range i.s.conns {
		if !slices.Contains(principals, c.principal) {
			continue
		}
		for method := range i.s.listChangedMethods() {
			c.notifyChange(subscriptions.Change{Method: method})
		}
	}
}

// listChangedMethods yields the notifications of changes of the lists that the server has.
func (s *Server) listChangedMethods() iter.Seq[string] {
	return func(yield func(method string) bool) {
		for kind := range s.added {
			method := kind.Info().ListChanged
			if method != "" && (s.added[kind].EverUsed.Load() || kind == mcp.KindTool) &&
				!yield(method) {
				return
			}
		}
	}
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
		if inner, own, ok := innerCall([]byte(tool), params); ok {
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
	headers := s.headers.Load()
	if headers == nil || headers.list != list {
		headers = &toolHeaders{list: list, byName: map[string][]paramheader.Param{}}
		s.headers.Store(headers)
	}
	headers.mu.RLock()
	known, ok := headers.byName[tool]
	headers.mu.RUnlock()
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
		headers.mu.Lock()
		headers.byName[tool] = params
		headers.mu.Unlock()
	}
	return params
}

// toolHeaders caches the header parameters of the tools of one list.
type toolHeaders struct {
	list   *tools
	mu     sync.RWMutex
	byName map[string][]paramheader.Param
}

// DeferListChanged defers list_changed notifications until release is called, so that related
// changes are announced once. Lists show each change at once. If several callers defer at the same
// time, the last release sends the notifications. DeferListChanged does not block, and release may
// be called more than once.
func (i Integration) DeferListChanged() (release func()) { return i.s.deferListChanged() }

// A ClientEvent is a change of a legacy client's state.
type ClientEvent int

const (
	ClientReady ClientEvent = iota // the client has sent initialized; the first event, once
	ClientRoots                    // the client has sent notifications/roots/list_changed
	ClientLevel                    // the client has sent logging/setLevel; see [Conn.LogLevel]
	ClientGone                     // the client's connection has ended; the last event
)

// OnClientEvent calls fn with each event of each legacy client, in order and one at a time. It
// first calls fn with ClientReady for each client that is ready. fn runs on a separate goroutine.
// While fn blocks, no function of OnClientEvent gets further events. After stop has returned, fn is
// not called again, but a call in progress may still run.
func (i Integration) OnClientEvent(fn func(c *Conn, e ClientEvent)) (stop func()) {
	return i.s.clientEvents.Observe(fn)
}

// OnChange calls fn after the server has told its clients of a change of a list or resource of its
// own: with the method of the notification and the URI of the resource, or "". What has changed it
// waits for fn. After stop has returned, fn is not called again, but a call in progress may still
// run.
func (i Integration) OnChange(fn func(method, uri string)) (stop func()) {
	s := i.s
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &fn
	s.changeObservers = append(slices.Clip(s.changeObservers), own)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changeObservers = slices.DeleteFunc(slices.Clone(s.changeObservers),
			func(other *func(method, uri string)) bool { return other == own })
	}
}

// Announce tells clients of a change that [Integration.OnChange] has reported of another server
// which offers the same: all clients, or only that of c. The method "" says that all lists and
// resources may have changed. It does not block.
func (i Integration) Announce(c *Conn, method, uri string) {
	s := i.s
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := []subscriptions.Change{{Method: method, Subject: uri}}
	if method == "" {
		changes = changes[:0]
		for list := range s.listChangedMethods() {
			changes = append(changes, subscriptions.Change{Method: list})
		}
		updated := func(uri string) {
			changes = append(changes, subscriptions.Change{
				Method: mcp.NotificationResourceUpdated, Subject: uri})
		}
		if c == nil {
			for uri := range s.watchers {
				updated(uri)
			}
		} else {
			c.mu.Lock()
			for uri := range c.told.URIs {
				updated(uri)
			}
			c.mu.Unlock()
		}
	}
	for _, n := range changes {
		if c == nil {
			s.notifyConns(n)
		} else if _, open := s.conns[c]; open {
			c.notifyChange(n)
		}
	}
}

// SubscribedResources returns the URIs of the resources that clients have subscribed to, sorted and
// without duplicates.
func (i Integration) SubscribedResources() []string {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	return slices.Sorted(maps.Keys(i.s.watchers))
}
