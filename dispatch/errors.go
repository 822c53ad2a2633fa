package dispatch

import (
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/dispatch/schema"
)

// An Error is a failure that is shown to the caller, with all its exported fields. Make one with
// [Errorf]. errors.Is(err, code) reports whether err carries a code; errors.As finds the Error in a
// chain.
//
// An Error is immutable: the With methods return copies, so that an Error in a package variable can
// be returned from any goroutine.
type Error struct {
	Code    Code
	Message string
	// a JSON value for the caller to branch on, nil for none; in an envelope from Dispatch, a
	// json.RawMessage
	Details     any
	Recoverable bool // whether a changed call can succeed

	cause              error
	defaultRecoverable bool // the dispatcher sets Recoverable to the default in the catalog
}

// Errorf returns an error with a code and a message for the caller, formatted as by fmt.Errorf.
// errors.Is and errors.As find errors formatted with %w. Their text becomes part of the message; to
// hide the text of a cause, log it instead. Recoverable is the code's default. For a code that an
// application declared, the dispatcher sets it.
func Errorf(code Code, format string, args ...any) *Error {
	formatted := fmt.Errorf(format, args...)
	e := &Error{Code: code, Message: formatted.Error()}
	switch formatted.(type) {
	case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		e.cause = formatted
	}
	info, known := builtinCode(code)
	e.Recoverable, e.defaultRecoverable = info.Recoverable, !known
	return e
}

// InvalidArgument returns an [InvalidInput] error about one argument, with the details that the
// dispatcher's own validation gives, so that surfaces can show its place. path is a JSON Pointer
// into the arguments, such as "/size/width". If the reason begins with "must ", its subject is the
// argument: "size.width must be even".
func InvalidArgument(path, format string, args ...any) *Error {
	e := Errorf(InvalidInput, format, args...)
	cause := schema.Cause{InstancePath: path, Reason: e.Message}
	e.Details = map[string]any{"errors": []problem{{Path: path, Reason: e.Message}}}
	e.Message = "invalid arguments: " + cause.String()
	return e
}

// MissingArgument returns a [MissingParam] error, with a reason, for an argument that is required
// in a case that the schema does not express.
func MissingArgument(name, format string, args ...any) *Error {
	e := Errorf(MissingParam, format, args...)
	e.Details = map[string]any{"errors": []problem{{Property: name, Reason: e.Message}}}
	e.Message = fmt.Sprintf("invalid arguments: %q is missing: %s", name, e.Message)
	return e
}

// With returns a copy of e with the given details, which must be encodable as JSON.
func (e *Error) With(details any) *Error {
	c := *e
	c.Details = details
	return &c
}

// WithRecoverable returns a copy of e that overrides its code's default of Recoverable.
func (e *Error) WithRecoverable(recoverable bool) *Error {
	c := *e
	c.Recoverable, c.defaultRecoverable = recoverable, false
	return &c
}

// withCause returns a copy of e that wraps a cause but does not show its text.
func (e *Error) withCause(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

func (e *Error) Error() string {
	if e == nil { // it was returned as an error, which is not nil then
		return "the operation returned a nil *dispatch.Error: return nil, not a variable of that type"
	}
	return string(e.Code) + ": " + e.Message
}

// Unwrap returns the cause, nil if there is none. It is never shown to the caller.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.cause
}

// Is reports whether target is e's [Code].
func (e *Error) Is(target error) bool { return e != nil && target == error(e.Code) }

// asError returns the *Error in the chain of err, or one made of a bare Code in the chain, or nil.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		if e == nil {
			return Errorf(InternalError, "%v", e)
		}
		return e
	}
	if code, ok := errors.AsType[Code](err); ok {
		return &Error{Code: code, cause: err, defaultRecoverable: true}
	}
	return nil
}
