package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

// A toolSet is the catalog as MCP sees it: immutable, and encoded already.
type toolSet struct {
	operations []*dispatch.Operation // that it was made of
	byName     map[string]*tool
	sorted     []*tool // by name
}

type tool struct {
	name       string
	operation  string   // "" for a service
	service    *service // nil for an operation
	definition []byte   // as it stands in tools/list
}

// toolName is an operation's name in MCP, where names are flat.
func toolName(operation string) string { return strings.ReplaceAll(operation, ".", "_") }

// toolSet returns the tools there are now. The catalog hands out the same slice as long as it does not change.
func (s *Server) toolSet() *toolSet {
	operations := s.catalog.Operations()
	if set := s.tools.Load(); set != nil && same(set.operations, operations) {
		return set
	}
	set := &toolSet{operations: operations, byName: make(map[string]*tool, len(operations))}
	single := operations
	if s.o.Tools == ToolPerService {
		var grouped []*service
		grouped, single = services(operations)
		for _, svc := range grouped {
			s.add(set, &tool{name: svc.name, service: svc, definition: svc.definition()})
		}
	}
	for _, op := range single {
		s.add(set, &tool{name: toolName(op.Name()), operation: op.Name(), definition: definition(op)})
	}
	slices.SortFunc(set.sorted, func(a, b *tool) int { return strings.Compare(a.name, b.name) })
	s.tools.Store(set)
	return set
}

func (s *Server) add(set *toolSet, t *tool) {
	if set.byName[t.name] != nil {
		s.log.Error("two operations have the same name as a tool; the second cannot be called", "tool", t.name, "second", t.operation)
		return
	}
	set.byName[t.name] = t
	set.sorted = append(set.sorted, t)
}

func same(a, b []*dispatch.Operation) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// toolDefinition is what tools/list says of a tool.
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

// listTools answers tools/list. A cursor is the name of the last tool that the client has, so that it needs no memory here and stays good when tools come and go.
func listTools(_ context.Context, r *request) (any, error) {
	s := r.conn.server
	sorted := s.toolSet().sorted
	cursor, err := r.text(paramCursor)
	if err != nil {
		return nil, err
	}
	from := 0
	if cursor != nil {
		name, err := base64.RawURLEncoding.DecodeString(string(cursor))
		if err != nil || len(name) == 0 {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: cursor %.100q is none of this server's", cursor)
		}
		from, _ = slices.BinarySearchFunc(sorted, string(name)+"\x00", func(t *tool, name string) int { return strings.Compare(t.name, name) })
	}
	return &toolPage{s, r.era, sorted[from:min(from+s.o.PageSize, len(sorted))], from+s.o.PageSize < len(sorted)}, nil
}

type toolPage struct {
	server *Server
	era    *era
	tools  []*tool
	more   bool
}

// AppendJSON implements [rpc.Appender].
func (p *toolPage) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"tools":[`...)
	for i, t := range p.tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, t.definition...)
	}
	dst = append(dst, ']')
	if p.more {
		dst = append(dst, `,"nextCursor":"`...)
		dst = base64.RawURLEncoding.AppendEncode(dst, []byte(p.tools[len(p.tools)-1].name))
		dst = append(dst, '"')
	}
	if p.era.modern {
		return p.server.appendCacheable(dst), nil
	}
	return append(dst, '}'), nil
}

// callTool answers tools/call. A tool that there is not is an error of the protocol; whatever else goes wrong is told in the result,
// where the model sees it (2026-07-28, server/tools, Error Handling).
func callTool(ctx context.Context, r *request) (any, error) {
	s := r.conn.server
	name, err := r.text(paramName)
	if err != nil {
		return nil, err
	}
	t := s.toolSet().byName[string(name)]
	if t == nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Unknown tool: %.200s", name)
	}
	level, err := r.logLevel()
	if err != nil {
		return nil, err
	}
	operation, arguments := t.operation, json.RawMessage(r.param(paramArguments))
	if t.service != nil {
		op, params, answer := t.service.route(arguments)
		if op == nil {
			return &toolResult{s, r.era, answer}, nil
		}
		operation, arguments = op.Name(), params
	}
	var x *exchange // only few calls need one
	if r.param(paramRequestState) != nil {
		if x, err = newExchange(r); err != nil {
			return nil, err
		}
	}
	call := dispatch.Call{
		Operation: operation, Arguments: arguments, RequestID: r.ID.String(), Surface: "mcp", Client: r.conn.ctx, Confirmed: s.o.TrustClients,
	}
	if level != "" {
		call.Logger = slog.New(&clientLog{ctx: ctx, peer: r.Peer(), level: level.Slog(), logger: t.name})
	}
	if r.meta.progressToken != nil {
		p := &progress{ctx: ctx, peer: r.Peer(), token: r.meta.progressToken}
		call.Progress = p.report
		defer p.end()
	}
	envelope := s.dispatcher.Dispatch(ctx, &call)
	if envelope.Err != nil && envelope.Err.Code == dispatch.ConfirmationRequired && !call.Confirmed {
		if x == nil {
			x = &exchange{r: r}
		}
		if envelope, err = x.confirm(ctx, call, envelope); err != nil {
			return x.result()
		}
	}
	return &toolResult{s, r.era, envelope}, nil
}
