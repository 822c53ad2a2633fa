package streamable

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"net/http"
	"strconv"

	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/rpc"
)

// A Refusal is an error of [Options].Principal, of [Options].Authorize and of [Caller].May that says how the request is refused.
type Refusal struct {
	Status    int         // 0: 401 Unauthorized
	Challenge string      // the WWW-Authenticate header; "": "Bearer" for a 401, none otherwise
	Message   string      // shown to the client; "": a text that says nothing more
	Header    http.Header // more of the answer's headers, by their canonical names
}

func (r *Refusal) Error() string {
	return "streamable: refused: " + cmp.Or(r.Message, http.StatusText(r.Status))
}

func (r *Refusal) refusal() *refusal {
	status := cmp.Or(r.Status, http.StatusUnauthorized)
	refused := newRefusal(status, rpc.CodeInvalidRequest, "%s", cmp.Or(r.Message, "the caller may not call this; send valid credentials"))
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

// A refusal is why a request is not answered: a status, and an error for who reads bodies.
type refusal struct {
	status  int
	err     *rpc.Error
	id      rpc.ID    // of the request; zero if that is not the matter
	header  [2]string // one more, "" for none
	headers http.Header
}

func newRefusal(status, code int, format string, args ...any) *refusal {
	return &refusal{status: status, err: rpc.Errorf(code, format, args...)}
}

func shutdownRefusal() *refusal {
	return newRefusal(http.StatusServiceUnavailable, rpc.CodeBusy, "the server is shutting down").withHeader("Retry-After", "5")
}

// slotRefusal refuses what a pool of places has refused: with 429 where the caller has its share of
// them, and with 503 where all are taken.
func slotRefusal(err error, pool *quota.Pool, what, after string) *refusal {
	refused := newRefusal(http.StatusServiceUnavailable, rpc.CodeBusy, "%d %s, which are as many as may be; try again later", pool.Total(), what)
	if errors.Is(err, quota.ErrShare) {
		refused = newRefusal(http.StatusTooManyRequests, rpc.CodeBusy, "as many of your %s as your share of %d places allows; try again later", what, pool.Total())
	}
	return refused.withHeader("Retry-After", after)
}

// withHeader adds a header.
func (r *refusal) withHeader(name, value string) *refusal {
	r.header = [2]string{name, value}
	return r
}

// forID says which request is refused.
func (r *refusal) forID(id rpc.ID) *refusal {
	r.id = id
	return r
}

// forRequest is to, if m is a request; an error under the id of a response would be taken for an answer to it.
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

// withoutID takes the id out of an error that answers no request: MCP has none there, rather than null (2025-11-25, basic/transports, Sending Messages to the Server).
func withoutID(text []byte) []byte {
	return bytes.Replace(text, []byte(`"id":null,`), nil, 1)
}

// writeJSON sends a whole JSON answer.
func (x *httpRequest) writeJSON(status int, text []byte) {
	x.observeFrame(rpc.Outbound, text)
	header := x.w.Header()
	header["Content-Type"], header["Cache-Control"] = contentJSON, noStore
	if len(text) > 1024 {
		header["Content-Length"] = []string{strconv.Itoa(len(text))} // net/http does it for what is shorter
	}
	x.w.WriteHeader(status)
	_, _ = httpdeadline.NewWriter(x.w, len(text), x.bodyTimeout).Write(text) // a failure means that the client is gone
}

// writeAccepted answers what has no answer.
func (x *httpRequest) writeAccepted() *refusal {
	x.w.WriteHeader(http.StatusAccepted)
	return nil
}
