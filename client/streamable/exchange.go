package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An exchange is a request of the client's on its way, until all that the server has to say to it was heard.
type postRequest struct {
	c         *Conn
	id        rpc.ID
	method    string
	params    []byte // of text
	text      []byte
	modern    bool
	revision  string // that a modern request names
	ctx       context.Context
	cancel    context.CancelCauseFunc
	answered  bool        // used by run only
	sent      bool        // the server may have got it; under c.mu
	streaming atomic.Bool // the answer is a stream that is being heard
	cancelled atomic.Bool // nobody waits for the answer, but there may be something else on the stream
}

// newPostRequest takes note of a request, m, whose text it owns.
func (c *Conn) newPostRequest(m *rpc.Message, text []byte) *postRequest {
	x := &postRequest{c: c, id: m.ID, method: m.Method, params: m.Params, text: text}
	x.revision, x.modern = jsonscan.Text(jsonscan.Member(jsonscan.Member(x.params, "_meta"), mcp.MetaProtocolVersion))
	x.ctx, x.cancel = context.WithCancelCause(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight[x.id] = x
	return x
}

// worker does an exchange, and then others as they come, so that not every call has to grow a stack as large as net/http wants it.
func (c *Conn) worker(x *postRequest) {
	for {
		x.run()
		select {
		case c.idleWorkers <- struct{}{}:
		default:
			return // enough of them rest
		}
		select {
		case x = <-c.requests:
			<-c.idleWorkers
		case <-c.ctx.Done():
			return
		}
	}
}

// run is the life of an exchange. Its last word is that there will be no answer; where there was one, nobody listens any more.
func (x *postRequest) run() {
	c := x.c
	err := x.roundTrip()
	c.mu.Lock()
	delete(c.inFlight, x.id)
	c.mu.Unlock()
	if err != nil && !x.answered {
		_ = c.enqueue(c.ctx, delivery{id: x.id, err: err})
	}
	x.cancel(nil)
}

// roundTrip sends the request and hears the answer.
func (x *postRequest) roundTrip() error {
	c := x.c
	if x.method != mcp.MethodListen && !x.isHandshake() {
		select {
		case c.callSlots <- struct{}{}:
			defer func() { <-c.callSlots }()
		case <-x.ctx.Done():
			return context.Cause(x.ctx)
		}
	}
	c.mu.Lock()
	s := c.state
	x.sent = x.method == mcp.MethodInitialize || !s.sessionLost
	c.mu.Unlock()
	switch {
	case !x.sent:
		return client.ErrSessionLost
	case x.method == mcp.MethodInitialize:
		s = legacyState{endpoint: s.endpoint}
	}
	if s.endpoint != nil {
		return x.postHTTPSSE(&s)
	}
	req := c.request(x.ctx, http.MethodPost, x.text, &s)
	if x.modern {
		if err := c.modernHeaders(req.Header, x.revision, x.method, x.params); err != nil {
			return err
		}
	}
	if idempotentMethods[x.method] {
		markIdempotent(req.Header)
	}
	resp, err := c.do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		if x.isHandshake() && resp.StatusCode > http.StatusNotImplemented {
			return statusError(resp) // whatever is written into it, it says nothing of the era
		}
		err := c.responseError(resp, &s)
		if x.method == mcp.MethodInitialize && c.snapshot().revision == "" && mayBeHTTPSSE(err) {
			return x.tryHTTPSSE(err)
		}
		return x.deliverError(err)
	}
	return x.readResponse(resp, &s)
}

// cancelAfterStream ends an exchange with a legacy server that has been told that the answer is not wanted any more. A stream that is heard already is heard for a moment longer: what the
// server has asked for the sake of the request, it takes back there.
func (x *postRequest) cancelAfterStream() {
	if x.streaming.Load() {
		time.AfterFunc(drainTimeout, func() { x.cancel(context.Canceled) })
		return
	}
	x.cancel(context.Canceled)
}

// deliverError takes the refusal of the request: an error that the server has written, or why there is none.
func (x *postRequest) deliverError(err error) error {
	if answer, ok := errors.AsType[*rpc.Error](err); ok {
		x.answered = true
		return x.c.deliver(x.ctx, rpc.AppendError(nil, x.id, answer))
	}
	return err
}

