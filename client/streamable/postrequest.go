package streamable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A postRequest is a JSON-RPC request that is sent as a POST. It is in flight until its response
// has been read, with HTTP+SSE until the POST is accepted.
type postRequest struct {
	c         *conn
	id        rpc.ID
	method    string
	params    []byte // part of text
	text      []byte
	modern    bool
	revision  string // of a modern request
	ctx       context.Context
	cancel    context.CancelCauseFunc
	answered  bool        // used by the worker's goroutine only
	sent      bool        // the server may have received it; guarded by c.mu
	streaming atomic.Bool // the response is a stream that is being read
	// cancelled means that the response is no longer needed, but the stream may carry other
	// messages.
	cancelled atomic.Bool
}

// newPostRequest registers a request. It owns text, which m points into.
func (c *conn) newPostRequest(m *rpc.Message, text []byte) *postRequest {
	r := &postRequest{c: c, id: m.ID, method: m.Method, params: m.Params, text: text}
	r.revision, r.modern = jsonscan.Text(
		jsonscan.Member(jsonscan.Member(r.params, "_meta"), mcp.MetaProtocolVersion))
	r.ctx, r.cancel = context.WithCancelCause(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight[r.id] = r
	return r
}

// worker runs a request and then others that come. Reuse saves growing a new stack for net/http for
// each call.
func (c *conn) worker(r *postRequest) {
	for {
		r.run()
		select {
		case c.idleWorkers <- struct{}{}:
		default:
			return // enough workers are idle
		}
		select {
		case r = <-c.requests:
			<-c.idleWorkers
		case <-c.ctx.Done():
			return
		}
	}
}

// run sends the request and reads its response. If there is no response, it delivers the error.
func (r *postRequest) run() {
	c := r.c
	err := r.roundTrip()
	c.mu.Lock()
	delete(c.inFlight, r.id)
	c.mu.Unlock()
	if err != nil && !r.answered {
		_ = c.enqueue(c.ctx, delivery{id: r.id, err: err})
	}
	r.cancel(nil)
}

// roundTrip sends the request and delivers the messages of the response.
func (r *postRequest) roundTrip() error {
	c := r.c
	if r.method != mcp.MethodListen && !r.isHandshake() {
		select {
		case c.callSlots <- struct{}{}:
			defer func() { <-c.callSlots }()
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}
	c.mu.Lock()
	s := c.state
	r.sent = r.method == mcp.MethodInitialize || !s.sessionLost
	c.mu.Unlock()
	switch {
	case !r.sent:
		return client.ErrSessionLost
	case r.method == mcp.MethodInitialize:
		s = legacyState{endpoint: s.endpoint}
	}
	if s.endpoint != nil {
		return r.postHTTPSSE(&s)
	}
	req := c.request(r.ctx, http.MethodPost, r.text, &s)
	if r.modern {
		if err := c.modernHeaders(req.Header, r.revision, r.method, r.params); err != nil {
			return err
		}
	}
	do := c.do
	if idempotentMethods()[r.method] {
		markIdempotent(req.Header)
		do = c.doIdempotent
	}
	resp, err := do(req)
	if r.method == mcp.MethodInitialize && (err != nil || resp.StatusCode/100 != 2) {
		c.markUnanswered()
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		if r.isHandshake() && resp.StatusCode > http.StatusNotImplemented {
			return statusError(resp) // the body says nothing about the era
		}
		err := c.responseError(resp, &s)
		if r.method == mcp.MethodInitialize && c.snapshot().revision == "" && mayBeHTTPSSE(err) {
			return r.tryHTTPSSE(err)
		}
		return r.deliverError(err)
	}
	c.markAccepted(&s, true)
	err = r.readResponse(resp, &s)
	if r.method == mcp.MethodInitialize && err != nil && !r.answered {
		c.markUnanswered()
	}
	return err
}

// cancelAfterStream ends a request that a legacy server has been told to cancel. A stream that is
// being read stays open for [drainTimeout], because the server may cancel its own requests on it.
func (r *postRequest) cancelAfterStream() {
	if r.streaming.Load() {
		time.AfterFunc(drainTimeout, func() { r.cancel(context.Canceled) })
		return
	}
	r.cancel(context.Canceled)
}

// deliverError delivers err as the response if the server sent it as a JSON-RPC error, and returns
// it otherwise.
func (r *postRequest) deliverError(err error) error {
	if answer, ok := errors.AsType[*rpc.Error](err); ok {
		r.answered = true
		return r.c.deliver(r.ctx, rpc.AppendError(nil, r.id, answer))
	}
	return err
}

// readResponse reads a successful HTTP response.
func (r *postRequest) readResponse(resp *http.Response, s *legacyState) error {
	if r.method == mcp.MethodInitialize {
		s.sessionID = resp.Header.Get(mcp.HeaderSessionID)
	}
	switch kind := mediaType(resp); kind {
	case "application/json":
		body, err := r.c.readBody(resp)
		if err != nil {
			return err
		}
		r.inspect(body, s)
		if err := r.c.deliver(r.ctx, body); err != nil || r.answered {
			return err
		}
		return r.protocolError("the JSON body is not a response to the request")
	case "text/event-stream":
		return r.readStream(resp, s)
	case "":
		if resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent ||
			resp.ContentLength == 0 {
			return r.protocolError(statusText(resp.StatusCode) + " without a response")
		}
		return r.protocolError("a response without a Content-Type")
	default:
		return r.protocolError(fmt.Sprintf("Content-Type %.100q instead of application/json "+
			"or text/event-stream: is this the URL of an MCP server?", kind))
	}
}

// inspect records whether a message is the response, before the client receives it. The error means
// that it is not a JSON-RPC message.
func (r *postRequest) inspect(message []byte, s *legacyState) error {
	m, err := rpc.ParseMessage(message)
	if err != nil || !m.IsResponse() {
		return err
	}
	if id, ok := m.ID.Integer(); ok && id == r.id { // the ids of the client are integers
		r.answered = true
		if r.method == mcp.MethodInitialize {
			r.saveSession(&m, s)
		}
	}
	return nil
}

// protocolError returns an [rpc.ErrProtocol] for an invalid response.
func (r *postRequest) protocolError(text string) error {
	return &textError{fmt.Sprintf("POST %s: %s", httpurl.Public(r.c.url), text), rpc.ErrProtocol}
}

func (r *postRequest) isHandshake() bool {
	return r.method == mcp.MethodInitialize || r.method == mcp.MethodDiscover
}
