package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// echoServer returns a server whose tools return their text, made in each way to make a tool.
func echoServer(b testing.TB, o server.Options) *server.Server {
	c := dispatch.NewCatalog()
	echo := func(_ context.Context, in report) (report, error) { return in, nil }
	dispatch.Add(c, dispatch.Spec{Name: "echo", Summary: "Echo.", Type: dispatch.Read}, echo)
	s := o.New(server.Info{Name: "echo", Version: "1"}, c)
	server.AddTool(s, mcp.Tool{Name: "typed"}, echo)
	result := json.RawMessage(`{"content":[{"type":"text","text":"text"}],"isError":false}`)
	must(b, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "raw"},
		Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("text")}}, nil
		}}))
	must(b, s.Integration().AddItem(forwarded(mcp.Tool{Name: "forwarded"},
		func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return result, nil
		})))
	return s
}

// requestsOver returns a function that sends a request over pipes to a server in the same process,
// and reads the response, which must be a result.
func requestsOver(t testing.TB, s *server.Server, method, params string) func() {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(context.Background(), stream{r1, w2}) }()
	t.Cleanup(func() {
		w1.Close()
		must(t, <-ended)
	})
	in := bufio.NewReaderSize(r2, 4<<20)
	frame := []byte(`{"jsonrpc":"2.0","id":123456789,"method":"` + method + `","params":{` +
		params + `"_meta":{` + modern + "}}}\n")
	return func() {
		_, err := w1.Write(frame)
		must(t, err)
		response, err := in.ReadSlice('\n')
		must(t, err)
		if !bytes.HasPrefix(response, []byte(`{"jsonrpc":"2.0","id":123456789,"result":`)) ||
			bytes.Contains(response, []byte(`"isError":true`)) {
			t.Fatalf("%.200s", response)
		}
	}
}

// benchmarkRequests measures requests, one at a time.
func benchmarkRequests(b *testing.B, s *server.Server, method, params string) {
	request := requestsOver(b, s, method, params)
	b.ReportAllocs()
	for b.Loop() {
		request()
	}
}

// BenchmarkCallTool measures typed and validated calls of several sizes.
func BenchmarkCallTool(b *testing.B) {
	for _, size := range []int{64, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			benchmarkRequests(b, echoServer(b, quiet), "tools/call",
				`"name":"echo","arguments":{"text":"`+strings.Repeat("x", size)+`"},`)
		})
	}
}

// BenchmarkTools measures small calls of each kind of tool, the same with an interceptor, and
// tools/list.
func BenchmarkTools(b *testing.B) {
	intercepted := quiet
	intercepted.Interceptors = []dispatch.Interceptor{
		func(next dispatch.Handler) dispatch.Handler { return next }}
	for name, o := range map[string]server.Options{"": quiet, "Intercepted": intercepted} {
		for _, tool := range []string{"echo", "typed", "raw", "forwarded"} {
			b.Run(tool+name, func(b *testing.B) {
				benchmarkRequests(b, echoServer(b, o), "tools/call",
					`"name":"`+tool+`","arguments":{"text":"text"},`)
			})
		}
	}
	b.Run("list", func(b *testing.B) {
		benchmarkRequests(b, echoServer(b, quiet), "tools/list", "")
	})
}
