package auth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/printable"
)

// A Step is a part of an authorization. It is the first word of an [Error].
type Step string

const (
	StepResource     Step = "protected resource metadata"   // of the MCP server
	StepServer       Step = "authorization server metadata" // of the authorization server
	StepRegistration Step = "client registration"
	StepAuthorize    Step = "authorization" // the user's consent, in a browser
	// the assertion or proof that the program creates or its platform supplies
	StepAssertion  Step = "assertion"
	StepExchange   Step = "token exchange"
	StepToken      Step = "token"
	StepRefresh    Step = "token refresh"
	StepRevocation Step = "token revocation"
)

// An Error says which step of an authorization failed and why. It contains no tokens, codes,
// secrets or URL queries, and text from servers is safe to print.
type Error struct {
	Step        Step
	URL         string // of the request, without user, query and fragment; "" if none was sent
	Status      int    // of the response; 0 if there was none, or it was not the reason
	Code        string // the response's "error", such as "invalid_grant"; "" if it has none
	Description string // the response's "error_description", on one line and truncated
	Err         error  // the reason, if it is not in the response; may be nil

	unanswered bool // there was no response
}

func (e *Error) Error() string { return string(e.Step) + e.reason() }

// reason returns the text of the error without its step.
func (e *Error) reason() string {
	var b strings.Builder
	if e.URL != "" {
		b.WriteString(": " + e.URL)
	}
	if e.Status != 0 {
		b.WriteString(": " +
			strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))))
	}
	if e.Code != "" {
		b.WriteString(": " + e.Code)
	}
	if e.Description != "" {
		b.WriteString(": " + strconv.Quote(e.Description))
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// An IssuerError says that the metadata of an authorization server names another issuer than the
// one that was asked for, so that it could be that of another server (RFC 8414, section 3.3). If
// the user trusts Issuer, [Options].Issuer is the remedy. Both have no user, query or fragment.
type IssuerError struct {
	Issuer string // in the metadata
	Want   string
}

func (e *IssuerError) Error() string {
	return fmt.Sprintf("the metadata is of another authorization server: issuer %s, want %s",
		e.Issuer, e.Want)
}

// joinErrors returns one error for those of the URLs that a step has tried; target is what they
// were to describe.
func joinErrors(step Step, target string, errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return newError(step, target, joinedErrors(errs))
}

// joinedErrors are printed on one line.
type joinedErrors []error

func (j joinedErrors) Unwrap() []error { return j }

func (j joinedErrors) Error() string {
	texts := make([]string, len(j))
	for i, err := range j {
		texts[i] = err.Error()
		if e, ok := errors.AsType[*Error](err); ok {
			texts[i] = strings.TrimPrefix(e.reason(), ": ")
		}
	}
	return strings.Join(texts, "; ")
}

// newError returns an error of a step without a response.
func newError(step Step, target string, err error) *Error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // the wrapper quotes the whole URL
	}
	return &Error{Step: step, URL: httpurl.PublicText(target), Err: err}
}

func errorf(step Step, target, format string, args ...any) *Error {
	return newError(step, target, fmt.Errorf(format, args...))
}

// responseError returns the error for an unsuccessful response (RFC 6749, section 5.2; RFC 7591,
// section 3.2.2).
func responseError(step Step, target string, r *response) *Error {
	e := &Error{Step: step, URL: httpurl.PublicText(target), Status: r.status}
	var body struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}
	if jsonexact.Unmarshal(r.body, &body) == nil {
		e.Code, e.Description = sanitize(body.Code), sanitize(body.Description)
	}
	return e
}

// sanitize makes text of a server printable on one line of at most 200 characters.
func sanitize(text string) string {
	const maxRunes = 200
	return printable.TruncateRunes(printable.Line(text[:min(len(text), 4*maxRunes)]), maxRunes)
}
