package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/sse"
	"github.com/stdwire/stdwire/rpc"
)

// maxErrorBody limits how much is read of a body that is not a JSON-RPC message.
const maxErrorBody = 64 << 10

// A StatusError means that the server, or a proxy in front of it, answered with an unsuccessful
// HTTP status and without a JSON-RPC error. [errors.As] finds it in a [*client.CallError] or
// [*client.StartError].
//
// It matches [rpc.ErrProtocol] if servers use the status for messages that they do not understand
// (400, 404, 405 and others up to 501), so that a client which does not know the server's era may
// try the older one. It does not match for 401, 403, 407, 408, 429, and 502 and above.
//
// A 401 without a challenge and a 400 without a JSON-RPC error match [client.ErrSessionRefused] if
// an earlier request of the session was answered.
type StatusError struct {
	Method string // POST, GET or DELETE
	URL    string // without user, query and fragment, which may be secret
	Status int
	Header http.Header // of the response, with WWW-Authenticate and Retry-After
	Text   string      // the beginning of the body, on one line, safe to print

	sessionLost    bool // the server does not know the session of the request
	sessionRefused bool // that may be the reason
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s %s: %s", e.Method, e.URL, statusText(e.Status))
	if e.Text != "" {
		text += ": " + strconv.Quote(e.Text)
	}
	if wait := e.Header.Get("Retry-After"); wait != "" {
		text += fmt.Sprintf(" (Retry-After: %.40s)", printable.Line(wait))
	}
	return text
}

// transportStatuses say nothing about the message, whatever the body contains.
var transportStatuses = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired,
	http.StatusRequestTimeout, http.StatusTooManyRequests,
}

func (e *StatusError) Is(target error) bool {
	return e.sessionRefused && target == client.ErrSessionRefused ||
		target == rpc.ErrProtocol && e.Status >= 400 && e.Status <= http.StatusNotImplemented &&
			!slices.Contains(transportStatuses, e.Status)
}

// ErrDisconnected matches the error of a call whose connection ended before the response. The
// server may have performed the request.
var ErrDisconnected = errors.New("the connection ended before the response")

// statusText returns the number and text of an HTTP status.
func statusText(code int) string {
	if text := http.StatusText(code); text != "" {
		return fmt.Sprintf("%d %s", code, text)
	}
	return strconv.Itoa(code)
}

// A textError replaces the text of the error it wraps.
type textError struct {
	text string
	err  error
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.err }

// serverClosedIdle is the text of an error that net/http does not export: the server closed a
// connection when part of the request had been written to it.
const serverClosedIdle = "http: server closed idle connection"

// http2Prefix begins the text of errors of an HTTP/2 connection, which net/http does not export
// either, such as that of a ping without an answer.
const http2Prefix = "http2: "

// requestError returns the error of a request without a response. It omits the URL's secret parts.
func requestError(req *http.Request, err error) error {
	if cause := context.Cause(req.Context()); cause != nil {
		return cause
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if op, _ := errors.AsType[*net.OpError](err); errors.Is(err, io.ErrUnexpectedEOF) ||
		op != nil && op.Op == "read" || err.Error() == serverClosedIdle ||
		strings.HasPrefix(err.Error(), http2Prefix) {
		return fmt.Errorf("%s %s: %w: %w", req.Method, httpurl.Public(req.URL), ErrDisconnected, err)
	}
	return fmt.Errorf("%s %s: %w", req.Method, httpurl.Public(req.URL), err)
}

// cutError returns the error for a response body that could not be read to its end.
func cutError(req *http.Request, err error) error {
	if cause := context.Cause(req.Context()); cause != nil {
		return cause
	}
	return fmt.Errorf("%s %s: %w: %w", req.Method, httpurl.Public(req.URL), ErrDisconnected, err)
}

func tooLargeError(size, limit int64) error {
	return &client.TooLargeError{Size: size, Limit: int(limit)}
}

// eventLimitError returns the error for an event over a limit.
func eventLimitError(limit *sse.LimitError) error {
	if limit.Field == "data" {
		return tooLargeError(int64(limit.Limit)+1, int64(limit.Limit))
	}
	text := fmt.Sprintf("the server sent an event whose %s has more than %d bytes", limit.Field,
		limit.Limit)
	return &textError{text, rpc.ErrProtocol}
}

// responseError returns the error for an unsuccessful response: the [*rpc.Error] in its body,
// [client.ErrSessionLost], or a [*StatusError].
func (c *conn) responseError(resp *http.Response, s *legacyState) error {
	var text []byte
	if resp.StatusCode != http.StatusNotFound || s.sessionID == "" {
		// there, the status alone means a lost session
		text, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		text = jsonscan.TrimBOM(text)
	}
	if s.sessionID != "" && isSessionLost(resp, text, s.accepted) {
		c.markSessionLost(s.sessionID)
		return client.ErrSessionLost
	}
	m, err := rpc.ParseMessage(text)
	hasError := err == nil && m.Error != nil
	// A proxy may answer 429 as well, but not with this code: see [rpc.CodeBusy].
	isBusy := hasError && resp.StatusCode == http.StatusTooManyRequests &&
		m.Error.Code == rpc.CodeBusy
	if hasError && !slices.Contains(transportStatuses, resp.StatusCode) || isBusy {
		return m.Error
	}
	refused := newStatusError(resp, text)
	refused.sessionRefused = s.answered && (resp.StatusCode == http.StatusBadRequest ||
		resp.StatusCode == http.StatusUnauthorized && !hasChallenge(resp))
	return refused
}

// statusError returns a [*StatusError] for a response whose body has not been read.
func statusError(resp *http.Response) *StatusError {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	return newStatusError(resp, text)
}

func newStatusError(resp *http.Response, text []byte) *StatusError {
	e := &StatusError{
		Method: resp.Request.Method, URL: httpurl.Public(resp.Request.URL).String(),
		Status: resp.StatusCode, Header: resp.Header, sessionLost: isSessionLost(resp, text, true),
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/html" {
		const maxRunes = 200
		shown, ok := errorMessage(text)
		if !ok {
			shown = string(bytes.TrimSpace(text))
		}
		e.Text = printable.TruncateRunes(printable.Line(shown[:min(len(shown), 4*maxRunes)]),
			maxRunes)
	}
	return e
}

// errorMessage returns the message of a response that is an error of JSON-RPC.
func errorMessage(text []byte) (message string, ok bool) {
	if jsonscan.Valid(text) != nil {
		return "", false
	}
	return jsonscan.Text(jsonscan.Member(jsonscan.Member(text, "error"), "message"))
}
