package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/nametable"
	"github.com/stdwire/stdwire/client/host/gateway/internal/toolresult"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// operationList returns the list that offers the server's tools as operations.
func (u *upstreamServer) operationList(catalog *dispatch.Catalog) *itemList {
	return &itemList{upstream: u, kind: nametable.KindOperation,
		targets: func() []itemTarget { return []itemTarget{catalogTarget{catalog}} },
		name: func(d *definition.Definition) string {
			if !u.filter.Allows(d.Own) || d.OnlyForApps || d.Use != nil {
				return ""
			}
			return itemname.Operation(u.id, d.Name)
		},
		distinguish: func(names []string) map[string]string {
			return itemname.Operations(u.id, names)
		}}
}

type catalogTarget struct{ *dispatch.Catalog }

func (c catalogTarget) add(l *itemList, name string, o *offer) error {
	_, registered := l.offeredAt[c][name]
	u := l.upstream
	var t mcp.Tool
	if err := mcp.Unmarshal(o.Passed, &t); err != nil {
		return err
	}
	schemaErr, err := u.putOperation(name, o.Definition, &t, registered)
	if schemaErr != nil {
		u.g.warnLater("gateway: the arguments of an operation are checked by its server only",
			slog.String("operation", name), slog.String("server", u.id),
			slog.String("tool", t.Name), slog.Any("error", schemaErr))
	}
	return err
}

func (c catalogTarget) remove(_ *itemList, name string) { c.Remove(name) }

// putOperation registers a tool as an operation, or replaces it. If its input schema cannot be
// used, schemaErr says why, and the operation accepts any arguments.
func (u *upstreamServer) putOperation(name string, d *definition.Definition, t *mcp.Tool,
	registered bool) (schemaErr, err error) {
	op, err := u.operation(name, d, t, t.InputSchema)
	if err != nil {
		schemaErr = err
		if op, err = u.operation(name, d, t, nil); err != nil {
			return nil, err
		}
	}
	if registered {
		return schemaErr, u.g.o.Catalog.Replace(op)
	}
	return schemaErr, u.g.o.Catalog.Register(op)
}

// operation returns a tool as an operation. Without an input schema it accepts any arguments.
func (u *upstreamServer) operation(name string, d *definition.Definition, t *mcp.Tool,
	input json.RawMessage) (*dispatch.Operation, error) {
	spec := dispatch.Spec{
		Name: name, Summary: summary(t.Description), Description: t.Description,
		Type: dispatch.Write, Input: input,
		Idempotent: t.Annotations.Idempotent(), OpenWorld: t.Annotations.OpenWorld(),
		Errors: []dispatch.Code{dispatch.UpstreamError, dispatch.NotFound, dispatch.StateError,
			dispatch.NotImplemented},
	}
	if title := t.DisplayName(); title != t.Name {
		spec.Title = title
	}
	spec.Summary = cmp.Or(spec.Summary, spec.Title,
		fmt.Sprintf("The tool %q of the server %q.", t.Name, u.id))
	a := t.Annotations
	// An absent destructiveHint means true (2026-07-28, ToolAnnotations).
	assumed := a.Destructive() && (a == nil || a.DestructiveHint == nil)
	switch {
	case a.ReadOnly():
		spec.Type = dispatch.Read
	case assumed, u.sharing == host.PerUser && !a.Destructive():
		// another user's definition may be destructive
		spec.Errors = append(spec.Errors, dispatch.ConfirmationRequired)
	case a.Destructive():
		spec.Type = dispatch.Destructive
	}
	own := t.Name
	return dispatch.NewOperation(spec,
		func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			d, a := d, a
			if u.sharing == host.PerUser {
				var err error
				if d, err = u.operationFor(ctx, name); err != nil {
					return nil, operationError(ctx, clientError(err))
				}
				a = annotations(d)
			}
			switch {
			case spec.Type == dispatch.Read && !a.ReadOnly():
				// The caller's lists came after the operation of another user was looked up.
				return nil, dispatch.Errorf(dispatch.StateError,
					"The operation has changed: call it again.")
			case spec.Type == dispatch.Write && a.Destructive():
				if err := dispatch.Confirm(ctx, "The tool %q of the server %q may be destructive.",
					own, u.id); err != nil {
					return nil, err
				}
			}
			target := u.targetOf(ctx, d, name, a.Idempotent())
			target.answersQuestions = u.answersQuestions
			return u.g.callOperation(ctx, target, d)
		})
}

// annotations returns the hints of a tool, or nil if it has none.
func annotations(d *definition.Definition) *mcp.ToolAnnotations {
	var t mcp.Tool
	if mcp.Unmarshal(d.Passed, &t) != nil {
		return nil
	}
	return t.Annotations
}

