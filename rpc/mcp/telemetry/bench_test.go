package telemetry_test

import (
	"context"
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
	"github.com/stdwire/stdwire/server"
)

const echoParams = `{"name":"echo","arguments":{"text":"a text of the usual length"},"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","traceparent":` +
	`"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}`

// BenchmarkMiddleware measures what the middleware adds to a message.
func BenchmarkMiddleware(b *testing.B) {
	always, err := telemetry.ParseSampler("always_on", "")
	assert.NilError(b, err)
	never, err := telemetry.ParseSampler("always_off", "")
	assert.NilError(b, err)
	handler := func(context.Context, *rpc.Request) (any, error) { return nil, nil }
	for _, bench := range []struct {
		name string
		tel  *telemetry.Telemetry
	}{
		{"off", nil},
		{"metrics", telemetry.Options{Sampler: never}.New()},
		{"spans", telemetry.Options{Sampler: always}.New()},
	} {
		for name, m := range map[string]rpc.Middleware{
			"incoming": bench.tel.Incoming(telemetry.Endpoint{}),
			"outgoing": bench.tel.Outgoing(telemetry.Endpoint{})} {
			b.Run(bench.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				h := m(handler)
				req := &rpc.Request{ID: rpc.IntID(1), Method: mcp.MethodCallTool,
					Params: json.RawMessage(echoParams)}
				ctx := context.Background()
				var spans []telemetry.Span
				n := 0
				for b.Loop() {
					_, _ = h(ctx, req)
					if n++; n%512 == 0 && bench.tel != nil {
						spans = bench.tel.TakeSpans(spans[:0], 512)
					}
				}
			})
		}
	}
}

// BenchmarkEcho measures calls of a tool over a stream in memory, with telemetry at the server.
func BenchmarkEcho(b *testing.B) {
	for _, bench := range []struct {
		name string
		tel  *telemetry.Telemetry
	}{{"off", nil}, {"on", telemetry.Options{}.New()}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			s := server.Options{
				Middleware: []rpc.Middleware{bench.tel.Incoming(telemetry.Endpoint{})},
			}.New(server.Info{Name: "echo", Version: "1"}, nil)
			assert.NilError(b, s.Integration().AddItem(server.Item{Kind: mcp.KindTool,
				Definition: json.RawMessage(
					`{"name":"echo","inputSchema":{"type":"object"}}`),
				Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`{"content":[{"type":"text","text":"an answer"}]}`), nil
				}}))
			c := mcptest.Connect(b, s, client.Options{})
			arguments := json.RawMessage(`{"text":"a text of the usual length"}`)
			var spans []telemetry.Span
			n := 0
			for b.Loop() {
				_, err := c.CallToolRaw(b.Context(), "echo", arguments)
				assert.NilError(b, err)
				if n++; n%512 == 0 && bench.tel != nil {
					spans = bench.tel.TakeSpans(spans[:0], 512)
				}
			}
		})
	}
}

// BenchmarkHandle measures the handling of a request of the modern era by a server, without a
// transport, for a tool of another server and for one of a catalog.
func BenchmarkHandle(b *testing.B) {
	always, err := telemetry.ParseSampler("always_on", "")
	assert.NilError(b, err)
	catalog := dispatch.NewCatalog()
	type text struct {
		Text string `json:"text"`
	}
	dispatch.Add(catalog, dispatch.Spec{Name: "echo", Summary: "Echo.", Type: dispatch.Read},
		func(_ context.Context, in text) (text, error) { return in, nil })
	for _, tool := range []string{"forward", "echo"} {
		params := json.RawMessage(`{"name":"` + tool + `",` +
			`"arguments":{"text":"a text of the usual length"},"_meta":{` +
			`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}}}`)
		for _, bench := range []struct {
			name string
			tel  *telemetry.Telemetry
		}{
			{"off", nil},
			{"metrics", telemetry.Options{MaxSpans: -1}.New()},
			{"not sampled", telemetry.Options{}.New()},
			{"sampled", telemetry.Options{Sampler: always}.New()},
		} {
			b.Run(tool+"/"+bench.name, func(b *testing.B) {
				b.ReportAllocs()
				var o server.Options
				if bench.tel != nil {
					o.Middleware = []rpc.Middleware{bench.tel.Incoming(telemetry.Endpoint{})}
				}
				s := o.New(server.Info{Name: "echo", Version: "1"}, catalog)
				assert.NilError(b, s.Integration().AddItem(server.Item{Kind: mcp.KindTool,
					Definition: json.RawMessage(
						`{"name":"forward","inputSchema":{"type":"object"}}`),
					Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
						return json.RawMessage(
							`{"content":[{"type":"text","text":"an answer"}]}`), nil
					}}))
				conn := s.Integration().Stateless("", mcp.Latest)
				req := &rpc.Request{ID: rpc.IntID(1), Method: mcp.MethodCallTool, Params: params}
				var spans []telemetry.Span
				n := 0
				for b.Loop() {
					_, err := conn.Handle(b.Context(), req, nil)
					if err != nil {
						b.Fatal(err)
					}
					if n++; n%512 == 0 && bench.tel != nil {
						spans = bench.tel.TakeSpans(spans[:0], 512)
					}
				}
			})
		}
	}
}

// BenchmarkAppendTraces measures the encoding of a span.
func BenchmarkAppendTraces(b *testing.B) {
	tel := telemetry.Options{}.New()
	handle := tel.Incoming(telemetry.Endpoint{})(
		func(context.Context, *rpc.Request) (any, error) { return nil, nil })
	for i := range 512 {
		_, _ = handle(b.Context(), &rpc.Request{ID: rpc.IntID(int64(i)),
			Method: mcp.MethodCallTool, Params: json.RawMessage(echoParams)})
	}
	spans := tel.TakeSpans(nil, 512)
	b.ReportAllocs()
	var body []byte
	for n := 0; b.Loop(); n++ {
		if n%len(spans) == 0 {
			body = tel.AppendTraces(body[:0], spans)
		}
	}
}
