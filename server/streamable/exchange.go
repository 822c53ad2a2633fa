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
type exchange struct {
	*Handler
	w         http.ResponseWriter
	r         *http.Request
	principal string
	memory    memory
	may       func([]Message) error // nil: everything
	expires   time.Time             // when what has shown who the caller is does so no longer; zero: never
	deadlines httpdeadline.Request
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{Handler: h, w: w, r: r}
	x.memory.handler = h
	x.deadlines = httpdeadline.New(w, r)
	defer x.memory.close()
	if refused := x.serve(); refused != nil {
		x.refuse(refused)
	}
}

// serve answers the request, or returns why it is not answered.
func (x *exchange) serve() *refusal {
	if refused := x.guard(); refused != nil {
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
			return x.notAllowed("POST") // there are neither sessions nor streams of their own in the modern era
		}
		if refused := x.mayAll(nil); refused != nil {
			return refused
		}
		x.deadlines.BodyRead() // nobody reads it
		if x.r.Method == http.MethodGet {
			return x.get()
		}
		return x.delete()
	}
	return x.notAllowed("POST, GET, DELETE")
}

func (x *exchange) notAllowed(allow string) *refusal {
	return refuse(http.StatusMethodNotAllowed, rpc.CodeInvalidRequest, "the method %.20q is not for this; want %s", x.r.Method, allow).with("Allow", allow)
}

// header returns a header by its canonical name.
func (x *exchange) header(name string) string {
	if values := x.r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// post answers a POST: one message, of either era, or a batch.
func (x *exchange) post() *refusal {
	accepts := x.accepts()
	if !accepts.json && !accepts.stream {
		return refuse(http.StatusNotAcceptable, rpc.CodeInvalidRequest, "Accept must list application/json and text/event-stream")
	}
	b, refused := x.read()
	if refused != nil {
		return refused
	}
	defer b.free()
	x.saw(rpc.Inbound, b.text)
	if x.isOld() {
		return x.postOld(b)
	}
	elements, err := rpc.SplitBatch(b.text, maxBatch)
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
	head := readHead(&m)
	if refused := x.mayOne(&m, head.subject); refused != nil {
		return refused.toRequest(&m)
	}
	if x.isModern(&m, &head) {
		return x.postModern(b, &m, &head, accepts)
	}
	return x.postLegacy(b, &m, accepts)
}

// malformed refuses what is no message, as JSON-RPC has it: an id that could not be read is null.
func (x *exchange) malformed(b *body, id rpc.ID, err error) *refusal {
	if id.IsZero() {
		id, _ = rpc.ParseID([]byte("null"))
	}
	e, _ := errors.AsType[*rpc.Error](err)
	x.stray(b.text, e.Message)
	return &refusal{status: http.StatusBadRequest, err: e, id: id}
}
