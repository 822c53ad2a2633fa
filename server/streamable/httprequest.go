package streamable

import (
	"bytes"
	"net/http"

	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/streamable/internal/forwarding"
	"github.com/stdwire/stdwire/server/streamable/internal/origin"
)

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	deadlines := httpdeadline.New(w, r)
	if h.card.Serve(w, r) {
		return
	}
	x := &httpRequest{Handler: h,
		exchange: exchange{w: w, r: r, deadlines: deadlines, observer: h.observer}}
	x.memory.pool = &h.memoryPool
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
		if err := origin.Check(x.w, x.r, x.o.AllowedHosts, x.o.AllowedOrigins); err != nil {
			return newRefusal(http.StatusForbidden, rpc.CodeInvalidRequest, "%v", err)
		}
		if origin.Preflight(x.w, x.r) {
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

// post answers a POST: a message of either era, or a batch.
func (x *httpRequest) post() *refusal {
	accepts := x.accepts()
	if !accepts.json && !accepts.stream {
		return newRefusal(http.StatusNotAcceptable, rpc.CodeInvalidRequest,
			"Accept must list application/json and text/event-stream")
	}
	x.message = x.line.Message(x.principal)
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
	var (
		elements [][]byte
		m        rpc.Message
		head     messageMeta
		err      error
	)
	x.message.Do(len(b.B), func() {
		if elements, err = rpc.SplitBatch(b.B, maxBatch); err != nil || elements != nil {
			return
		}
		if m, err = rpc.ParseMessage(b.B); err == nil {
			head = readMessageMeta(&m)
		}
	})
	if err != nil {
		return x.malformed(b, m.ID, err)
	}
	if elements != nil {
		return x.postBatch(b, elements)
	}
	if refused := x.authorizeMessage(&m, head.subject); refused != nil {
		return refused.forRequest(&m)
	}
	if x.isModern(&head) {
		return x.postModern(b, &m, &head, accepts)
	}
	return x.postLegacy(b, &m, accepts)
}

// observeBody calls the server's Frame hook with the body of the request. At this time only the
// sender and the session id are known.
func (x *httpRequest) observeBody(body []byte) {
	if !x.hooks.CallsFrame() {
		return
	}
	id := x.header(mcp.HeaderSessionID)
	if x.isHTTPSSE() {
		id = x.r.URL.Query().Get(sessionParam)
	}
	if s := x.lookupSession(id); s != nil && s.principal == x.principal {
		x.conn = s.conn
	} else {
		x.conn = x.server.Integration().Stateless(x.principal, mcp.Latest)
	}
	x.observeFrame(x.r.Context(), x.conn, rpc.Inbound, body)
}
