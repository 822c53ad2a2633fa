package streamable_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/streamable"
)

func TestBodyIsBounded(t *testing.T) {
	s := start(t, streamable.Options{MaxBody: 1000})
	long := strings.Repeat("x", 1000)
	assert.Equal(t, s.tool("echo", `{"text":"`+long+`"}`, "").StatusCode, 413)
	// Also a body without Content-Length.
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url,
		io.MultiReader(strings.NewReader(`{"a":"`), strings.NewReader(long)))
	assert.NilError(t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := s.client.Do(req)
	assert.NilError(t, err)
	text, _ := io.ReadAll(res.Body)
	res.Body.Close()
	assert.Equal(t, res.StatusCode, 413)
	assert.Equal(t, string(text),
		`{"jsonrpc":"2.0","error":{"code":-32600,"message":"the body is larger than 1000 bytes"}}`)
	assert.Equal(t, s.tool("echo", `{"text":"`+long[:700]+`"}`, "").StatusCode, 200)
}

func TestRequestsAreBounded(t *testing.T) {
	s := start(t, streamable.Options{MaxRequests: 2})
	c := s.connect("2025-06-18", "")
	answers := make(chan *answer, 2)
	go func() { answers <- s.tool("hold", `{"text":"x"}`, "") }()
	go func() { answers <- c.call("1", "hold", "x", "") }()
	<-s.begun
	<-s.begun
	for _, a := range []*answer{s.tool("echo", `{"text":"x"}`, ""), c.call("2", "echo", "x", ""),
		s.do(t.Context(), "POST", s.url, strings.Replace(initialize, "REVISION", "2025-06-18", 1),
			"")} {
		text := a.text()
		assert.Equal(t, a.StatusCode, 503, text)
		assert.Equal(t, a.Header.Get("Retry-After"), "1")
		assert.Assert(t, strings.Contains(text, `"id":`), text)
	}
	// Responses are no requests: what is being answered may wait for them.
	assert.Equal(t, c.post(`{"jsonrpc":"2.0","id":1,"result":{}}`, "").StatusCode, 202)
	s.release <- struct{}{}
	s.release <- struct{}{}
	for range 2 {
		assert.Equal(t, (<-answers).StatusCode, 200)
	}
	assert.Equal(t, c.call("1", "echo", "x", "").StatusCode, 200)
}

func TestStreamsAreBounded(t *testing.T) {
	s := start(t, streamable.Options{MaxStreams: 2})
	c := s.connect("2025-06-18", "")
	get := c.get("").isStream()
	listen := s.modern("subscriptions/listen", "", `"notifications":{},`, "").isStream()
	listen.event("acknowledged")
	assert.Equal(t, c.get("").StatusCode, 503)
	a := s.modern("subscriptions/listen", "", `"notifications":{},`, "")
	assert.Equal(t, a.StatusCode, 503)
	assert.Assert(t, strings.HasPrefix(a.text(), `{"jsonrpc":"2.0","id":1,"error":{`))
	assert.Equal(t, c.call("1", "echo", "x", "").StatusCode, 200)
	get.Body.Close()
	for c.get("").StatusCode == 503 { // until the server has noticed
	}
}

// A thousand calls at once, of both eras, each gets its own answer.
func TestThousandAtOnce(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-11-25", "")
	var wg sync.WaitGroup
	errs := make(chan error, 1000)
	for i := range 1000 {
		wg.Go(func() { errs <- s.holdOne(c, i) })
	}
	for range 1000 {
		<-s.begun
	}
	close(s.release)
	wg.Wait()
	close(errs)
	for err := range errs {
		assert.NilError(t, err)
	}
}

// holdOne calls the tool that waits, in an era, as a stream or not, and checks the answer.
func (s *site) holdOne(c *client, i int) error {
	text := fmt.Sprint("number ", i)
	body, lines := toolCall("hold", text), header(modernTool+"hold")
	if i%2 == 0 {
		body = fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"hold","arguments":{"text":%q}}}`,
			i, text)
		lines = header("Mcp-Session-Id: " + c.id)
	}
	req, err := http.NewRequest("POST", s.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if i%3 == 0 {
		req.Header.Set("Accept", "text/event-stream")
	}
	lines.apply(req.Header)
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err == nil && !strings.Contains(string(got), `"`+text+`"`) {
		err = fmt.Errorf("%s is not in %s", text, got)
	}
	return err
}

func TestCloseTwice(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-06-18", "")
	s.handler.Close()
	s.handler.Close()
	assert.NilError(t, s.handler.Shutdown(t.Context()))
	assert.Equal(t, c.call("1", "echo", "x", "").StatusCode, 404)
	assert.Equal(t, s.tool("echo", `{"text":"x"}`, "").StatusCode, 503)
	assert.Equal(t, s.do(t.Context(), "POST", s.url,
		strings.Replace(initialize, "REVISION", "2025-06-18", 1), "").StatusCode, 503)
}
