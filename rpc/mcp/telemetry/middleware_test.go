package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
	"github.com/stdwire/stdwire/server"
)

// newServer returns a server with tools of each kind that fail, and one of each that does not.
func newServer(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "weather.get", Summary: "The weather.",
		Type: dispatch.Read, Errors: []dispatch.Code{dispatch.NotFound}},
		func(context.Context, struct{}) (string, error) {
			return "", dispatch.Errorf(dispatch.NotFound, "no such city")
		})
	o.Logger = slog.New(slog.DiscardHandler) // one of the tools panics
	s := o.New(server.Info{Name: "weather", Version: "1"}, catalog)
	server.AddTool(s, mcp.Tool{Name: "typed"}, func(context.Context, struct{}) (string, error) {
		return "", dispatch.Errorf(dispatch.NotFound, "no such city")
	})
	server.AddTool(s, mcp.Tool{Name: "complete"},
		func(context.Context, struct{}) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{}}, nil
		})
	raw := func(name string, call func() (*mcp.CallToolResult, error)) {
		assert.NilError(t, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: name},
			Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				return call()
			}}))
	}
	raw("raw", func() (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{}}, nil
	})
	raw("sunny", func() (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	assert.NilError(t, s.Integration().AddItem(server.Item{Kind: mcp.KindTool,
		Definition: json.RawMessage(
			`{"name":"forwarded","inputSchema":{"type":"object"}}`),
		Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[],"isError":true}`), nil
		}}))
	raw("storm", func() (*mcp.CallToolResult, error) { panic("storm") })
	assert.NilError(t, s.AddPrompt(server.Prompt{Prompt: mcp.Prompt{Name: "greet"},
		Get: func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{}}, nil
		}}))
	assert.NilError(t, s.AddResource(server.Resource{
		Resource: mcp.Resource{Name: "map", URI: "map://oslo"},
		Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{}}, nil
		}}))
	return s
}

// text returns the kind, the name and the attributes of a span.
func text(s telemetry.Span) string {
	attrs := map[string]string{}
	for _, a := range s.Attributes() {
		attrs[a.Key] = a.Value.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", map[telemetry.SpanKind]string{telemetry.SpanKindServer: "SERVER",
		telemetry.SpanKindClient:   "CLIENT",
		telemetry.SpanKindInternal: "INTERNAL"}[s.Kind], s.Name())
	for _, key := range slices.Sorted(maps.Keys(attrs)) {
		fmt.Fprintf(&b, " %s=%s", key, attrs[key])
	}
	if s.Message != "" {
		fmt.Fprintf(&b, " (%s)", s.Message)
	}
	return b.String()
}

// take returns the finished spans.
func take(t *telemetry.Telemetry) []telemetry.Span { return t.TakeSpans(nil, 1000) }

var revisions = []mcp.Revision{mcp.Latest, mcp.LatestLegacy}

// attribute returns the value of an attribute of a span, or "".
func attribute(s telemetry.Span, key string) string {
	for _, a := range s.Attributes() {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// A span names the caller, in a text of limited length, and no metric does.
func TestSpanNamesCaller(t *testing.T) {
	tel := telemetry.Options{}.New()
	handle := tel.Incoming(telemetry.Endpoint{})(
		func(context.Context, *rpc.Request) (any, error) { return nil, nil })
	for principal, want := range map[string]string{"": "", "ada": "ada",
		strings.Repeat("a", 1000): strings.Repeat("a", 256)} {
		ctx := context.WithValue(t.Context(), contextkey.Principal{}, principal)
		_, err := handle(ctx, &rpc.Request{ID: rpc.IntID(1), Method: mcp.MethodListTools})
		assert.NilError(t, err)
		assert.Equal(t, attribute(take(tel)[0], "enduser.id"), want)
	}
	var metrics bytes.Buffer
	assert.NilError(t, tel.WritePrometheus(&metrics))
	assert.Assert(t, strings.Contains(metrics.String(), "tools/list"))
	assert.Assert(t, !strings.Contains(metrics.String(), "ada"))
}

func TestSpansOfMessages(t *testing.T) {
	for _, revision := range revisions {
		for _, transport := range []string{"pipe", "tcp"} {
			t.Run(fmt.Sprintf("%s %s", revision, transport), func(t *testing.T) {
				testSpansOfMessages(t, revision, transport)
			})
		}
	}
}

func testSpansOfMessages(t *testing.T, revision mcp.Revision, transport string) {
	tel := telemetry.Options{}.New()
	s := newServer(t, server.Options{
		Middleware: []rpc.Middleware{tel.Incoming(telemetry.Endpoint{})}})
	connect, network := mcptest.Connect, " network.transport=pipe"
	if transport == "tcp" {
		connect, network = mcptest.ConnectHTTP, " network.protocol.name=http network.transport=tcp"
	}
	c := connect(t, s, client.Options{Revision: revision, Cache: client.NewCache(0)})
	take(tel)
	for _, test := range []struct {
		method, name, want string
	}{
		{mcp.MethodCallTool, "sunny",
			"SERVER tools/call sunny gen_ai.operation.name=execute_tool gen_ai.tool.name=sunny"},
		{mcp.MethodCallTool, "raw", "SERVER tools/call raw error.type=tool_error " +
			"gen_ai.operation.name=execute_tool gen_ai.tool.name=raw"},
		{mcp.MethodCallTool, "forwarded", "SERVER tools/call forwarded error.type=tool_error " +
			"gen_ai.operation.name=execute_tool gen_ai.tool.name=forwarded"},
		{mcp.MethodCallTool, "typed", "SERVER tools/call typed error.type=tool_error " +
			"gen_ai.operation.name=execute_tool gen_ai.tool.name=typed"},
		{mcp.MethodCallTool, "complete", "SERVER tools/call complete error.type=tool_error " +
			"gen_ai.operation.name=execute_tool gen_ai.tool.name=complete"},
		{mcp.MethodCallTool, "weather_get", "SERVER tools/call weather_get " +
			"error.type=tool_error gen_ai.operation.name=execute_tool " +
			"gen_ai.tool.name=weather_get"},
		{mcp.MethodCallTool, "storm", "SERVER tools/call storm error.type=-32603 " +
			"gen_ai.operation.name=execute_tool gen_ai.tool.name=storm"},
		{mcp.MethodCallTool, "none", "SERVER tools/call none error.type=-32602 " +
			"gen_ai.operation.name=execute_tool gen_ai.tool.name=none"},
		{mcp.MethodGetPrompt, "greet", "SERVER prompts/get greet gen_ai.prompt.name=greet"},
		{mcp.MethodReadResource, "map://oslo", "SERVER resources/read"},
		{mcp.MethodListTools, "", "SERVER tools/list"},
		{"weather/none", "", "SERVER _OTHER error.type=-32601"},
	} {
		params := map[string]any{}
		switch test.method {
		case mcp.MethodReadResource:
			params["uri"] = test.name
		case mcp.MethodCallTool, mcp.MethodGetPrompt:
			params["name"] = test.name
		}
		_, _ = c.Call(t.Context(), test.method, params)
		spans := take(tel)
		assert.Equal(t, len(spans), 1, "%s %s", test.method, test.name)
		id := spans[0].Attributes()[slices.IndexFunc(spans[0].Attributes(), isRequestID)]
		assert.Assert(t, id.Value.String() != "")
		method := test.method
		if method == "weather/none" {
			method = "_OTHER"
		}
		want := test.want + " jsonrpc.request.id=" + id.Value.String() + " mcp.method.name=" +
			method + " mcp.protocol.version=" + string(revision)
		if test.method == mcp.MethodReadResource {
			want += " mcp.resource.uri=map://oslo"
		}
		if session := attribute(spans[0], "mcp.session.id"); session != "" {
			want += " mcp.session.id=" + session
		}
		assert.Equal(t, strings.Contains(want, "session.id"),
			transport == "pipe" || revision != mcp.Latest)
		want += network
		if code := spans[0].ErrorType; strings.HasPrefix(code, "-") {
			want += " rpc.response.status_code=" + code + " (" + spans[0].Message + ")"
		}
		assert.Equal(t, text(spans[0]), strings.TrimSuffix(want, " ()"))
		assert.Assert(t, spans[0].Duration >= 0 && !spans[0].Start.IsZero())
	}
}

func isRequestID(a slog.Attr) bool { return a.Key == "jsonrpc.request.id" }
