package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An inputUnavailableError is the error of a call whose server asks a question that nobody can
// answer.
type inputUnavailableError struct {
	questions mcp.InputRequests
	result    json.RawMessage // the server's result without an answer; nil for none
}

func (u *inputUnavailableError) Error() string {
	return "the server wants to ask something (" + strings.Join(u.methods(), ", ") +
		"), and nobody can be asked here: call the tool at a terminal, or from an MCP client"
}
func (u *inputUnavailableError) Unwrap() error { return errCannotAsk }

func (u *inputUnavailableError) methods() []string {
	methods := map[string]bool{}
	for _, question := range u.questions {
		methods[question.Method] = true
	}
	return slices.Sorted(maps.Keys(methods))
}

// operationError converts the error of a call to that of an operation.
func operationError(ctx context.Context, err error) error {
	if r, ok := errors.AsType[*refusedError](err); ok {
		return dispatch.Errorf(dispatch.Blocked, "%s",
			r.reason.Message).With(map[string]string{"refused_by": r.by})
	}
	if u, ok := errors.AsType[*inputUnavailableError](err); ok {
		return dispatch.Errorf(dispatch.NotImplemented, "%w", u).With(struct {
			Questions []string        `json:"questions"`
			Result    json.RawMessage `json:"result,omitempty"`
		}{u.methods(), u.result})
	}
	if _, ok := errors.AsType[*inputRequired](err); ok || ctx.Err() != nil {
		return err
	}
	if r, ok := errors.AsType[*clientReply](err); ok {
		err = r.cause
	}
	_, call := errors.AsType[*client.CallError](err)
	_, unavailable := errors.AsType[*host.UnavailableError](err)
	refused, answered := errors.AsType[*rpc.Error](err)
	switch {
	case errors.Is(err, host.ErrDisabled), errors.Is(err, host.ErrClosed),
		errors.Is(err, ErrNoSession):
		return dispatch.Errorf(dispatch.StateError, "%w", err)
	case errors.Is(err, host.ErrUnknown), errors.Is(err, rpc.ErrMethodNotFound):
		return dispatch.Errorf(dispatch.NotFound, "%w", err)
	case unavailable, errors.Is(err, host.ErrTooManySessions):
		return dispatch.Errorf(dispatch.UpstreamError, "%w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return dispatch.Errorf(dispatch.Timeout, "%w", err)
	case answered:
		return dispatch.Errorf(dispatch.UpstreamError, "%w", err).With(struct {
			Code int             `json:"code"`
			Data json.RawMessage `json:"data,omitempty"`
		}{refused.Code, refused.Data})
	case call:
		return dispatch.Errorf(dispatch.UpstreamError, "%w", err)
	}
	return err
}
