package server

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A tool is the target of a name in tools/call. Exactly one of operation, service and raw is set.
type tool struct {
	operation string              // name of an operation of the catalog
	definedBy *dispatch.Operation // the operation whose definition this is
	service   *service            // the operations of one service
	raw       *RawTool            // added by AddRawTool or AddTool
	tasks     mcp.TaskSupport
	// the definition for revisions before 2026-07-28; nil: not listed there
	legacy []byte
	input  *schema.Schema // input and output belong to raw; nil: not checked
	output *schema.Schema
}

// tools holds all tools of a server. The value is replaced when the catalog, the added tools or the
// apps change.
type tools struct {
	operations []*dispatch.Operation // of the catalog when this value was made
	raw        *listing[*tool]
	apps       *map[string]mcp.ToolUI
	*listing[*tool]
	legacy *listing[*tool] // as revisions before 2026-07-28 list them
	tasks  *listing[*tool] // as clients with the experimental tasks of 2025-11-25 list them
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
	items := make(map[string]*item[*tool], len(operations)+len(raw.sorted))
	add := func(i *item[*tool]) {
		if items[i.key] != nil {
			s.log.Error("two tools have the same name; the second cannot be called", "tool",
				i.key, "operation", i.value.operation)
			return
		}
		items[i.key] = s.toolWithApp(i, apps)
	}
	single := operations
	if s.o.Tools == ToolPerService {
		var grouped []*service
		grouped, single = groupByService(operations)
		for _, svc := range grouped {
			add(toolItem(svc.name, &tool{service: svc, tasks: s.tasks.serviceSupport(svc)},
				svc.definition()))
		}
	}
	for _, op := range single {
		name, support := toolName(op.Name()), s.tasks.support(op)
		if before != nil {
			i := before.byKey[name]
			if i != nil && i.value.definedBy == op && i.value.tasks == support &&
				before.apps == apps {
				add(i) // encoding the definition again would cost more than everything else here
				continue
			}
		}
		add(toolItem(name, &tool{operation: op.Name(), definedBy: op, tasks: support},
			definition(op)))
	}
	for _, i := range raw.sorted {
		add(i)
	}
	now := &tools{operations: operations, raw: raw, apps: apps, listing: newListing(items)}
	now.legacy = legacyListing(now.listing)
	if now.tasks = now.legacy; s.tasks.enabled.Load() {
		now.tasks = newListing(withExecution(now.legacy.byKey))
	}
	s.tools.Store(now)
	return now
}

