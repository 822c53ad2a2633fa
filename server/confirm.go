package server

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	keyConfirm        = "confirm_operation" // of the question, in the modern era
	confirmTimeout    = 10 * time.Minute    // for a person, in the legacy era
	maxShownArguments = 2000                // bytes of them that are shown
)

// confirm asks the client's user whether a call may go on that came back with [dispatch.ConfirmationRequired], and dispatches it again if so. What
// the user, or the client in the user's place, does not accept stays refused. The error is a *suspension: the answer is to come with another
// request.
func (r *request) confirm(call dispatch.Call, refused dispatch.Envelope) (dispatch.Envelope, error) {
	s := r.conn.server
	if !r.era.supportsElicitation(mcp.ElicitForm) {
		refused.Err = refused.Err.With(map[string]any{"reason": "the client cannot ask its user: it does not declare elicitation"})
		return refused, nil
	}
	ctx, cancel := context.WithTimeout(r, confirmTimeout)
	defer cancel()
	var result mcp.ElicitResult
	_, err := r.ask(ctx, keyConfirm, mcp.MethodElicit, mcp.ElicitParams{
		Message:         confirmMessage(refused.Err.Message, &call),
		RequestedSchema: []byte(`{"type":"object","properties":{}}`),
	}, decodeInto(&result))
	switch _, suspended := errors.AsType[*inputRequiredError](err); {
	case suspended:
		return refused, err
	case err != nil:
		s.log.Warn("the client did not answer whether a call is confirmed", "operation", call.Operation, "error", err)
		refused.Err = refused.Err.With(map[string]any{"reason": "the client did not answer"})
		return refused, nil
	case result.Action != mcp.ElicitAccept:
		if result.Action != mcp.ElicitDecline {
			result.Action = mcp.ElicitCancel
		}
		refused.Err = refused.Err.With(map[string]any{"reason": "the user did not confirm it", "action": result.Action}).WithRecoverable(false)
		return refused, nil
	}
	call.Confirmed = true
	return s.dispatcher.Dispatch(r, &call), nil
}

// confirmMessage is what the user reads. The arguments are the model's: the user has not seen them.
func confirmMessage(message string, call *dispatch.Call) string {
	arguments := string(canonicalJSON(call.Arguments)) // the same for the same arguments, or the answer would be to another question
	if len(arguments) > maxShownArguments {
		cut := maxShownArguments
		for cut > 0 && !utf8.RuneStart(arguments[cut]) {
			cut--
		}
		arguments = arguments[:cut] + "…"
	}
	text := strings.TrimSpace(message) + "\n\nOperation: " + call.Operation
	if arguments != "" && arguments != "{}" && arguments != "null" {
		text += "\nArguments: " + arguments
	}
	return text
}
