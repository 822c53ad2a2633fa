package server

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A tool is what a name in tools/call leads to; one of these is set.
type tool struct {
	operation string   // of the catalog
	service   *service // a group of operations
	raw       *Tool    // the application's own
	tasks     mcp.TaskSupport
	legacy    []byte         // the definition for revisions before 2026-07-28; nil: it is not listed there
	input     *schema.Schema // these are of raw; nil: nothing is checked
	output    *schema.Schema
}

// tools are the tools there are, as long as neither the catalog nor the application's own change.
type tools struct {
	operations []*dispatch.Operation // that it was made of
	raw        *listing[*tool]
	*listing[*tool]
	legacy *listing[*tool] // the same, as revisions before 2026-07-28 have it
	tasks  *listing[*tool] // that, as clients hear of it that have tasks of 2025-11-25
}

// toolName is an operation's name in MCP, where names are flat.
func toolName(operation string) string { return strings.ReplaceAll(operation, ".", "_") }

// toolList returns the tools there are now. The catalog hands out the same slice as long as it does not change.
func (s *Server) toolList() *tools {
	operations, raw := s.catalog.Operations(), s.addedTools.listing()
	if now := s.tools.Load(); now != nil && now.raw == raw && sameOperations(now.operations, operations) {
		return now
	}
	items := make(map[string]*item[*tool], len(operations)+len(raw.sorted))
	add := func(i *item[*tool]) {
		if items[i.key] != nil {
			s.log.Error("there are two tools of one name; the second cannot be called", "tool", i.key, "operation", i.value.operation)
			return
		}
		items[i.key] = i
	}
	single := operations
	if s.o.Tools == ToolPerService {
		var grouped []*service
		grouped, single = groupByService(operations)
		for _, svc := range grouped {
			add(toolItem(svc.name, &tool{service: svc, tasks: s.tasks.serviceSupport(svc)}, svc.definition()))
		}
	}
	for _, op := range single {
		add(toolItem(toolName(op.Name()), &tool{operation: op.Name(), tasks: s.tasks.support(op)}, definition(op)))
	}
	for _, i := range raw.sorted {
		add(i)
	}
	now := &tools{operations: operations, raw: raw, listing: newListing(items)}
	now.legacy = legacyListing(now.listing)
	if now.tasks = now.legacy; s.tasks.enabled.Load() {
		now.tasks = newListing(withExecution(now.legacy.byKey))
	}
	s.tools.Store(now)
	return now
}

// toolItem is a tool with its definition for all revisions.
func toolItem(name string, t *tool, definition []byte) *item[*tool] {
	if legacy, ok := legacyDefinition(definition); ok {
		t.legacy = legacy
	}
	return &item[*tool]{name, t, definition, t.raw != nil && t.raw.NeedsSession}
}

