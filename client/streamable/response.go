package streamable

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// mediaType returns the media type of a response, "" if it has no valid one.
func mediaType(resp *http.Response) string {
	text := resp.Header.Get("Content-Type")
	if text == "application/json" { // the common case
		return text
	}
	kind, _, _ := mime.ParseMediaType(text)
	return kind
}

// do sends a request, and reports activity to the client.
func (c *conn) do(req *http.Request) (*http.Response, error) {
	if c.silence.begin() { // the connections may be dead
		c.httpClient.CloseIdleConnections()
	}
	resp, err := c.roundTrip(req)
	if err != nil {
		c.dropIdle()
		return nil, requestError(req, err)
	}
	c.received()
	resp.Body = &activityBody{resp.Body, c}
	return resp, nil
}

// An activityBody reports to the client when data arrives.
type activityBody struct {
	io.ReadCloser
	c *conn
}

func (b *activityBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.c.received()
	}
	return n, err
}

// readBody reads a whole response body, up to MaxFrame. Its memory doubles until it has the size
// that Content-Length claims, because the server need not send that much.
func (c *conn) readBody(resp *http.Response) ([]byte, error) {
	limit := int64(c.limits.MaxFrame)
	claimed := resp.ContentLength // -1: unknown
	if claimed > limit {
		return nil, tooLargeError(claimed, limit)
	}
	room := int64(512)
	if claimed >= 0 {
		room = claimed + 1 // one more, to read to EOF
	}
	for room > buffer.Small {
		room = (room + 1) / 2
	}
	body := make([]byte, 0, room)
	for {
		n, err := resp.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			err = tooLargeError(int64(len(body)), limit)
		case err == io.EOF:
			if claimed < 0 && cap(body) > buffer.Small { // pooled memory
				defer (&buffer.Buffer{B: body}).Free()
				body = bytes.Clone(body)
			}
			return jsonscan.TrimBOM(body), nil
		case err != nil:
			err = cutError(resp.Request, err)
		case len(body) == cap(body):
			body = growBody(body, claimed)
		}
		if err != nil {
			(&buffer.Buffer{B: body}).Free()
			return nil, err
		}
	}
}

// growBody doubles the memory of a body. It is from the pool if it is large, but not if it may have
// room for the whole body.
func growBody(body []byte, claimed int64) []byte {
	old := &buffer.Buffer{B: body}
	room := 2 * len(body)
	if claimed < 0 || int64(room+room/4) <= claimed { // pooled memory may have a quarter more
		old.Grow(room - len(body))
		return old.B
	}
	defer old.Free()
	return append(make([]byte, 0, max(int(claimed)+1, len(body)+1)), body...)
}

// drainTimeout limits how long a server may take to end a stream after the response, or after a
// cancellation, before the connection is closed.
const drainTimeout = time.Second

// drain reads the rest of a body, up to [maxErrorBody] and [drainTimeout], so that the connection
// can be reused.
func drain(body io.Reader, cancel func()) {
	defer time.AfterFunc(drainTimeout, cancel).Stop()
	_, _ = io.CopyN(io.Discard, body, maxErrorBody)
}
