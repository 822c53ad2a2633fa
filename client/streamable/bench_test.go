package streamable_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A cannedServer is a modern server without a network, whose tools all return the same.
type cannedServer struct{}

func (cannedServer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	result := `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`
	if r.Header.Get(mcp.HeaderMethod) == mcp.MethodDiscover {
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],` +
			`"capabilities":{"tools":{}},"serverInfo":{"name":"canned","version":"1"}}`
	}
	text := `{"jsonrpc":"2.0","id":` + string(jsonscan.Member(body, "id")) + `,"result":` + result +
		`}`
	return &http.Response{StatusCode: http.StatusOK, Request: r,
		Header:        http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(text)), Body: io.NopCloser(strings.NewReader(text))}, nil
}

// newCannedCall returns a function that calls a tool of a cannedServer.
func newCannedCall(t testing.TB) func() {
	c, err := client.Options{Era: mcp.Modern}.Connect(t.Context(),
		streamable.Options{HTTP: &http.Client{Transport: cannedServer{}}}.Dial("http://canned/mcp"))
	assert.NilError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	type arguments struct {
		Text string `json:"text"`
	}
	return func() {
		if _, err := c.CallTool(context.Background(), "echo", arguments{"hello"}); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkCall measures what a call costs beside the transport of net/http. With several calls in
// flight, time is that of all processors.
func BenchmarkCall(b *testing.B) {
	call := newCannedCall(b)
	b.Run("one at a time", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			call()
		}
	})
	b.Run("in parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(12)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				call()
			}
		})
	})
}
