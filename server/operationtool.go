package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/mrtr"
	"github.com/stdwire/stdwire/server/internal/results"
)

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
	keyConfirm        = "confirm_operation" // key of the question in the modern era
	confirmTimeout    = 10 * time.Minute    // for a person to answer, in the legacy era
	maxShownArguments = 2000                // bytes of the arguments in the message
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
