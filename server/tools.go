package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/paramheader"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/discovery"
	"github.com/stdwire/stdwire/server/internal/items"
	"github.com/stdwire/stdwire/server/internal/mrtr"
	"github.com/stdwire/stdwire/server/internal/projection"
	"github.com/stdwire/stdwire/server/internal/results"
)

// nameOf returns the name of an operation, or "" for nil.
func nameOf(op *dispatch.Operation) string {
	if op == nil {
		return ""
	}
	return op.Name()
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
	now := &tools{operations: operations, raw: raw, apps: apps, listing: items.NewListing(byKey),
		headers: map[string][]paramheader.Param{}}
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

// toolWithApp returns the item of a tool with its app, if it has one. If the model may not call the
// tool, the tool exists only for clients with apps.
func (s *Server) toolWithApp(i *item, apps *map[string]mcp.ToolUI) *item {
	ui, has := (*apps)[i.Key]
	if !has {
		return i
	}
	with := *i
	var err, legacyErr error
	with.Definition, err = items.WithApp(i.Definition, ui)
	if i.Legacy != nil {
		with.Legacy, legacyErr = items.WithApp(i.Legacy, ui)
	}
	if err = cmp.Or(err, legacyErr); err != nil {
		s.log.Error("a tool is listed without its app: its definition is invalid", "tool", i.Key,
			"error", err)
		return i
	}
	if !ui.Allows(mcp.VisibleToModel) {
		with.Extension = mcp.ExtensionApps
	}
	return &with
}

// toolsFor returns the tools of the server and those that only the caller of the request in ctx
// has.
func (s *Server) toolsFor(ctx context.Context) *listing {
	static, sets := s.toolList().listing, s.ownItems(ctx)
	if len(sets) == 0 {
		return static
	}
	if known := sets[0].all.Load(); known != nil && known.static == static &&
		slices.Equal(known.sets, sets) {
		return known.listing
	}
	all := static
	for _, set := range sets {
		all = all.With(set.lists[mcp.KindTool])
	}
	sets[0].all.Store(&ownTools{static, sets, all})
	return all
}

// ToolBytes returns the size of the definitions of the tools of each server, by the IDs of
// [Item].Server; "" is for those of no other server. A token of a model is about four bytes.
func (i Integration) ToolBytes() map[string]int {
	sizes := map[string]int{}
	for _, item := range i.s.toolList().Sorted {
		sizes[item.server] += len(item.Definition)
	}
	return sizes
}

// toolProvider is the provider of tools: the operations of the catalog and the added tools, with
// their apps.
type toolProvider struct{ *Server }

func (p toolProvider) List(ctx context.Context, _ mcp.Kind) (*listing, error) {
	all := p.toolsFor(ctx)
	if r, ok := ctx.(*request); ok && p.views.meta != nil {
		return p.shownTools(r, all), nil
	}
	return all, nil
}

func (p toolProvider) Find(ctx context.Context, kind mcp.Kind, key []byte) *item {
	if i := p.toolList().ByKey[string(key)]; i != nil {
		return i
	}
	return own(p).Find(ctx, kind, key)
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
	switch {
	case r.refused != nil:
		return r.toolError(r.refused.Error())
	case r.finds:
		return r.use(s.views.meta[discovery.Find], r.params.Get(paramArguments))
	}
	found, exists, err := r.find(mcp.KindTool, name)
	if err == nil && !exists {
		// it was not listed before, or only the caller has it
		if own, ok := s.ownName(r.clientInfo().Name, s.toolsFor(r), name); ok {
			found, exists, err = r.find(mcp.KindTool, []byte(own))
		}
	}
	if err == nil && !exists && r.params.Meta.App == nil {
		found, err = r.resolveUnknownTool(string(name))
	}
	if err != nil {
		return r.handlerError(err)
	}
	if result, err := r.checkCaller(found, name); result != nil || err != nil {
		return result, err
	}
	if found == nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Unknown tool: %.200s", name)
	}
	if s.tasks.enabled.Load() {
		return r.callToolOrTask(found)
	}
	return r.use(found, r.params.Get(paramArguments))
}

// checkCaller returns the result for a client that may not call a tool in the way it has, or nil.
func (r *request) checkCaller(found *item, name []byte) (*Result, error) {
	switch {
	case r.through == discovery.Unknown:
		return nil, nil
	case found == nil:
		return r.toolError("Unknown tool: " + printable.TruncateBytes(string(name), 200) + ". " +
			discovery.Find + " returns the names of tools.")
	}
	if err := r.through.Check(string(name), found.Definition); err != nil {
		return r.toolError(err.Error())
	}
	return nil, nil
}

// An operationTool is a tool that runs an operation: one of the catalog if the form is
// results.FormEnvelope, otherwise the operation of a typed tool, which belongs to no catalog.
type operationTool struct {
	name string // of the tool
	op   *dispatch.Operation
	form results.Form
}

