package auth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/printable"
)

// A Step is a part of an authorization that can fail.
type Step string

const (
	StepResource     Step = "protected resource metadata"   // what the MCP server says of itself
	StepServer       Step = "authorization server metadata" // what its authorization server says of itself
	StepRegistration Step = "client registration"
	StepAuthorize    Step = "authorization" // the user's part of it, in a browser
	StepAssertion    Step = "assertion"     // the proof of who the program or its user is
	StepExchange     Step = "token exchange"
	StepToken        Step = "token"
	StepRefresh      Step = "token refresh"
	StepRevocation   Step = "token revocation"
)

// An Error says why there is no token: which step has failed, at which address, and what the other end said of it. Tokens, codes, secrets and queries of URLs
// are never in it, and what comes from the other end is fit to be printed.
type Error struct {
	Step        Step
	URL         string // that was asked, without user, query and fragment; "" if none was
	Status      int    // of the answer; 0 if there was none, or it is not what was wrong
	Code        string // "error" of the authorization server's answer, such as "invalid_grant"; "" if it has not said
	Description string // "error_description", on one line and cut
	Err         error  // what was wrong if the other end has not said; may be nil
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Step))
	if e.URL != "" {
		b.WriteString(": " + e.URL)
	}
	if e.Status != 0 {
		b.WriteString(": " + strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))))
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

// newError is an error without an answer of the other end.
func newError(step Step, where string, err error) *Error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // it has the whole URL in it
	}
	return &Error{Step: step, URL: redactURL(where), Err: err}
}

func errorf(step Step, where, format string, args ...any) *Error {
	return newError(step, where, fmt.Errorf(format, args...))
}

// responseError is the error of an answer that is none of success (RFC 6749, section 5.2; RFC 7591, section 3.2.2).
func responseError(step Step, where string, a *response) *Error {
	e := &Error{Step: step, URL: redactURL(where), Status: a.status}
	var said struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}
	if jsonexact.Unmarshal(a.body, &said) == nil {
		e.Code, e.Description = sanitize(said.Code), sanitize(said.Description)
	}
	return e
}

// redactURL shows a URL without what may be secret in it.
func redactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return plain.String()
}

// sanitize makes text of a stranger's fit for one line.
func sanitize(text string) string {
	const most = 200
	line := printable.Line(text[:min(len(text), 4*most)])
	if runes := []rune(line); len(runes) > most {
		line = string(runes[:most-1]) + "…"
	}
	return line
}