// readResponse takes the answer of a server that has accepted the request.
func (x *postRequest) readResponse(resp *http.Response, s *legacyState) error {
	if x.method == mcp.MethodInitialize {
		s.sessionID = resp.Header.Get(mcp.HeaderSessionID)
	}
	switch kind := mediaType(resp); kind {
	case "application/json":
		body, err := x.c.readBody(resp)
		if err != nil {
			return err
		}
		x.inspect(body, s)
		if err := x.c.deliver(x.ctx, body); err != nil || x.answered {
			return err
		}
		return x.protocolError(rpc.ErrProtocol, "answered with JSON that is no answer to it")
	case "text/event-stream":
		return x.readStream(resp, s)
	case "":
		if resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent || resp.ContentLength == 0 {
			return x.protocolError(rpc.ErrProtocol, fmt.Sprintf("%s, and no answer", statusText(resp.StatusCode)))
		}
		return x.protocolError(rpc.ErrProtocol, "an answer without a Content-Type")
	default:
		return x.protocolError(rpc.ErrProtocol, fmt.Sprintf("the Content-Type %.100q in place of application/json or text/event-stream: is that the URL of an MCP server?", kind))
	}
}

// mediaType is what an answer says that it is made of; "" if it does not say.
func mediaType(resp *http.Response) string {
	text := resp.Header.Get("Content-Type")
	if text == "application/json" { // most are, to the letter
		return text
	}
	kind, _, _ := mime.ParseMediaType(text)
	return kind
}

// inspect sees whether a message is the answer, before the client gets it. The error is that of one that is no message at all.
func (x *postRequest) inspect(message []byte, s *legacyState) error {
	m, err := rpc.ParseMessage(message)
	if err == nil && m.IsResponse() && m.ID == x.id {
		x.answered = true
		if x.method == mcp.MethodInitialize {
			x.saveSession(&m, s)
		}
	}
	return err
}

// protocolError says what is wrong with an answer.
func (x *postRequest) protocolError(err error, what string) error {
	return &textError{fmt.Sprintf("POST %s: %s", redactURL(x.c.url), what), err}
}

func (x *postRequest) isHandshake() bool {
	return x.method == mcp.MethodInitialize || x.method == mcp.MethodDiscover
}

// saveSession keeps what the answer to initialize, m, says of the connection, before the client gets it. A session in place of one that was lost is open for requests only
// when the server has been told notifications/initialized.
func (x *postRequest) saveSession(m *rpc.Message, s *legacyState) {
	revision, _ := jsonscan.Text(jsonscan.Member(m.Result, "protocolVersion"))
	if mcp.EraOf(mcp.Revision(revision)) != mcp.Legacy {
		return // an error, or no answer that the client can take
	}
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	x.c.state.revision, x.c.state.sessionID = revision, s.sessionID
}

// do makes a request, and notes that the server has answered.
func (c *Conn) do(req *http.Request) (*http.Response, error) {
	resp, err := c.httpClient.Do(req)
	if err != nil {
		return nil, requestError(req, err)
	}
	c.link.Heard()
	resp.Body = &activityBody{resp.Body, c.link}
	return resp, nil
}

// A heardBody notes when something comes.
type activityBody struct {
	io.ReadCloser
	link *client.Link
}

func (b *activityBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.link.Heard()
	}
	return n, err
}

// readBody reads the whole of an answer, within the limit for messages.
func (c *Conn) readBody(resp *http.Response) ([]byte, error) {
	most := int64(c.limits.MaxFrame)
	if resp.ContentLength > most {
		return nil, tooLargeError(resp.ContentLength, most)
	}
	room := resp.ContentLength
	if room < 0 {
		room = 512
	}
	const ahead = 64 << 10 // what is claimed is made room for in advance up to this
	body := make([]byte, 0, min(room, ahead)+1)
	for {
		n, err := resp.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > most:
			return nil, tooLargeError(int64(len(body)), most)
		case err == io.EOF:
			return body, nil
		case err != nil:
			return nil, cutError(resp.Request, err)
		case len(body) == cap(body):
			body = append(body, 0)[:len(body)]
		}
	}
}

// drainTimeout is how long a server may take to end a stream behind the answer, or when none is wanted any more, before the connection is given up.
const drainTimeout = time.Second

// drain reads what is left of an answer that nobody wants, so that the connection can be used again; but not too much, and not for long.
func drain(body io.Reader, giveUp func()) {
	defer time.AfterFunc(drainTimeout, giveUp).Stop()
	_, _ = io.CopyN(io.Discard, body, maxErrorBody)
}
