package server

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

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
	if !r.era.supportsElicitation(mcp.ElicitForm) {
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
	arguments := printable.JSON(string(canonicalJSON(call.Arguments)))
	arguments = printable.TruncateBytes(arguments, maxShownArguments)
	text := strings.TrimSpace(message) + "\n\nOperation: " + call.Operation
	if arguments != "" && arguments != "{}" && arguments != "null" {
		text += "\nArguments: " + arguments
	}
	return text
}
