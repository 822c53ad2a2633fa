package server

import (
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
)

// ResourceNotFound returns the error of a resource that does not exist. Its code depends on the
// client's revision.
func ResourceNotFound(uri string) error { return &notFound{uri} }

type notFound struct{ uri string }

func (e *notFound) Error() string { return fmt.Sprintf("server: there is no resource %q", e.uri) }

// in returns the error for the client's era (2026-07-28, server/resources, Error Handling).
func (e *notFound) in(of *era.Era) error {
	code := mcp.CodeResourceNotFound
	if of.Modern {
		code = rpc.CodeInvalidParams
	}
	data, _ := mcp.Marshal(mcp.ResourceNotFoundData{URI: e.uri})
	return &rpc.Error{Code: code, Message: fmt.Sprintf("Resource not found: %.500s", e.uri),
		Data: data}
}

// handlerError returns the response to a request whose handler has returned err.
func (r *request) handlerError(err error) (*Result, error) {
	if _, ok := errors.AsType[*inputRequiredError](err); ok && r.stopErr() != nil {
		return r.inputRequired()
	}
	if missing, ok := errors.AsType[*notFound](err); ok {
		return nil, missing.in(r.era)
	}
	if _, ok := errors.AsType[*rpc.Error](err); ok || r.Err() != nil {
		return nil, err
	}
	if !r.conn.server.o.ShowErrors {
		r.conn.server.log.Error("a handler failed; ShowErrors shows the error to the client",
			"method", r.Method, "error", err)
		return nil, &sentError{err, errWithheld}
	}
	if r.Method == mcp.MethodCallTool {
		return r.toolError(err.Error())
	}
	return nil, &sentError{err, rpc.Errorf(rpc.CodeInternalError, "%s", err.Error())}
}

// A sentError is an error of a handler, and the one that the client gets in its place.
type sentError struct {
	error
	sent *rpc.Error
}

func (e *sentError) Unwrap() []error { return []error{e.error, e.sent} }

var errWithheld = rpc.Errorf(rpc.CodeInternalError,
	"Internal error: its text is withheld; the log has it, and ShowErrors shows it")

// logError logs err, a mistake whose text is not sent to the client, and returns it.
func (r *request) logError(err error) error {
	r.conn.server.log.Error("a handler failed", "method", r.Method, "error", err)
	return err
}

var errNoResult = errors.New("server: the handler returned neither a result nor an error")

// modernError returns the error for the client's era. Of the reserved codes, a modern client gets
// only those that the specification defines (2026-07-28, basic, Error Codes).
func (r *request) modernError(err error) error {
	e, ok := errors.AsType[*rpc.Error](err)
	switch {
	case !r.era.Modern || !ok || mcp.IsModernError(int64(e.Code)) ||
		!mcp.IsReservedCode(int64(e.Code)):
		return err
	case e.Code == mcp.CodeResourceNotFound:
		return &rpc.Error{Code: rpc.CodeInvalidParams, Message: e.Message, Data: e.Data}
	case e.Code == mcp.CodeURLElicitationRequired:
		// a legacy server behind a gateway sent it; no modern code means that the user refused
		return &rpc.Error{Code: rpc.CodeInternalError, Message: e.Message}
	}
	return r.logError(fmt.Errorf("the code %d belongs to the specification: %s", e.Code, e.Message))
}
