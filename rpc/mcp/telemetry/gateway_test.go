package telemetry_test

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
	"github.com/stdwire/stdwire/server"
)

const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	clientSpan  = "b7ad6b7169203331"
)

// A call through a gateway is one trace, in each combination of eras, whatever the client sends.
func TestTraceThroughGateway(t *testing.T) {
	for _, downstream := range revisions {
		for _, upstream := range revisions {
			t.Run(string(downstream)+" "+string(upstream), func(t *testing.T) {
				testTraceThroughGateway(t, downstream, upstream)
			})
		}
	}
}

func testTraceThroughGateway(t *testing.T, downstream, upstream mcp.Revision) {
	application, inGateway, inServer := telemetry.Options{}.New(), telemetry.Options{}.New(),
		telemetry.Options{}.New()
	var baggage []string
	s := newServer(t, server.Options{Middleware: []rpc.Middleware{
		inServer.Incoming(telemetry.Endpoint{}), func(next rpc.Handler) rpc.Handler {
			return func(ctx context.Context, req *rpc.Request) (any, error) {
				var params struct {
					Meta mcp.Meta `json:"_meta"`
				}
				if req.Method == mcp.MethodCallTool && json.Unmarshal(req.Params, &params) == nil {
					baggage = append(baggage, string(params.Meta[mcp.MetaBaggage]))
				}
				return next(ctx, req)
			}
		}}})
	front := server.Options{
		Middleware: []rpc.Middleware{inGateway.Incoming(telemetry.Endpoint{})},
	}.New(server.Info{Name: "gateway", Version: "1"}, nil)
	g := gateway.Options{}.New(front)
	defer g.Close()
	assert.NilError(t, g.Add(gateway.Upstream{Server: host.Server{ID: "up",
		Options: client.Options{Revision: upstream, Outgoing: []rpc.Middleware{
			inGateway.Outgoing(telemetry.Endpoint{Transport: "pipe", Service: "up"})}},
		Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
			here, there := net.Pipe()
			go s.Serve(context.Background(), there)
			return o.Connect(ctx, client.Stream(here))
		}}}))
	g.Settle(t.Context())
	c := mcptest.Connect(t, front, client.Options{Revision: downstream,
		Output: client.OutputUnchecked, Outgoing: []rpc.Middleware{
			application.Outgoing(telemetry.Endpoint{Transport: "pipe"})}})
	for _, tel := range []*telemetry.Telemetry{application, inGateway, inServer} {
		take(tel)
	}
	meta := mcp.Meta{mcp.MetaTraceparent: json.RawMessage(
		`"00-` + clientTrace + "-" + clientSpan + `-01"`),
		mcp.MetaTracestate: json.RawMessage(`"vendor=1"`),
		mcp.MetaBaggage:    json.RawMessage(`"user=alice"`)}
	_, err := c.CallToolRaw(t.Context(), "up__sunny", nil, client.Meta(meta))
	assert.NilError(t, err)
	sent, passed, handled := take(application), take(inGateway), take(inServer)
	passed = slices.DeleteFunc(passed, func(s telemetry.Span) bool {
		return s.Trace.String() != clientTrace // requests that the gateway makes itself
	})
	assert.Equal(t, len(sent), 1)
	assert.Equal(t, len(passed), 2)
	handled = slices.DeleteFunc(handled, func(s telemetry.Span) bool {
		return s.Trace.String() != clientTrace
	})
	assert.Equal(t, len(handled), 1)
	chain := []telemetry.Span{sent[0], passed[1], passed[0], handled[0]}
	parent, kind := clientSpan, telemetry.SpanKindClient
	for i, span := range chain {
		assert.Equal(t, span.Trace.String(), clientTrace)
		assert.Equal(t, span.Parent.String(), parent, "span %d", i)
		assert.Equal(t, span.Kind, kind)
		assert.Equal(t, span.State, "vendor=1")
		assert.Equal(t, len(span.Links), 0)
		parent = span.SpanContext.Span.String()
		kind = telemetry.SpanKindServer + telemetry.SpanKindClient - kind
	}
	assert.Equal(t, chain[0].Name(), "tools/call up__sunny")
	assert.Equal(t, chain[3].Name(), "tools/call sunny")
	assert.DeepEqual(t, baggage, []string{`"user=alice"`})

	// without a trace of the client's own
	_, err = c.CallToolRaw(t.Context(), "up__sunny", nil)
	assert.NilError(t, err)
	sent = take(application)
	passed = slices.DeleteFunc(take(inGateway), func(s telemetry.Span) bool {
		return s.Trace != sent[0].Trace
	})
	handled = take(inServer)
	assert.Equal(t, sent[0].Parent, telemetry.SpanID{})
	assert.Equal(t, passed[1].Parent, sent[0].SpanContext.Span)
	assert.Equal(t, passed[0].Parent, passed[1].SpanContext.Span)
	assert.Equal(t, handled[len(handled)-1].Parent, passed[0].SpanContext.Span)
	assert.Equal(t, handled[len(handled)-1].Trace, sent[0].Trace)
}