// summary returns the first sentence of a description.
func summary(description string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	line = strings.TrimSpace(line)
	if sentence, _, more := strings.Cut(line, ". "); more {
		return sentence + "."
	}
	return line
}

// callOperation calls a tool for the operation call in ctx, and forwards its arguments unchanged.
func (g *Gateway) callOperation(ctx context.Context, t target,
	tool *definition.Definition) (json.RawMessage, error) {
	from := dispatch.CallFrom(ctx)
	arguments := from.Arguments
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage(`{}`)
	}
	result, err := g.call(ctx,
		&call{kind: mcp.KindTool, target: t, arguments: arguments, tool: tool})
	if err != nil {
		return nil, operationError(ctx, err)
	}
	if jsonscan.Valid(result) != nil || result[jsonscan.Space(result, 0)] != '{' {
		return nil, dispatch.Errorf(dispatch.UpstreamError,
			"server %q: tool %q: its result is not a JSON object", t.id, t.name)
	}
	r := toolresult.Parse(result)
	if r.Failed {
		return nil, dispatch.Errorf(dispatch.UpstreamError, "%s", r.Message()).With(result)
	}
	if r.HasMoreThanData() {
		from.UpstreamResult = result
	}
	return r.Data(), nil
}

// Operation returns the tool of a server that is offered to the caller in ctx as an operation of
// this name. One that only other callers have has no Name.
func (g *Gateway) Operation(ctx context.Context, name string) (o server.Origin, ok bool) {
	for _, u := range g.allUpstreams() {
		u.users.mu.Lock()
		_, ok := u.users.operations[name]
		u.users.mu.Unlock()
		if ok {
			o.Server = u.id
			if l := u.knownLists(ctx); l != nil && l.operations[name] != nil {
				o.Name, o.Definition = l.operations[name].Own, l.operations[name].Passed
			}
			return o, true
		}
		l := u.list(mcp.KindTool).operations
		if l == nil {
			continue
		}
		l.mu.Lock()
		of := l.offered[name]
		l.mu.Unlock()
		if of != nil {
			return server.Origin{Server: u.id, Name: of.Own, Definition: of.Passed}, true
		}
	}
	return o, false
}

// offerOperations offers the tools of a user as operations. If another user has another definition
// of one, the operation shows nothing of either, and its arguments are only checked by the server.
func (u *upstreamServer) offerOperations(l *userLists) {
	t := &u.users
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.dropped || u.g.o.Catalog == nil {
		return
	}
	for name, d := range l.operations {
		op, known := t.operations[name]
		var tool mcp.Tool
		err := mcp.Unmarshal(d.Passed, &tool)
		switch {
		case err != nil:
		case !known:
			op = &userOperation{definition: d.Passed}
			_, err = u.putOperation(name, d, &tool, false)
		case op.definition != nil && !bytes.Equal(op.definition, d.Passed):
			_, own, _ := strings.Cut(name, ".")
			if _, err = u.putOperation(name, d, &mcp.Tool{Name: own}, true); err == nil {
				op.definition = nil
			}
		}
		if err != nil {
			u.warn("a tool of a user is no operation", fmt.Errorf("%s: %w", name, err))
			delete(l.operations, name)
			continue
		}
		op.users++
		t.operations[name] = op
	}
	l.counted = true
}

// operationFor returns the tool that is an operation for the caller in ctx.
func (u *upstreamServer) operationFor(ctx context.Context,
	name string) (*definition.Definition, error) {
	timer := time.NewTimer(userListWait)
	defer timer.Stop()
	l, err := u.listsFor(ctx, timer.C)
	if err != nil {
		return nil, err
	}
	if d := l.operations[name]; d != nil {
		return d, nil
	}
	return nil, errNoOperation
}

var errNoOperation = dispatch.Errorf(dispatch.NotFound, "There is no operation of that name.")

// OffersOperation reports whether the caller in ctx has an operation of Options.Catalog with this
// name: those of servers with [host.PerUser] are for the users whose lists have them. It may wait
// for these lists until a few seconds after they were first asked for.
func (g *Gateway) OffersOperation(ctx context.Context, name string) bool {
	for _, u := range g.allUpstreams() {
		u.users.mu.Lock()
		_, ok := u.users.operations[name]
		u.users.mu.Unlock()
		if !ok {
			continue
		}
		l, err := u.begin(ctx)
		if err == nil {
			timer := time.NewTimer(time.Until(l.began.Add(userListWait)))
			defer timer.Stop()
			l, err = u.listsFor(ctx, timer.C)
		}
		return err == nil && l.operations[name] != nil
	}
	return true
}
