package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
)

// An operationTool is a tool that runs an operation: one of the catalog if the form is
// envelopeResult, otherwise the operation of a typed tool, which belongs to no catalog.
type operationTool struct {
	name string // of the tool
	op   *dispatch.Operation
	form resultForm
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
	if t.form == envelopeResult {
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
	if !envelope.Success() {
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
		}
	}
	return r.toolResult(t.form, envelope)
}

// dispatch runs the operation.
func (t operationTool) dispatch(ctx context.Context, r *request,
	call *dispatch.Call) dispatch.Envelope {
	if t.form == envelopeResult {
		return r.conn.server.dispatcher.Dispatch(ctx, call)
	}
	return r.conn.server.dispatcher.Run(ctx, t.op, call)
}
