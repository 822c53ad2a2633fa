package dispatch

import (
	"errors"
	"fmt"
)

// An Error is a failure that its author wants the caller to see: everything in its exported fields
// reaches the caller. Make one with [Errorf]. errors.Is(err, code) reports whether err carries a
// code, errors.As finds the Error in what wraps it.
//
// An Error is not changed once made: the With methods return a copy, so one kept in a package
// variable is safe to return from anywhere.
type Error struct {
	Code    Code
	Message string
	// free-form JSON for the caller to branch on, nil for none; a json.RawMessage in what Dispatch
	// returns
	Details     any
	Recoverable bool // whether the caller can get on by changing something and calling again

	cause     error
	undecided bool // Recoverable is to be the default of a code that only the catalog knows
}

// Errorf returns an error with a code and a message for the caller, formatted as by fmt.Errorf.
// What %w wraps is found by errors.Is and errors.As, and its text becomes part of the message like
// any other operand's: to keep the text of a cause to yourself, leave it out and log it.
// Recoverable is the code's default; for a code of the application, it is set when the dispatcher
// returns it.
func Errorf(code Code, format string, args ...any) *Error {
	formatted := fmt.Errorf(format, args...)
	e := &Error{Code: code, Message: formatted.Error()}
	switch formatted.(type) {
	case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		e.cause = formatted
	}
	info, known := builtin(code)
	e.Recoverable, e.undecided = info.Recoverable, !known
	return e
}

// InvalidArgument returns an [InvalidInput] about one argument, in the form in which the dispatcher
// itself says what is wrong with arguments: surfaces can tell where it is. path is a JSON Pointer
// into the arguments: "/size/width".
func InvalidArgument(path, format string, args ...any) *Error {
	e := Errorf(InvalidInput, format, args...)
	e.Details = map[string]any{"errors": []problem{{Path: path, Reason: e.Message}}}
	e.Message = "invalid arguments: " + path + ": " + e.Message
	return e
}

// MissingArgument returns a [MissingParam] about an argument that is required only in a case that
// the schema cannot tell, with the reason.
func MissingArgument(name, format string, args ...any) *Error {
	e := Errorf(MissingParam, format, args...)
	e.Details = map[string]any{"errors": []problem{{Property: name, Reason: e.Message}}}
	e.Message = fmt.Sprintf("invalid arguments: %q is missing: %s", name, e.Message)
	return e
}

// With returns a copy of e with these details. They must encode as JSON.
func (e *Error) With(details any) *Error {
	c := *e
	c.Details = details
	return &c
}

// WithRecoverable returns a copy of e that says, whatever its code's default, whether the caller
// can get on by trying again.
func (e *Error) WithRecoverable(recoverable bool) *Error {
	c := *e
	c.Recoverable, c.undecided = recoverable, false
	return &c
}

// because returns a copy of e that keeps a cause, and nothing of its text.
func (e *Error) because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns the cause, if one was kept. It never reaches the caller.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is e's [Code].
func (e *Error) Is(target error) bool { return target == error(e.Code) }

// asError finds what an operation's error says to the caller: an *Error or a bare Code anywhere in
// its chain, nil for neither.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e
	}
	if code, ok := errors.AsType[Code](err); ok {
		return &Error{Code: code, cause: err, undecided: true}
	}
	return nil
}
