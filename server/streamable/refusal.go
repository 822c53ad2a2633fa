package streamable

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
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

// movedRefusal refuses what another server has to serve.
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

func unsupportedVersion(requested string) *refusal {
	refused := newRefusal(http.StatusBadRequest, mcp.CodeUnsupportedProtocolVersion,
		"Unsupported protocol version")
	refused.err.Data, _ = mcp.Marshal(
		mcp.UnsupportedProtocolVersionData{Supported: []string{string(mcp.Latest)},
			Requested: requested})
	return refused
}

func sessionNotFound() *refusal {
	return newRefusal(http.StatusNotFound, rpc.CodeInvalidRequest,
		"the session does not exist or has ended; send initialize again")
}

func revokedRefusal() *refusal {
	return (&Refusal{Message: "the credentials are valid no more; send others"}).refusal()
}

// Why requests, streams and sessions end.
var (
	errAnswered     = errors.New("streamable: the request has been answered")
	errDisconnected = errors.New("streamable: the client has disconnected, or does not read")

	errEnded   = errors.New("streamable: the session has ended")
	errDeleted = fmt.Errorf("%w: the client deleted it", errEnded)
	errExpired = fmt.Errorf("%w: it was idle for too long", errEnded)
	errGone    = fmt.Errorf("%w: it is not in the store", errEnded)
	errUnused  = fmt.Errorf("%w: the copy was not needed", errEnded)
	errEvicted = fmt.Errorf("%w: it was idle, and its slot was needed", errEnded)
	// errMoved ends what the server has of a session that it does not own, or not any more.
	errMoved = errors.Join(errEnded, errors.New("another server may own it"))
	// errRevoked ends what belongs to credentials that have ended.
	errRevoked = fmt.Errorf("%w: the credentials of the caller are valid no more", errEnded)
)

var (
	errStore = rpc.Errorf(rpc.CodeBusy,
		"what this server shares with others cannot be reached now; try again in a moment")
	errContended = rpc.Errorf(rpc.CodeBusy,
		"the session is being changed by too many requests at once; try again in a moment")
)
