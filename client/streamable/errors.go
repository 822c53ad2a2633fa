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

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/sse"
	"github.com/stdwire/stdwire/rpc"
)

// maxErrorBody is how much of an answer that is no message is read.
const maxErrorBody = 64 << 10

// A StatusError says that the server, or what stands before it, refused a request with an HTTP status, and without an error of the protocol. It is found in a
// [*client.CallError] or [*client.StartError] with [errors.As].
//
// It matches [rpc.ErrProtocol] if the status is one that servers have for what they do not understand (400, 404, 405 and their like, 500, 501), and not if it is about
// something else: 401, 403, 407, 408, 429, 502 and above. Only the former let a client that does not know the era try the older one.
type StatusError struct {
	Method string // POST, GET or DELETE
	URL    string // without user, query and fragment, which may be secret
	Status int
	Header http.Header // of the answer: WWW-Authenticate, Retry-After
	Text   string      // the beginning of the answer, on one line, fit to be printed

	sessionLost bool // the server does not know the session, if one was named
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

// transportStatuses are the statuses that say nothing of the message, whatever is written into the answer.
var transportStatuses = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooManyRequests,
}

func (e *StatusError) Is(target error) bool {
	return target == rpc.ErrProtocol && e.Status >= 400 && e.Status <= http.StatusNotImplemented && !slices.Contains(transportStatuses, e.Status)
}

// ErrDisconnected matches the error of a call whose answer was cut off: the server has got it, and may have done what it says.
var ErrDisconnected = errors.New("the connection ended before the answer")

// statusText shows an HTTP status.
func statusText(code int) string {
	if text := http.StatusText(code); text != "" {
		return fmt.Sprintf("%d %s", code, text)
	}
	return strconv.Itoa(code)
}

// An answerError has a text of its own in place of that of the error it wraps.
type textError struct {
	text string
	err  error
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.err }

// requestError is the error of a request that got no answer, without what may be secret in the URL.
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
	if op, _ := errors.AsType[*net.OpError](err); errors.Is(err, io.ErrUnexpectedEOF) || op != nil && op.Op == "read" {
		return fmt.Errorf("%s %s: %w: %w", req.Method, redactURL(req.URL), ErrDisconnected, err)
	}
	return fmt.Errorf("%s %s: %w", req.Method, redactURL(req.URL), err)
}

// cutError is the error of an answer whose reading failed.
func cutError(req *http.Request, err error) error {
	if cause := context.Cause(req.Context()); cause != nil {
		return cause
	}
	return fmt.Errorf("%s %s: %w: %w", req.Method, redactURL(req.URL), ErrDisconnected, err)
}

func tooLargeError(size, limit int64) error {
	return &client.TooLargeError{Size: size, Limit: int(limit)}
}

// eventLimitError is the error for an event that is over a limit.
func eventLimitError(limit *sse.LimitError) error {
	if limit.Field == "data" {
		return tooLargeError(int64(limit.Limit)+1, int64(limit.Limit))
	}
	return &textError{fmt.Sprintf("the server sent an event whose %s has more than %d bytes", limit.Field, limit.Limit), rpc.ErrProtocol}
}

// responseError makes an error of an answer with a status that is none of success: that which the server has written into it, an [*rpc.Error]; that it has forgotten the
// session; or a [*StatusError].
func (c *Conn) responseError(resp *http.Response, s *legacyState) error {
	var text []byte
	if resp.StatusCode != http.StatusNotFound || s.sessionID == "" { // which is said with the status alone
		text, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	}
	if s.sessionID != "" && isSessionLost(resp, text) {
		c.markSessionLost(s.sessionID)
		return client.ErrSessionLost
	}
	m, err := rpc.ParseMessage(text)
	said := err == nil && m.Error != nil
	// A 429 may come from something in front of the server, but not with this code: see [rpc.CodeBusy].
	busy := said && resp.StatusCode == http.StatusTooManyRequests && m.Error.Code == rpc.CodeBusy
	if said && !slices.Contains(transportStatuses, resp.StatusCode) || busy {
		return m.Error
	}
	return newStatusError(resp, text)
}

// statusError makes a [*StatusError] of an answer.
func statusError(resp *http.Response) *StatusError {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	return newStatusError(resp, text)
}

func newStatusError(resp *http.Response, text []byte) *StatusError {
	e := &StatusError{Method: resp.Request.Method, URL: redactURL(resp.Request.URL), Status: resp.StatusCode, Header: resp.Header, sessionLost: isSessionLost(resp, text)}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/html" {
		const most = 200
		line := printable.Line(string(bytes.TrimSpace(text[:min(len(text), 4*most)])))
		if runes := []rune(line); len(runes) > most {
			line = string(runes[:most-1]) + "…"
		}
		e.Text = line
	}
	return e
}
