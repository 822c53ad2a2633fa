package streamable

import (
	"errors"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An exchange is one HTTP request and its answer.
type httpRequest struct {
	*Handler
	w             http.ResponseWriter
	r             *http.Request
	principal     string
	memory        requestMemory
	messageFilter func([]Message) error // nil: everything
	expires       time.Time             // when what has shown who the caller is does so no longer; zero: never
	bodyTimeout   time.Duration         // how long the body may take to come, 0 if it is here
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &httpRequest{Handler: h, w: w, r: r}
	x.memory.handler = h
	x.bodyTimeout = httpdeadline.SetBody(w, r)
	defer x.memory.close()
	if refused := x.serve(); refused != nil {
		x.writeRefusal(refused)
	}
}

// serve answers the request, or returns why it is not answered.
func (x *httpRequest) serve() *refusal {
	if refused := x.checkHostAndOrigin(); refused != nil {
		return refused
	}
	if x.r.Method == http.MethodOptions && x.preflight() {
		return nil
	}
	if refused := x.authenticate(); refused != nil {
		return refused
	}
	switch x.r.Method {
	case http.MethodPost:
		return x.post()
	case http.MethodGet, http.MethodDelete:
		if mcp.EraOf(mcp.Revision(x.header(mcp.HeaderProtocolVersion))) == mcp.Modern {
			return x.methodNotAllowed("POST") // there are neither sessions nor streams of their own in the modern era
		}
		if refused := x.authorizeMessages(nil); refused != nil {
			return refused
		}
		x.clearBodyDeadline() // nobody reads it
		if x.r.Method == http.MethodGet {
			return x.get()
		}
		return x.delete()
	}
	return x.methodNotAllowed("POST, GET, DELETE")
}

func (x *httpRequest) methodNotAllowed(allow string) *refusal {
	return newRefusal(http.StatusMethodNotAllowed, rpc.CodeInvalidRequest, "the method %.20q is not for this; want %s", x.r.Method, allow).withHeader("Allow", allow)
}

// header returns a header by its canonical name.
func (x *httpRequest) header(name string) string {
	if values := x.r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// post answers a POST: one message, of either era, or a batch.
func (x *httpRequest) post() *refusal {
	accepts := x.accepts()
	if !accepts.json && !accepts.stream {
		return newRefusal(http.StatusNotAcceptable, rpc.CodeInvalidRequest, "Accept must list application/json and text/event-stream")
	}
	b, refused := x.readBody()
	if refused != nil {
		return refused
	}
	defer b.free()
	x.observeFrame(rpc.Inbound, b.text)
	if x.isHTTPSSE() {
		return x.postHTTPSSE(b)
	}
	elements, err := rpc.Elements(b.text, maxBatch)
	if err != nil {
		return x.malformed(b, rpc.ID{}, err)
	}
	if elements != nil {
		return x.postBatch(b, elements)
	}
	m, err := rpc.ParseMessage(b.text)
	if err != nil {
		return x.malformed(b, m.ID, err)
	}
	head := readMessageMeta(&m)
	if refused := x.authorizeMessage(&m, head.subject); refused != nil {
		return refused.forRequest(&m)
	}
	if x.isModern(&m, &head) {
		return x.postModern(b, &m, &head, accepts)
	}
	return x.postLegacy(b, &m, accepts)
}

// malformed refuses what is no message, as JSON-RPC has it: an id that could not be read is null.
func (x *httpRequest) malformed(b *body, id rpc.ID, err error) *refusal {
	if id.IsZero() {
		id, _ = rpc.ParseID([]byte("null"))
	}
	e, _ := errors.AsType[*rpc.Error](err)
	x.observeStray(b.text, e.Message)
	return &refusal{status: http.StatusBadRequest, err: e, id: id}
}