// toolItem returns the list item of a tool with this definition.
func toolItem(name string, t *tool, definition []byte) *item[*tool] {
	if legacy, ok := legacyDefinition(definition); ok {
		t.legacy = legacy
	}
	i := &item[*tool]{key: name, value: t, definition: definition}
	if t.raw != nil {
		i.sessionOnly, i.extension = t.raw.NeedsSession, t.raw.Extension
	}
	return i
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
	readOnly := spec.Kind == dispatch.Read || spec.Kind == dispatch.Wait
	return annotations{readOnly, op.Destructive() || spec.Kind == dispatch.Eval, spec.Idempotent ||
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

// listTools answers tools/list.
func listTools(r *request) (*Result, error) {
	all := r.conn.server.toolList()
	l := all.listing
	switch {
	case r.era.modern:
	case r.era.experimentalTasks():
		l = all.tasks
	default:
		l = all.legacy
	}
	return list(r, KindTool, "tools", l)
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
		resolved, err := r.resolveForApp(KindTool, string(name))
		if err != nil {
			return r.handlerError(err)
		}
		name = []byte(resolved)
	}
	found := s.toolList().byKey[string(name)]
	if found == nil {
		if err := r.awaitMissing(KindTool, name); err != nil {
			return r.handlerError(err)
		}
		found = s.toolList().byKey[string(name)]
	}
	if found == nil && r.meta.app == nil {
		if found, err = r.resolveUnknownTool(string(name)); err != nil {
			return r.handlerError(err)
		}
	}
	if found == nil || !r.permits(found.extension) || !s.visible(r, KindTool, found.key) {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Unknown tool: %.200s", name)
	}
	if s.tasks.enabled.Load() {
		return r.callToolOrTask(found)
	}
	return r.runTool(found)
}

// runTool runs a tool within the interceptors, in the request itself or in its task.
func (r *request) runTool(found *item[*tool]) (*Result, error) {
	if err := r.readInputResponses(); err != nil {
		return nil, err
	}
	arguments := json.RawMessage(r.param(paramArguments))
	if len(r.conn.server.o.Interceptors) == 0 {
		return r.runToolWith(r, found, arguments)
	}
	operation := found.value.operation
	if svc := found.value.service; svc != nil {
		if op, _, _ := svc.route(arguments); op != nil {
			operation = op.Name()
		}
	}
	return r.intercept(KindTool, found.key, operation, arguments,
		func(ctx context.Context, arguments json.RawMessage) (*Result, error) {
			return r.runToolWith(ctx, found, arguments)
		})
}

// runToolWith runs a tool with the given arguments.
func (r *request) runToolWith(ctx context.Context, found *item[*tool],
	arguments json.RawMessage) (*Result, error) {
	switch t := found.value; {
	case t.raw != nil && t.raw.typed != nil:
		return r.runOperation(ctx, found.key, t.raw.Name, t.raw.typed, arguments)
	case t.raw != nil:
		return r.runAddedTool(ctx, t, arguments)
	case t.service != nil:
		op, params, answer := t.service.route(arguments)
		if op == nil {
			return r.toolResult(envelopeResult, answer)
		}
		return r.runOperation(ctx, found.key, op.Name(), nil, params)
	default:
		return r.runOperation(ctx, found.key, t.operation, nil, arguments)
	}
}

// runOperation dispatches an operation of the catalog, or that of a typed tool, and returns its
// result. If the dispatcher requires a confirmation, runOperation asks the client's user and
// dispatches the operation again.
func (r *request) runOperation(ctx context.Context, tool, operation string, typed *typedTool,
	arguments json.RawMessage) (*Result, error) {
	s := r.conn.server
	call := dispatch.Call{
		Operation: operation, Arguments: arguments, RequestID: r.ID.String(), Surface: "mcp",
		Principal: r.conn.principal, Client: r.conn.ctx, ArgumentsAreJSON: true,
		Confirmed: s.o.TrustClients,
	}
	level, err := r.logLevel()
	if err != nil {
		return nil, err
	}
	if level != "" {
		call.Logger = r.logger(s.o.Dispatch.Logger, level, tool)
	}
	if r.wantsProgress() {
		call.Progress = r.reportProgress
	}
	envelope := r.dispatch(ctx, typed, &call)
	if envelope.Err != nil && envelope.Err.Code == dispatch.ConfirmationRequired &&
		!call.Confirmed {
		if envelope, err = r.confirm(ctx, typed, call, envelope); err != nil {
			return r.inputRequired()
		}
	}
	if !envelope.Success() {
		if errors.Is(envelope.Err, dispatch.ErrBusy) {
			return nil, rpc.Errorf(rpc.CodeBusy, "%s", envelope.Err.Message)
		}
		if code := envelope.Err.Code; (code == dispatch.Cancelled ||
			code == dispatch.InternalError) && errors.Is(context.Cause(ctx), rpc.ErrShutdown) {
			return nil, rpc.ErrShutdown // not the caller's doing
		}
		switch lacking, stopped := errors.AsType[*inputRequiredError](envelope.Err); {
		case stopped && r.task.created():
			return nil, lacking.failure
		case stopped && r.stopErr() != nil:
			return r.inputRequired()
		}
	}
	if typed != nil {
		return r.toolResult(typed.form, envelope)
	}
	return r.toolResult(envelopeResult, envelope)
}

// dispatch runs an operation of the catalog, or that of a typed tool.
func (r *request) dispatch(ctx context.Context, typed *typedTool,
	call *dispatch.Call) dispatch.Envelope {
	if d := r.conn.server.dispatcher; typed == nil {
		return d.Dispatch(ctx, call)
	} else {
		return d.Run(ctx, typed.op, call)
	}
}
