package streamable_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A fixedResponse transport performs the handshake, and responds to calls and GETs with a given
// response.
type fixedResponse struct {
	status     int
	kind, body string
}

func (f *fixedResponse) RoundTrip(r *http.Request) (*http.Response, error) {
	asked, _ := io.ReadAll(bodyOf(r))
	status, kind, body := f.status, f.kind, f.body
	switch {
	case strings.Contains(string(asked), `"method":"initialize"`):
		status, kind, body = 200, "application/json", `{"jsonrpc":"2.0","id":1,"result":`+
			initialized+`}`
	case strings.Contains(string(asked), `"method":"server/discover"`):
		status, kind, body = 200, "application/json", `{"jsonrpc":"2.0","id":1,"result":`+
			discovered+`}`
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {kind}, "Mcp-Session-Id": {"s"}},
		ContentLength: -1, Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

func bodyOf(r *http.Request) io.Reader {
	if r.Body == nil {
		return strings.NewReader("")
	}
	return r.Body
}

// Whatever a server responds, a call ends with a result or an error, and leaves nothing behind.
func FuzzResponse(f *testing.F) {
	whole := `{"jsonrpc":"2.0","id":2,"result":` + text + `}`
	for _, body := range []string{whole, "data: " + whole + "\n\n", "id: 1\nretry: 5\ndata: {}\n\n",
		"event: endpoint\ndata: /x\n\n", "", "[" + whole + "]", "{", "null", "\xff\x00",
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`} {
		for _, kind := range []string{"application/json", "text/event-stream", "text/html", ""} {
			for _, status := range []int{200, 202, 400, 404, 500} {
				f.Add(status, kind, body, status == 200)
			}
		}
	}
	f.Fuzz(func(t *testing.T, status int, kind, body string, modern bool) {
		synctest.Test(t, func(t *testing.T) {
			o := client.Options{Era: mcp.Legacy, CallTimeout: time.Minute,
				Limits: limitFrame(1 << 16), Logger: slog.New(slog.DiscardHandler)}
			if modern {
				o.Era = mcp.Modern
			}
			transport := streamable.Options{
				HTTP: &http.Client{Transport: &fixedResponse{status, kind, body}}}.Dial(
				"http://pipe/mcp")
			c, err := o.Connect(t.Context(), transport)
			assert.NilError(t, err)
			began := time.Now()
			for range 2 {
				_, err = c.CallTool(context.Background(), "weather", nil)
				var failed *client.CallError
				assert.Assert(t, err == nil || errors.As(err, &failed))
			}
			assert.Assert(t, time.Since(began) <= 2*time.Minute)
			assert.NilError(t, c.Close())
			assert.NilError(t, c.Wait())
		})
	})
}
