package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// kindOperation is a tool as an operation of the catalog, which has names of its own.
const kindOperation = "tool as an operation"

// newOperations is the shelf of the tools that the one of tools has, as operations of the catalog.
func (m *mount) newOperations(catalog *dispatch.Catalog) *shelf[mcp.Tool, *dispatch.Catalog] {
	return &shelf[mcp.Tool, *dispatch.Catalog]{m: m, kind: kindOperation, put: m.putOperation, remove: (*dispatch.Catalog).Remove,
		fronts: func() []*dispatch.Catalog { return []*dispatch.Catalog{catalog} },
		name: func(t *mcp.Tool) (string, string) {
			if !m.filter.Allows(t.Name) {
				return t.Name, ""
			}
			return t.Name, host.OperationName(m.id, t.Name)
		}}
}

// putOperation has the catalog have a tool, in place of what the same tool was before.
func (m *mount) putOperation(catalog *dispatch.Catalog, name string, d definition[mcp.Tool]) error {
	t := d.item
	op, err := m.operation(name, t, t.InputSchema)
	if err != nil {
		strict := err
		if op, err = m.operation(name, t, nil); err != nil {
			return err
		}
		m.g.note("gateway: the arguments of an operation are checked by its server only", slog.String("operation", name), slog.String("server", m.id),
			slog.String("tool", t.Name), slog.Any("error", strict))
	}
	if _, again := m.tools.also.on[catalog][name]; again {
		return catalog.Replace(op)
	}
	return catalog.Register(op)
}

// operation makes an operation of a tool. Without a schema it takes any arguments.
func (m *mount) operation(name string, t *mcp.Tool, input json.RawMessage) (*dispatch.Operation, error) {
	spec := dispatch.Spec{
		Name: name, Summary: summary(t.Description), Description: t.Description, Kind: dispatch.Write, Input: input,
		Idempotent: t.Annotations.Idempotent(), OpenWorld: t.Annotations.OpenWorld(),
		Errors: []dispatch.Code{dispatch.UpstreamError, dispatch.NotFound, dispatch.StateError, dispatch.NotImplemented},
	}
	if title := t.DisplayName(); title != t.Name {
		spec.Title = title
	}
	spec.Summary = cmp.Or(spec.Summary, spec.Title, fmt.Sprintf("The tool %q of the server %q.", t.Name, m.id))
	a := t.Annotations
	silent := a.Destructive() && (a == nil || a.DestructiveHint == nil)
	switch {
	case a.ReadOnly():
		spec.Kind = dispatch.Read
	case silent: // it may be destructive then (2026-07-28, ToolAnnotations)
		spec.Errors = append(spec.Errors, dispatch.ConfirmationRequired)
	case a.Destructive():
		spec.Kind = dispatch.Destructive
	}
	idempotent, own := spec.Idempotent, t.Name
	return dispatch.New(spec, func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		if silent {
			if err := dispatch.Confirm(ctx, "The server %q does not say that its tool %q takes nothing away for good.", m.id, own); err != nil {
				return nil, err
			}
		}
		u := m.upstream(ctx, own, idempotent)
		u.answered = m.answers
		return m.g.operate(ctx, u)
	})
}

// summary is the first sentence of a description.
func summary(description string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	line = strings.TrimSpace(line)
	if sentence, _, more := strings.Cut(line, ". "); more {
		return sentence + "."
	}
	return line
}

// operate calls a tool for the call of an operation that ctx belongs to. Its arguments go through as they came.
func (g *Gateway) operate(ctx context.Context, u upstream) (json.RawMessage, error) {
	call := dispatch.CallFrom(ctx)
	arguments := call.Arguments
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage(`{}`)
	}
	result, err := g.call(ctx, u, arguments)
	if err != nil {
		return nil, failed(ctx, err)
	}
	if jsonscan.Valid(result) != nil || result[jsonscan.Space(result, 0)] != '{' {
		return nil, dispatch.Errorf(dispatch.UpstreamError, "server %q: tool %q: its result is no JSON object", u.id, u.name)
	}
	a := readAnswer(result)
	if a.failed {
		return nil, dispatch.Errorf(dispatch.UpstreamError, "%s", a.message()).With(result)
	}
	if a.saysMore() {
		call.Original = result
	}
	return a.data(), nil
}