// use dispatches the operation and returns its result. If the dispatcher requires a confirmation,
// it asks the client's user and dispatches the operation again.
func (t operationTool) use(ctx context.Context, r *request,
	arguments json.RawMessage) (*Result, error) {
	s := r.conn.server
	call := dispatch.Call{
		Operation: t.name, Arguments: arguments, RequestID: r.ID.String(), Surface: "mcp",
		Principal: r.conn.principal, Client: r.conn.ctx, ArgumentsAreJSON: true,
		Confirmed: s.o.TrustClients,
	}
	if t.form == results.FormEnvelope {
		call.Operation = t.op.Name()
	}
	level, err := r.logLevel()
	if err != nil {
		return nil, err
	}
	if level != "" {
		call.Logger = r.logger(s.o.Dispatch.Logger, level, t.name)
	}
	if r.wantsProgress() {
		call.Progress = r.reportProgress
	}
	envelope := t.dispatch(ctx, r, &call)
	if envelope.Err != nil && envelope.Err.Code == dispatch.ConfirmationRequired &&
		!call.Confirmed {
		if envelope, err = t.confirm(ctx, r, call, envelope); err != nil {
			return r.inputRequired()
		}
	}
	if envelope.Err != nil {
		if errors.Is(envelope.Err, dispatch.ErrBusy) {
			return nil, rpc.Errorf(rpc.CodeBusy, "%s", envelope.Err.Message)
		}
		if code := envelope.Err.Code; (code == dispatch.Cancelled ||
			code == dispatch.InternalError) && errors.Is(context.Cause(ctx), rpc.ErrShutdown) {
			return nil, rpc.ErrShutdown // not the caller's doing
		}
		switch lacking, stopped := errors.AsType[*inputRequiredError](envelope.Err); {
		case stopped && r.task.IsTask():
			return nil, lacking.failure
		case stopped && r.stopErr() != nil:
			return r.inputRequired()
		case r.asks(): // the cause has not been logged
			return nil, cmp.Or(errors.Unwrap(envelope.Err), error(envelope.Err))
		}
	}
	return r.toolResult(t.form, envelope)
}

// dispatch runs the operation.
func (t operationTool) dispatch(ctx context.Context, r *request,
	call *dispatch.Call) dispatch.Envelope {
	if t.form == results.FormEnvelope {
		return r.conn.server.dispatcher.Dispatch(ctx, call)
	}
	return r.conn.server.dispatcher.Run(ctx, t.op, call)
}

const (
	confirmTimeout    = 10 * time.Minute // for a person to answer, in the legacy era
	maxShownArguments = 2000             // bytes of the arguments in the message
)

// confirm asks the client's user to confirm a call that was refused with
// [dispatch.ConfirmationRequired], and dispatches it again if the user accepts. Otherwise the call
// remains refused. The error is an *inputRequiredError: the answer comes with a later request.
func (t operationTool) confirm(ctx context.Context, r *request, call dispatch.Call,
	refused dispatch.Envelope) (dispatch.Envelope, error) {
	s := r.conn.server
	if !r.era.SupportsElicitation(mcp.ElicitForm) {
		refused.Err = refused.Err.With(
			map[string]any{"reason": "the client cannot ask its user: it does not declare elicitation"})
		return refused, nil
	}
	asking, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	var result mcp.ElicitResult
	err := r.ask(asking, keyConfirm, mcp.MethodElicit, mcp.ElicitParams{
		Message:         confirmMessage(refused.Err.Message, &call),
		RequestedSchema: []byte(`{"type":"object","properties":{}}`),
	}, decodeInto(&result))
	switch _, suspended := errors.AsType[*inputRequiredError](err); {
	case suspended:
		return refused, err
	case err != nil:
		s.log.Warn("the client did not answer whether a call is confirmed", "operation",
			call.Operation, "error", err)
		refused.Err = refused.Err.With(map[string]any{"reason": "the client did not answer"})
		return refused, nil
	case result.Action != mcp.ElicitAccept:
		if result.Action != mcp.ElicitDecline {
			result.Action = mcp.ElicitCancel
		}
		refused.Err = refused.Err.With(
			map[string]any{"reason": "the user did not confirm it",
				"action": result.Action}).WithRecoverable(false)
		return refused, nil
	}
	call.Confirmed = true
	return t.dispatch(ctx, r, &call), nil
}

// confirmMessage returns the message for the user. It contains the arguments, because the model has
// chosen them and the user has not seen them.
func confirmMessage(message string, call *dispatch.Call) string {
	// equal arguments must give equal questions
	arguments := printable.JSON(string(mrtr.Canonical(call.Arguments)))
	arguments = printable.TruncateBytes(arguments, maxShownArguments)
	text := strings.TrimSpace(message) + "\n\nOperation: " + call.Operation
	if arguments != "" && arguments != "{}" && arguments != "null" {
		text += "\nArguments: " + arguments
	}
	return text
}