func sameOperations(a, b []*dispatch.Operation) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// toolDefinition is what tools/list says of an operation.
type toolDefinition struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`
	Annotations annotations     `json:"annotations"`
}

// annotations are what a kind is to MCP.
type annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

func annotationsOf(op *dispatch.Operation) annotations {
	spec := op.Spec()
	readOnly := spec.Kind == dispatch.Read || spec.Kind == dispatch.Wait
	return annotations{readOnly, op.Destructive() || spec.Kind == dispatch.Eval, spec.Idempotent || readOnly, spec.OpenWorld}
}

func definition(op *dispatch.Operation) []byte {
	return toolDefinition{toolName(op.Name()), op.Spec().Title, op.Description(), op.Input(), envelopeSchema(op.Output()), annotationsOf(op)}.encode()
}

func (d toolDefinition) encode() []byte {
	encoded, err := json.Marshal(d)
	if err != nil {
		panic("server: the tool " + d.Name + " cannot be encoded: " + err.Error()) // its schemas were compiled
	}
	return encoded
}

// envelopeSchema is the JSON Schema of the envelope around data of the schema output. Definitions move to the top, where the references
// to them look.
func envelopeSchema(output json.RawMessage) json.RawMessage {
	data, definitions := []byte("true"), []byte(nil)
	if len(output) > 0 && output[0] == '{' {
		data = []byte{'{'}
		for name, value := range jsonscan.Members(output) {
			if jsonscan.KeyIs(name, "$defs") {
				definitions = value
				continue
			}
			if len(data) > 1 {
				data = append(data, ',')
			}
			data = append(append(append(data, name...), ':'), value...)
		}
		data = append(data, '}')
	}
	schema := `{"type":"object","properties":{"success":{"type":"boolean"},"data":{"anyOf":[` + string(data) + `,{"type":"null"}]},` +
		`"error":{"anyOf":[{"type":"object"},{"type":"null"}]}},"required":["success","data","error"]`
	if definitions != nil {
		schema += `,"$defs":` + string(definitions)
	}
	return json.RawMessage(schema + "}")
}

// listTools answers tools/list.
func listTools(r *request) (any, error) {
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

// callTool answers tools/call. A tool that there is not is an error of the protocol; whatever else goes wrong is told in the result,
// where the model sees it (2026-07-28, server/tools, Error Handling).
func callTool(r *request) (any, error) {
	s := r.conn.server
	name, err := r.text(paramName)
	if err != nil {
		return nil, err
	}
	found := s.toolList().byKey[string(name)]
	if found == nil {
		if err := r.awaitMissing(KindTool, name); err != nil {
			return r.handlerError(err)
		}
		found = s.toolList().byKey[string(name)]
	}
	if found == nil || !s.visible(r, KindTool, found.key) {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Unknown tool: %.200s", name)
	}
	if s.tasks.enabled.Load() {
		return r.callToolOrTask(found)
	}
	return r.runTool(found)
}

// call calls a tool here and now.
func (r *request) runTool(found *item[*tool]) (any, error) {
	if err := r.readInputResponses(); err != nil {
		return nil, err
	}
	s, arguments := r.conn.server, json.RawMessage(r.param(paramArguments))
	switch t := found.value; {
	case t.raw != nil:
		return r.runAddedTool(t, arguments)
	case t.service != nil:
		op, params, answer := t.service.route(arguments)
		if op == nil {
			return &toolResult{s, r.era, answer}, nil
		}
		return r.runOperation(found.key, op.Name(), params)
	default:
		return r.runOperation(found.key, t.operation, arguments)
	}
}

// dispatch runs an operation.
func (r *request) runOperation(tool, operation string, arguments json.RawMessage) (any, error) {
	s := r.conn.server
	call := dispatch.Call{
		Operation: operation, Arguments: arguments, RequestID: r.ID.String(), Surface: "mcp", Principal: r.conn.principal, Client: r.conn.ctx,
		Confirmed: s.o.TrustClients,
	}
	level, err := r.logLevel()
	if err != nil {
		return nil, err
	}
	if level != "" {
		toClient := &clientLog{ctx: r, link: r.link, level: level.Slog(), logger: tool}
		call.Logger = slog.New(slog.NewMultiHandler(s.o.Dispatch.Logger.Handler(), toClient))
	}
	if r.wantsProgress() {
		call.Progress = r.reportProgress
	}
	envelope := s.dispatcher.Dispatch(r, &call)
	if envelope.Err != nil && envelope.Err.Code == dispatch.ConfirmationRequired && !call.Confirmed {
		if envelope, err = r.confirm(call, envelope); err != nil {
			return r.inputRequired()
		}
	}
	if envelope.Success() {
		return &toolResult{s, r.era, envelope}, nil
	}
	if errors.Is(envelope.Err, dispatch.ErrBusy) {
		return nil, rpc.Errorf(rpc.CodeBusy, "%s", envelope.Err.Message)
	}
	switch lacking, stopped := errors.AsType[*inputRequiredError](envelope.Err); {
	case stopped && r.task.created():
		return nil, lacking.failure
	case stopped && r.stopErr() != nil:
		return r.inputRequired()
	}
	return &toolResult{s, r.era, envelope}, nil
}
