package server

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A tool is what only tools have of an item.
type tool struct {
	operation *dispatch.Operation // the operation of the catalog whose definition this is, or nil
	service   *service            // the service whose operations calls select, or nil
	tasks     mcp.TaskSupport
	taskLater bool // see RawTool.TaskLater
	forwarded bool // the tool of another server
}

// operationFor returns the operation of the catalog that a call with these arguments runs, or nil.
func (t *tool) operationFor(arguments []byte) *dispatch.Operation {
	if t.service == nil {
		return t.operation
	}
	op, _, _ := t.service.route(arguments)
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

// toolName returns an operation's name in MCP, where names have no hierarchy.
func toolName(operation string) string { return strings.ReplaceAll(operation, ".", "_") }

// toolList returns the current tools. The catalog returns the same slice as long as it does not
// change.
func (s *Server) toolList() *tools {
	operations, raw := s.catalog.Operations(), s.addedTools.listing()
	before, apps := s.tools.Load(), s.apps.tools.Load()
	if before != nil && before.raw == raw && before.apps == apps &&
		sameOperations(before.operations, operations) {
		return before
	}
	items := make(map[string]*item, len(operations)+len(raw.sorted))
	add := func(i *item) {
		if items[i.key] != nil {
			s.log.Error("two tools have the same name; the second cannot be called", "tool",
				i.key, "operation", nameOf(i.tool.operation))
			return
		}
		items[i.key] = s.toolWithApp(i, apps)
	}
	single := operations
	if s.o.Tools == ToolPerService {
		var grouped []*service
		grouped, single = groupByService(operations)
		for _, svc := range grouped {
			i := toolItem(svc.name, &tool{service: svc, tasks: s.tasks.serviceSupport(svc)},
				svc.definition())
			i.use = svc.use
			add(i)
		}
	}
	for _, op := range single {
		name, support := toolName(op.Name()), s.tasks.support(op)
		if before != nil {
			i := before.byKey[name]
			if i != nil && i.tool.operation == op && i.tool.tasks == support &&
				before.apps == apps {
				add(i) // encoding the definition again would cost more than everything else here
				continue
			}
		}
		i := toolItem(name, &tool{operation: op, tasks: support}, definition(op))
		i.use = operationTool{name, op, envelopeResult}.use
		add(i)
	}
	for _, i := range raw.sorted {
		add(i)
	}
	now := &tools{operations: operations, raw: raw, apps: apps, listing: newListing(items)}
	s.tools.Store(now)
	return now
}

// toolItem returns the item of a tool with this definition.
func toolItem(name string, t *tool, definition []byte) *item {
	i := &item{kind: mcp.KindTool, key: name, definition: definition, tool: t}
	if legacy, ok := legacyDefinition(definition); ok {
		i.legacy = legacy
	}
	return i
}

// toolProvider is the provider of tools: the operations of the catalog and the added tools, with
// their apps.
type toolProvider struct{ *Server }

func (p toolProvider) list(context.Context, mcp.Kind) (*listing, error) {
	return p.toolList().listing, nil
}

func (p toolProvider) find(_ mcp.Kind, key []byte) *item {
	return p.toolList().byKey[string(key)]
}

func sameOperations(a, b []*dispatch.Operation) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// A toolDefinition is an operation's entry in tools/list.
type toolDefinition struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`
	Annotations annotations     `json:"annotations"`
}

// annotations are the hints that follow from an operation's kind.
type annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

func annotationsOf(op *dispatch.Operation) annotations {
	spec := op.Spec()
	readOnly := spec.Type == dispatch.Read || spec.Type == dispatch.Wait
	return annotations{readOnly, op.Destructive() || spec.Type == dispatch.Eval, spec.Idempotent ||
		readOnly, spec.OpenWorld}
}

func definition(op *dispatch.Operation) []byte {
	return toolDefinition{toolName(op.Name()), op.Spec().Title, op.Description(), op.Input(),
		envelopeSchema(op.Output()), annotationsOf(op)}.encode()
}

func (d toolDefinition) encode() []byte {
	encoded, err := json.Marshal(d)
	if err != nil {
		// impossible: its schemas were compiled
		panic("server: the tool " + d.Name + " cannot be encoded: " + err.Error())
	}
	return encoded
}

// envelopeSchema returns the JSON Schema of an envelope whose data has the schema output. It moves
// definitions to the top level, because references point there.
func envelopeSchema(output json.RawMessage) json.RawMessage {
	data, definitions := []byte("{}"), []byte(nil)
	if len(output) > 0 && output[0] == '{' {
		data = []byte{'{'}
		for name, value := range jsonscan.Members(output) {
			if jsonscan.KeyIs(name, "$defs") {
				definitions = value
				continue
			}
			data = jsonscan.AppendMember(data, name, value)
		}
		data = append(append([]byte(`{"anyOf":[`), append(data, '}')...), `,{"type":"null"}]}`...)
	}
	schema := `{"type":"object","properties":{"success":{"type":"boolean"},"data":` +
		string(data) + `,"error":{"anyOf":[{"type":"object"},{"type":"null"}]}},"required":["success","data","error"]`
	if definitions != nil {
		schema += `,"$defs":` + string(definitions)
	}
	return json.RawMessage(schema + "}")
}

// callTool answers tools/call. An unknown tool is a protocol error. Other failures are part of the
// result, where the model sees them (2026-07-28, server/tools, Error Handling).
func callTool(r *request) (*Result, error) {
	s := r.conn.server
	name, err := r.text(paramName)
	if err != nil {
		return nil, err
	}
	if r.meta.app != nil {
		resolved, err := r.resolveForApp(mcp.KindTool, string(name))
		if err != nil {
			return r.handlerError(err)
		}
		name = []byte(resolved)
	}
	found, exists, err := r.find(mcp.KindTool, name)
	if err == nil && !exists && r.meta.app == nil {
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
	return r.use(found, r.param(paramArguments))
}
