package streamable

import (
	"bytes"
	"context"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable/internal/forwarding"
)

// An httpRequest is one HTTP request and its response.
type httpRequest struct {
	*Handler
	w             http.ResponseWriter
	r             *http.Request
	principal     string
	memory        requestMemory
	slot          slot
	messageFilter func([]Message) error // nil: all messages are allowed
	expires       time.Time             // of the caller's credentials; zero: never
	credentials   context.Context       // ends with them; nil: never
	forget        func()                // stops waiting for that end; nil: nothing waits
	forwarded     *forwarding.Frame     // of a request that another server passed on; else nil
	deadlines     httpdeadline.Request
	listening     *listenRequest // nil: the request opens no subscription
	conn          *server.Conn   // for the Frame hook; nil: not known yet
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	deadlines := httpdeadline.New(w, r)
	if h.card.Serve(w, r) {
		return
	}
	x := &httpRequest{Handler: h, w: w, r: r, deadlines: deadlines}
	x.memory.handler = h
	defer x.memory.close()
	defer func() {
		if x.forget != nil {
			x.forget()
		}
	}()
	refused := x.serve()
	if refused == nil && x.listening != nil {
		refused = x.listen() // here, where the stack is small: see listenRequest
	}
	if refused != nil {
		x.writeRefusal(refused)
	}
}

// serve answers the request, or returns the refusal to answer it with.
func (x *httpRequest) serve() *refusal {
	if sealed := x.header(forwarding.Header); sealed != "" && x.forwarder != nil {
		if refused := x.acceptForwarded(sealed); refused != nil {
			return refused
		}
	} else {
		if refused := x.checkHostAndOrigin(); refused != nil {
			return refused
		}
		if x.r.Method == http.MethodOptions && x.preflight() {
			return nil
		}
		if refused := x.authenticate(); refused != nil {
			return refused
		}
	}
	switch x.r.Method {
	case http.MethodPost:
		return x.post()
	case http.MethodGet, http.MethodDelete:
		if mcp.EraOf(mcp.Revision(x.header(mcp.HeaderProtocolVersion))) == mcp.Modern {
			return x.methodNotAllowed("POST") // the modern era has neither sessions nor GET streams
		}
		if refused := x.authorizeMessages(nil); refused != nil {
			return refused
		}
		x.deadlines.BodyRead() // the body is not read
		if x.r.Method == http.MethodGet {
			return x.get()
		}
		return x.delete()
	}
	return x.methodNotAllowed("POST, GET, DELETE")
}

func (x *httpRequest) methodNotAllowed(allow string) *refusal {
	return newRefusal(http.StatusMethodNotAllowed, rpc.CodeInvalidRequest,
		"the method %.20q is not for this; want %s", x.r.Method, allow).withHeader("Allow", allow)
}

// header returns the first value of a header, by its canonical name.
func (x *httpRequest) header(name string) string {
	if values := x.r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// post answers a POST: a message of either era, or a batch.
func (x *httpRequest) post() *refusal {
	accepts := x.accepts()
	if !accepts.json && !accepts.stream {
		return newRefusal(http.StatusNotAcceptable, rpc.CodeInvalidRequest,
			"Accept must list application/json and text/event-stream")
	}
	b, refused := x.readBody()
	if refused != nil {
		return refused
	}
	defer b.Free()
	if x.forwarded != nil && !bytes.Equal(x.forwarded.Digest, forwarding.Digest(b.B)) {
		return misdirectedRefusal()
	}
	x.observeBody(b.B)
	if x.isHTTPSSE() {
		return x.postHTTPSSE(b)
	}
	elements, err := rpc.SplitBatch(b.B, maxBatch)
	if err != nil {
		return x.malformed(b, rpc.ID{}, err)
	}
	if elements != nil {
		return x.postBatch(b, elements)
	}
	m, err := rpc.ParseMessage(b.B)
	if err != nil {
		return x.malformed(b, m.ID, err)
	}
	head := readMessageMeta(&m)
	if refused := x.authorizeMessage(&m, head.subject); refused != nil {
		return refused.forRequest(&m)
	}
	if x.isModern(&head) {
		return x.postModern(b, &m, &head, accepts)
	}
	return x.postLegacy(b, &m, accepts)
}

// malformed returns the refusal of an invalid message (JSON-RPC 2.0, section 5). Its id is null if
// the message has no readable id.
func (x *httpRequest) malformed(b *buffer.Buffer, id rpc.ID, err error) *refusal {
	if id.IsZero() {
		id, _ = rpc.ParseID([]byte("null"))
	}
	e, _ := errors.AsType[*rpc.Error](err)
	x.observeStray(b.B, e.Message)
	return &refusal{status: http.StatusBadRequest, err: e, id: id}
}

// acceptedTypes are the content types that the client accepts for a response.
type acceptedTypes struct{ json, stream bool }

// accepts parses the Accept header. The specification requires both types (2026-07-28,
// basic/transports/streamable-http, Sending Messages). A client that lists only one gets that one,
// and a client without the header gets either.
func (x *httpRequest) accepts() acceptedTypes {
	values := x.r.Header["Accept"]
	if len(values) == 0 {
		return acceptedTypes{true, true}
	}
	if len(values) == 1 && values[0] == "application/json, text/event-stream" {
		return acceptedTypes{true, true}
	}
	var a acceptedTypes
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			kind, params, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil && q == 0 {
				continue
			}
			all := kind == "*/*"
			a.json = a.json || all || kind == "application/json" || kind == "application/*"
			a.stream = a.stream || all || kind == "text/event-stream" || kind == "text/*"
		}
	}
	return a
}
