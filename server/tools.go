package server

import (
	"context"
	"encoding/json"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/items"
	"github.com/stdwire/stdwire/server/internal/legacy"
	"github.com/stdwire/stdwire/server/internal/projection"
	"github.com/stdwire/stdwire/server/internal/results"
)

// A Projection selects how operations become tools.
type Projection int

const (
	// ToolPerOperation makes a tool of each operation, with the operation's arguments: fs.read
	// becomes fs_read.
	ToolPerOperation Projection = iota
	// ToolPerService makes a tool of each service, which is the part of an operation's name before
	// the first dot. The tool has two arguments: "action" is the rest of the operation's name, and
	// "params" are the arguments of the operation. The additional actions help and schema describe
	// the others, unless the service has operations with these names. An operation without a dot in
	// its name becomes its own tool.
	ToolPerService
)

// A tool is what only tools have of an item.
type tool struct {
	operation *dispatch.Operation // the operation of the catalog whose definition this is, or nil
	service   *projection.Service // the service whose operations calls select, or nil
	taskLater bool                // see RawTool.TaskLater
	forwarded bool                // the tool of another server
}

// operationFor returns the operation of the catalog that a call with these arguments runs, or nil.
func (t *tool) operationFor(arguments []byte) *dispatch.Operation {
	if t.service == nil {
		return t.operation
	}
	op, _, _ := t.service.Route(arguments)
	return op
}

// nameOf returns the name of an operation, or "" for nil.
func nameOf(op *dispatch.Operation) string {
	if op == nil {
		return ""
	}
	return op.Name()
}

// tools holds all tools of a server. The value is replaced when the catalog, the added tools or the
// apps change.
type tools struct {
	operations []*dispatch.Operation // of the catalog when this value was made
	raw        *listing
	apps       *map[string]mcp.ToolUI
	*listing
}

// toolList returns the current tools. The catalog returns the same slice as long as it does not
// change.
func (s *Server) toolList() *tools {
	operations, raw := s.catalog.Operations(), s.addedTools.Listing()
	before, apps := s.tools.Load(), s.apps.tools.Load()
	if before != nil && before.raw == raw && before.apps == apps &&
		len(before.operations) == len(operations) &&
		(len(operations) == 0 || &before.operations[0] == &operations[0]) {
		return before
	}
	byKey := make(map[string]*item, len(operations)+len(raw.Sorted))
	add := func(i *item) {
		if byKey[i.Key] != nil {
			s.log.Error("two tools have the same name; the second cannot be called", "tool",
				i.Key, "operation", nameOf(i.tool.operation))
			return
		}
		byKey[i.Key] = s.toolWithApp(i, apps)
	}
	single := operations
	if s.o.Tools == ToolPerService {
		var grouped []*projection.Service
		grouped, single = projection.GroupByService(operations)
		for _, svc := range grouped {
			i := toolItem(svc.Name, &tool{service: svc}, s.tasks.serviceSupport(svc),
				svc.Definition())
			i.use = usingService(svc)
			add(i)
		}
	}
	for _, op := range single {
		name, support := projection.ToolName(op.Name()), s.tasks.support(op)
		if before != nil {
			i := before.ByKey[name]
			if i != nil && i.tool.operation == op && i.Tasks == support &&
				before.apps == apps {
				add(i) // encoding the definition again would cost more than everything else here
				continue
			}
		}
		i := toolItem(name, &tool{operation: op}, support, projection.Definition(op))
		i.use = operationTool{name, op, results.FormEnvelope}.use
		add(i)
	}
	for _, i := range raw.Sorted {
		add(i)
	}
	now := &tools{operations: operations, raw: raw, apps: apps, listing: items.NewListing(byKey)}
	s.tools.Store(now)
	return now
}

// usingService returns the [useFunc] of a service's tool.
func usingService(s *projection.Service) useFunc {
	return func(ctx context.Context, r *request, arguments json.RawMessage) (*Result, error) {
		op, params, answer := s.Route(arguments)
		if op == nil {
			return r.toolResult(results.FormEnvelope, answer)
		}
		return operationTool{s.Name, op, results.FormEnvelope}.use(ctx, r, params)
	}
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

// toolProvider is the provider of tools: the operations of the catalog and the added tools, with
// their apps.
type toolProvider struct{ *Server }

func (p toolProvider) List(context.Context, mcp.Kind) (*listing, error) {
	return p.toolList().listing, nil
}

func (p toolProvider) Find(_ mcp.Kind, key []byte) *item {
	return p.toolList().ByKey[string(key)]
}

// callTool answers tools/call. An unknown tool is a protocol error. Other failures are part of the
// result, where the model sees them (2026-07-28, server/tools, Error Handling).
func callTool(r *request) (*Result, error) {
	s := r.conn.server
	name, err := r.params.Text(paramName)
	if err != nil {
		return nil, err
	}
	if r.params.Meta.App != nil {
		resolved, err := r.resolveForApp(mcp.KindTool, string(name))
		if err != nil {
			return r.handlerError(err)
		}
		name = []byte(resolved)
	}
	found, exists, err := r.find(mcp.KindTool, name)
	if err == nil && !exists && r.params.Meta.App == nil {
		found, err = r.resolveUnknownTool(string(name))
	}
	if err != nil {
		return r.handlerError(err)
	}
	if found == nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Unknown tool: %.200s", name)
	}
	if s.tasks.enabled.Load() {
		return r.callToolOrTask(found)
	}
	return r.use(found, r.params.Get(paramArguments))
}
