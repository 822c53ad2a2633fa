package streamable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
)

// A Refusal is an error of [Options].Principal, [Options].Authorize or [Caller].AuthorizeMessages
// that determines the response to a refused request.
type Refusal struct {
	Status int // 0: 401 Unauthorized
	// value of the WWW-Authenticate header; "": "Bearer" for a 401, none otherwise
	Challenge string
	Message   string      // sent to the client; "": a general text
	Header    http.Header // additional headers of the response, by canonical name
}

func (r *Refusal) Error() string {
	return "streamable: refused: " + cmp.Or(r.Message, http.StatusText(r.Status))
}

func (r *Refusal) refusal() *refusal {
	status := cmp.Or(r.Status, http.StatusUnauthorized)
	refused := newRefusal(status, rpc.CodeInvalidRequest, "%s",
		cmp.Or(r.Message, "the caller may not call this; send valid credentials"))
	challenge := r.Challenge
	if status == http.StatusUnauthorized {
		challenge = cmp.Or(challenge, "Bearer") // RFC 9110, section 15.5.2, wants one
	}
	if challenge != "" {
		refused.withHeader("WWW-Authenticate", challenge)
	}
	refused.headers = r.Header
	return refused
}

// A refusal is an error response: an HTTP status and a JSON-RPC error.
type refusal struct {
	status  int
	err     *rpc.Error
	id      rpc.ID    // of the refused request; zero: none
	header  [2]string // an additional header; "": none
	headers http.Header
}

func newRefusal(status, code int, format string, args ...any) *refusal {
	return &refusal{status: status, err: rpc.Errorf(code, format, args...)}
}

// shutdownRefusal refuses what another server may answer at once, if there is one, and otherwise
// this one when it has been started again.
func (h *Handler) shutdownRefusal() *refusal {
	after := "5"
	if h.shared != nil || h.o.Replicas {
		after = "1"
	}
	return newRefusal(http.StatusServiceUnavailable, rpc.CodeBusy,
		"the server is shutting down").withHeader("Retry-After", after)
}

// refusalOf returns the refusal that answers a request with ctx whose handler has returned err
// because of a shutdown, or nil.
func (h *Handler) refusalOf(ctx context.Context, id rpc.ID, err error) *refusal {
	if err == nil || !errors.Is(context.Cause(ctx), ErrClosed) {
		return nil
	}
	refused := h.shutdownRefusal().forID(id)
	if e, ok := errors.AsType[*rpc.Error](err); ok && e.Code == rpc.CodeBusy {
		refused.err = e
	} else if ok && e.Code != rpc.CodeInternalError {
		return nil
	}
	return refused
}

// slotRefusal refuses a request for which there is no slot: with 429 if the caller has used its
// share, and with 503 if all are in use.
func slotRefusal(err error, pool *quota.Pool, what, after string) *refusal {
	refused := newRefusal(http.StatusServiceUnavailable, rpc.CodeBusy,
		"%d %s, which is the limit; try again later", pool.Total(), what)
	if errors.Is(err, quota.ErrShare) {
		refused = newRefusal(http.StatusTooManyRequests, rpc.CodeBusy,
			"too many of your %s: your share of the %d places is in use; try again later", what,
			pool.Total())
	}
	return refused.withHeader("Retry-After", after)
}

// withHeader sets the additional header.
func (r *refusal) withHeader(name, value string) *refusal {
	r.header = [2]string{name, value}
	return r
}

// forID sets the id of the refused request.
func (r *refusal) forID(id rpc.ID) *refusal {
	r.id = id
	return r
}

// forRequest sets the id if m is a request. With the id of a response, the client would take the
// error for a response to its own request.
func (r *refusal) forRequest(m *rpc.Message) *refusal {
	if m.IsResponse() {
		return r
	}
	return r.forID(m.ID)
}

func (x *httpRequest) writeRefusal(r *refusal) {
	if r.header[0] != "" {
		x.w.Header().Set(r.header[0], r.header[1])
	}
	maps.Copy(x.w.Header(), r.headers)
	x.w.Header().Set("X-Content-Type-Options", "nosniff")
	text := rpc.AppendError(nil, r.id, r.err)
	if r.id.IsZero() {
		text = withoutID(text)
	}
	x.writeJSON(r.status, text)
}

// withoutID removes the null id from an error that answers no request. MCP omits the id there
// (2025-11-25, basic/transports, Sending Messages to the Server).
func withoutID(text []byte) []byte {
	return bytes.Replace(text, []byte(`"id":null,`), nil, 1)
}

// writeJSON writes a JSON response.
func (x *httpRequest) writeJSON(status int, text []byte) {
	x.observeResponse(text)
	header := x.w.Header()
	header["Content-Type"], header["Cache-Control"] = contentJSON, noStore
	if len(text) > 1024 {
		// net/http sets it for shorter responses
		header["Content-Length"] = []string{strconv.Itoa(len(text))}
	}
	x.w.WriteHeader(status)
	// a failure means that the client is gone
	_, _ = x.deadlines.Writer(len(text)).Write(text)
}

// writeAccepted answers a notification or response with 202.
func (x *httpRequest) writeAccepted() *refusal {
	x.w.WriteHeader(http.StatusAccepted)
	return nil
}

// movedRefusal refuses what another server has to serve.
func (x *httpRequest) movedRefusal() *refusal {
	if x.forwarded != nil {
		return misdirectedRefusal()
	}
	return movedRefusal()
}

func movedRefusal() *refusal {
	return newRefusal(http.StatusServiceUnavailable, rpc.CodeBusy,
		"the server that has this session has changed; what was running has ended, and its outcome "+
			"is unknown; the session goes on").withHeader("Retry-After", "1")
}

// misdirectedRefusal tells a server that what it has passed on has not been begun.
func misdirectedRefusal() *refusal {
	return newRefusal(http.StatusMisdirectedRequest, rpc.CodeInvalidRequest,
		"this server does not own the session, or the request was not passed on to it")
}

// stillRunsRefusal is misdirectedRefusal for a request whose first copy runs here: the session has
// not moved, and the request has to wait.
func stillRunsRefusal() *refusal { return misdirectedRefusal().withHeader("Retry-After", "1") }

var (
	errMisdirected = errors.New("the server there does not own the session, or has ended")
	errStillRuns   = errors.New("the connection to it broke, and the request still runs there")
)

// unreachableRefusal refuses a request that has waited for the owner of its session for too long.
func unreachableRefusal(cause error) *refusal {
	reason := "the server that has this session cannot be reached now"
	if cause == errStillRuns {
		reason = "the connection to the server that has this session broke, and the request still " +
			"runs there"
	}
	return newRefusal(http.StatusServiceUnavailable, rpc.CodeBusy,
		"%s; the session goes on, try again in a moment", reason).withHeader("Retry-After", "1")
}

func unknownOutcome(what string) *refusal {
	return newRefusal(http.StatusConflict, rpc.CodeInvalidRequest,
		"%s may have been begun at a server that cannot be reached any more: its outcome is unknown",
		what)
}
