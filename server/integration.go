package server

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/paramheader"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/discovery"
	"github.com/stdwire/stdwire/server/internal/era"
)

// An Integration has the methods of a [Server] for transports and gateways; applications do not
// need them.
//
// A transport that receives messages one by one, such as package streamable, makes a [Conn] for
// each client by NewConn or Stateless and passes messages to [Conn.Handle]. If several servers
// offer the same to its clients, it passes on by Announce what OnChange tells.
//
// A gateway, such as package client/host/gateway, offers the items of other servers by AddItem,
// Declare and SetUpstreams. It follows its own clients by OnClientEvent and SubscribedResources,
// and tells them by ListsChanged that they may see something else.
//
// All its methods are safe for concurrent use. Callbacks may block and may call the server: none is
// called with a lock held. A panic in a callback is logged and recovered.
type Integration struct{ s *Server }

// Integration returns the methods for transports and gateways.
func (s *Server) Integration() Integration { return Integration{s} }

// Options returns the options of the server, with the defaults of those that are zero. A transport
// opens an account in the pool of Memory for each principal. It calls the hooks that
// [rpc.Hooks.Safe] returns for each message, unless an [rpc.Peer] does. Hooks.Panic is not nil and
// logs panics already: these Hooks must not be given to another server, which would log them again.
func (i Integration) Options() Options { return i.s.o }

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
