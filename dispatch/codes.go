package dispatch

import "fmt"

// A Code is a class of failure, on which a caller can branch. The set is closed: the codes of this
// package and those that an application adds with [Catalog.Declare]. A code is never removed. A
// Code is an error, so that errors.Is(err, dispatch.NotFound) reports whether an error carries it.
type Code string

const (
	InvalidInput         Code = "invalid_input"
	MissingParam         Code = "missing_param"
	UnknownOperation     Code = "unknown_operation"
	UnknownInstance      Code = "unknown_instance"
	NotFound             Code = "not_found"
	NotRunning           Code = "not_running"
	StateError           Code = "state_error"
	PermissionDenied     Code = "permission_denied"
	ConfirmationRequired Code = "confirmation_required"
	Blocked              Code = "blocked"
	UpstreamError        Code = "upstream_error"
	TooManyRequests      Code = "too_many_requests"
	Timeout              Code = "timeout"
	Cancelled            Code = "cancelled"
	NotImplemented       Code = "not_implemented"
	InternalError        Code = "internal_error"
)

func (c Code) Error() string { return string(c) }

// CodeInfo describes a code: how callers can react, and which HTTP status and exit code it has on
// every surface.
type CodeInfo struct {
	Code Code `json:"code"`
	// whether the caller can change the call, or something else, and call again; an [Error] can
	// override it
	Recoverable bool   `json:"recoverable"`
	HTTPStatus  int    `json:"http_status"` // 400 to 599
	ExitCode    int    `json:"exit_code"`   // of a command line: 1 to 125, or 130 for interrupted
	Summary     string `json:"summary"`     // when the code is used, in one sentence
	Universal   bool   `json:"universal"`   // whether operations can return it without declaring it
}

// codes are the codes of this package. Their exit codes are 1 for an internal error, 2 for misuse,
// 5 for a failed operation, 6 for a timeout, 7 for a call that policy refuses and 130 for an
// interrupted one.
var codes = [...]CodeInfo{
	{InvalidInput, true, 400, 2, "An argument has the wrong type, form or value.", true},
	{MissingParam, true, 400, 2, "A required argument is missing.", true},
	{UnknownOperation, true, 404, 5, "There is no operation of that name.", false},
	{UnknownInstance, true, 404, 5, "There is no instance of that name.", false},
	{NotFound, true, 404, 5, "What the arguments name does not exist.", false},
	{NotRunning, true, 409, 5, "No session, or none of that id, is running.", false},
	{StateError, true, 409, 5, "The target is not in a state that allows this.", false},
	{PermissionDenied, false, 403, 7, "The caller, or this program, may not do this.", true},
	{ConfirmationRequired, true, 428, 7, "This cannot be undone and was not confirmed.", false},
	{Blocked, false, 403, 7, "A safety rule refuses what was sent.", true},
	{UpstreamError, true, 502, 5, "Something that this relies on failed.", false},
	{TooManyRequests, true, 429, 7, "The caller has used up its rate or quota for now.", true},
	{Timeout, true, 504, 6, "The time allowed ran out.", true},
	{Cancelled, true, 499, 130, "The caller cancelled the call.", true},
	{NotImplemented, false, 501, 5, "This is not available here.", false},
	{InternalError, false, 500, 1, "The operation failed for a reason without a code.", true},
}

func builtinCode(code Code) (CodeInfo, bool) {
	for _, info := range codes {
		if info.Code == code {
			return info, true
		}
	}
	return CodeInfo{}, false
}

func (info CodeInfo) check() error {
	switch {
	case !isCode(string(info.Code)):
		return fmt.Errorf(
			"code %q: a code must consist of lower-case letters, digits and '_', and begin with a letter",
			info.Code)
	case info.HTTPStatus < 400 || info.HTTPStatus > 599:
		return fmt.Errorf("code %q: HTTP status %d is not that of an error (400 to 599)", info.Code,
			info.HTTPStatus)
	case info.ExitCode < 1 || info.ExitCode > 125 && info.ExitCode != 130:
		return fmt.Errorf("code %q: exit code %d is not that of a failure (1 to 125, or 130)",
			info.Code, info.ExitCode)
	case info.Summary == "":
		return fmt.Errorf("code %q: no summary says when it is used", info.Code)
	}
	return nil
}

func isCode(s string) bool {
	for i, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || i > 0 && ('0' <= c && c <= '9' || c == '_')) {
			return false
		}
	}
	return s != ""
}
