package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/inflight"
	"github.com/stdwire/stdwire/client/host/gateway/internal/listfetch"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
)

// ErrNoSession matches the error of a request that belongs to no connection or session, to a server
// with host.PerSession. The request's principal does not identify a client, because one
// principal may have several.
var ErrNoSession = errors.New(
	"has a process for each client, and the request has no session: " +
		"use it on stdio or, over HTTP, in a session of MCP 2025-11-25 or earlier, or remove perSession from its configuration to share it")

// ErrNoUser matches the error of a request whose caller is unknown, to a server with host.PerUser.
var ErrNoUser = errors.New(
	"is called with the credentials of each user, and the caller of this request is unknown: " +
		"serve over HTTP and authenticate the callers, as with --oauth-issuer or --token-env")

// A userError is the error of Upstream.User.
type userError struct{ error }

func (e *userError) Unwrap() error { return e.error }

// cannotUse reports whether err says that the caller of a request cannot use a server.
func cannotUse(err error) bool {
	_, refused := errors.AsType[*userError](err)
	return refused || errors.Is(err, ErrNoSession) || errors.Is(err, ErrNoUser)
}

// The values of refusedError.by, which the audit log has.
const (
	byLimit    = "limit"
	byBefore   = "before" // by an interceptor, before the call was made
	byPin      = "pin"
	byAfter    = "after"    // by an interceptor, because of the result
	byOverride = "override" // an argument that an override hides or has renamed
	byRate     = "rate"     // by an interceptor that limits rates
)

// A refusedError is the error of a call that the gateway refuses. The reason is an *rpc.Error, or
// the *dispatch.Error of an interceptor that limits rates.
type refusedError struct {
	by     string
	reason error
	sent   error // what the client gets; nil: reason
}

func (r *refusedError) Error() string { return r.reason.Error() }

func (r *refusedError) Unwrap() error {
	if r.sent != nil {
		return r.sent
	}
	return r.reason
}

// operationError converts the error of a call to the error of an operation.
func operationError(ctx context.Context, err error) error {
	if r, ok := errors.AsType[*refusedError](err); ok {
		if reason, ok := errors.AsType[*rpc.Error](r.reason); ok {
			return dispatch.Errorf(dispatch.Blocked, "%s",
				reason.Message).With(map[string]string{"refused_by": r.by})
		}
		return r.reason
	}
	if u, ok := errors.AsType[*inflight.UnavailableError](err); ok {
		return dispatch.Errorf(dispatch.NotImplemented, "%w", u).With(struct {
			Questions []string        `json:"questions"`
			Result    json.RawMessage `json:"result,omitempty"`
		}{u.Methods(), u.Result})
	}
	if _, ok := errors.AsType[*inflight.QuestionError](err); ok || ctx.Err() != nil {
		return err
	}
	if q, ok := errors.AsType[*client.QuestionError](err); ok &&
		errors.Is(q, rpc.ErrMethodNotFound) {
		return dispatch.Errorf(dispatch.NotImplemented,
			"the server asks a question (%s), and nobody can answer it here", q.Method)
	}
	if r, ok := errors.AsType[*clientReply](err); ok {
		err = r.cause
	}
	_, isCallError := errors.AsType[*client.CallError](err)
	_, unavailable := errors.AsType[*host.UnavailableError](err)
	refused, answered := errors.AsType[*rpc.Error](err)
	switch {
	case errors.Is(err, host.ErrDisabled), errors.Is(err, host.ErrClosed),
		cannotUse(err), isWithheld(err):
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
	case isCallError:
		return dispatch.Errorf(dispatch.UpstreamError, "%w", err)
	}
	return err
}

// A clientReply is an error that is sent to the client, with its cause.
type clientReply struct {
	public *rpc.Error
	cause  error
}

func (r *clientReply) Error() string { return r.public.Error() }

func (r *clientReply) Unwrap() []error { return []error{r.public, r.cause} }

// clientError converts an error that the client may see, the server's own error or the server's
// state, to a [*clientReply]. Other errors become internal errors.
func clientError(err error) error {
	if err == nil {
		return nil
	}
	// a list error is not the answer to the client's request
	if l, ok := errors.AsType[*listfetch.ListError](err); ok {
		return &clientReply{rpc.Errorf(rpc.CodeInternalError, "%s", l), err}
	}
	if refusal, ok := errors.AsType[*rpc.Error](err); ok {
		return &clientReply{refusal, err}
	}
	_, isCallError := errors.AsType[*client.CallError](err)
	_, unavailable := errors.AsType[*host.UnavailableError](err)
	if isCallError || unavailable || errors.Is(err, host.ErrDisabled) ||
		errors.Is(err, host.ErrUnknown) || errors.Is(err, host.ErrTooManySessions) ||
		cannotUse(err) || isWithheld(err) {
		return &clientReply{rpc.Errorf(rpc.CodeInternalError, "%s", err), err}
	}
	return fmt.Errorf("gateway: %w", err)
}
