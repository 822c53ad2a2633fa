package streamable

import (
	"io"
	"mime"
	"net/http"
	"time"

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
func (c *Conn) do(req *http.Request) (*http.Response, error) {
	if c.silence.begin() { // the connections may be dead
		c.httpClient.CloseIdleConnections()
	}
	resp, err := c.httpClient.Do(req)
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
	c *Conn
}

func (b *activityBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.c.received()
	}
	return n, err
}

// readBody reads a whole response body, up to MaxFrame.
func (c *Conn) readBody(resp *http.Response) ([]byte, error) {
	limit := int64(c.limits.MaxFrame)
	if resp.ContentLength > limit {
		return nil, tooLargeError(resp.ContentLength, limit)
	}
	size := resp.ContentLength
	if size < 0 {
		size = 512
	}
	const maxPrealloc = 64 << 10 // the server need not send what Content-Length claims
	body := make([]byte, 0, min(size, maxPrealloc)+1)
	for {
		n, err := resp.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return nil, tooLargeError(int64(len(body)), limit)
		case err == io.EOF:
			return jsonscan.TrimBOM(body), nil
		case err != nil:
			return nil, cutError(resp.Request, err)
		case len(body) == cap(body):
			body = append(body, 0)[:len(body)]
		}
	}
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
