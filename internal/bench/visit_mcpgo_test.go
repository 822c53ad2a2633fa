//go:build linux

package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
)

type mcpGoNames struct{}

func (mcpGoNames) CompletePromptArgument(_ context.Context, _ string,
	argument mcpgo.CompleteArgument, _ mcpgo.CompleteContext) (*mcpgo.Completion, error) {
	return &mcpgo.Completion{
		Values: slices.DeleteFunc([]string{"Ada", "Alan", "Grace"}, func(name string) bool {
			return !strings.HasPrefix(name, argument.Value)
		})}, nil
}

// newMCPGoVisited is the server of [conformance.ServerTest] with mcp-go.
func newMCPGoVisited(sessions mcpgoserver.SessionIdManager) *mcpgoserver.MCPServer {
	var held holds
	grown := 0
	// The application tracks subscriptions and listeners.
	var listening sync.Map // the contexts of listeners
	hooks := &mcpgoserver.Hooks{}
	hooks.AddBeforeAny(func(ctx context.Context, _ any, method mcpgo.MCPMethod, _ any) {
		if method == mcpgo.MethodSubscriptionsListen || method == mcpgo.MethodResourcesSubscribe {
			listening.Store(mcpgoserver.ClientSessionFromContext(ctx), ctx)
		}
	})
	s := mcpgoserver.NewMCPServer("visited", "1", mcpgoserver.WithToolCapabilities(true),
		mcpgoserver.WithResourceCapabilities(true, true),
		mcpgoserver.WithPromptCapabilities(true), mcpgoserver.WithLogging(),
		mcpgoserver.WithElicitation(), mcpgoserver.WithRoots(),
		mcpgoserver.WithCompletions(), mcpgoserver.WithPromptCompletionProvider(mcpGoNames{}),
		mcpgoserver.WithInputSchemaValidation(), mcpgoserver.WithHooks(hooks))
	s.EnableSampling()
	text := func(text string) (*mcpgo.CallToolResult, error) {
		return mcpgo.NewToolResultText(text), nil
	}
	progress := func(ctx context.Context, r mcpgo.CallToolRequest, params map[string]any) error {
		if r.Params.Meta == nil || r.Params.Meta.ProgressToken == nil {
			return nil
		}
		params["progressToken"] = r.Params.Meta.ProgressToken
		return s.SendNotificationToClient(ctx, "notifications/progress", params)
	}
	tool := func(name string, f mcpgoserver.ToolHandlerFunc, options ...mcpgo.ToolOption) {
		s.AddTool(mcpgo.NewTool(name, options...), f)
	}
	// It asks with an input_required result, which the library turns into requests for legacy
	// clients.
	ask := func(name string, question func(*mcpgoserver.InputRequestBuilder),
		method mcpgo.MCPMethod, say func(answer mcpgo.InputResponse) string) {
		tool(name, func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			answer, ok := r.Params.InputResponses["it"]
			if !ok {
				b := mcpgoserver.NewInputRequestBuilder("")
				question(b)
				return b.ToolResult(), nil
			}
			if err := answer.DecodeFor(method); err != nil {
				return nil, err
			}
			return text(say(answer))
		})
	}
	tool("echo", func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return text(r.GetString("text", ""))
	}, mcpgo.WithString("text", mcpgo.Required()))
	tool("fail", func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return mcpgo.NewToolResultError("it failed"), nil
	})
	tool("count", func(ctx context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult,
		error) {
		n := r.GetInt("n", 0)
		for i := range n {
			if err := progress(ctx, r, map[string]any{"progress": i + 1, "total": n}); err != nil {
				return nil, err
			}
		}
		return text("counted")
	}, mcpgo.WithNumber("n", mcpgo.Required()))
	tool("log", func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		for level, data := range map[mcpgo.LoggingLevel]string{"debug": "unwanted",
			"warning": "logged"} {
			if err := s.SendLogMessageToClient(ctx,
				mcpgo.NewLoggingMessageNotification(level, "", data)); err != nil {
				return nil, err
			}
		}
		return text("done")
	})
	form := map[string]any{"type": "object",
		"properties": map[string]any{"name": map[string]any{"type": "string"}},
		"required":   []string{"name"}}
	ask("ask", func(b *mcpgoserver.InputRequestBuilder) {
		b.Elicit("it", mcpgo.ElicitationParams{Message: "Who?", RequestedSchema: form})
	},
		mcpgo.MethodElicitationCreate, func(answer mcpgo.InputResponse) string {
			if answer.Elicitation.Action != "accept" {
				return string(answer.Elicitation.Action)
			}
			return fmt.Sprint("Hello, ", answer.Elicitation.Content.(map[string]any)["name"])
		})
	ask("sample", func(b *mcpgoserver.InputRequestBuilder) {
		b.Sample("it", mcpgo.CreateMessageParams{MaxTokens: 10,
			Messages: []mcpgo.SamplingMessage{
				{Role: "user", Content: mcpgo.NewTextContent("Capital?")}}})
	}, mcpgo.MethodSamplingCreateMessage, func(answer mcpgo.InputResponse) string {
		return mcpgo.GetTextFromContent(answer.Sampling.Content)
	})
	ask("roots", func(b *mcpgoserver.InputRequestBuilder) { b.Roots("it") }, mcpgo.MethodListRoots,
		func(answer mcpgo.InputResponse) string {
			return fmt.Sprint(len(answer.Roots.Roots), " roots")
		})
	tool("hold", func(ctx context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		if err := held.hold(ctx, func() error {
			return progress(ctx, r, map[string]any{"progress": 1})
		}); err != nil {
			return nil, err
		}
		return text("held")
	})
	tool("release", func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		held.release()
		return text("done")
	})
	tool("cancelled", func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return text(fmt.Sprint(held.cancelled.Load()))
	})
	tool("grow", func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		grown++
		tool(fmt.Sprint("grown_", grown),
			func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
				return text("grown")
			})
		return text("done")
	})
	tool("touch", func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		listening.Range(func(_, ctx any) bool {
			// it may have disconnected
			_ = s.SendNotificationToClient(ctx.(context.Context), "notifications/resources/updated",
				map[string]any{"uri": "visit://text"})
			return true
		})
		return text("done")
	})
	tool("forget", func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult,
		error) {
		if _, err := sessions.Terminate(
			mcpgoserver.ClientSessionFromContext(ctx).SessionID()); err != nil {
			return nil, err
		}
		return text("done")
	})
	s.AddResource(mcpgo.NewResource("visit://text", "text"),
		func(context.Context, mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
			return []mcpgo.ResourceContents{
				mcpgo.TextResourceContents{URI: "visit://text", Text: "some text"}}, nil
		})
	s.AddResource(mcpgo.NewResource("visit://binary", "binary"),
		func(context.Context, mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
			return []mcpgo.ResourceContents{
				mcpgo.BlobResourceContents{URI: "visit://binary",
					Blob: base64.StdEncoding.EncodeToString([]byte{0, 127, 255})}}, nil
		})
	s.AddResourceTemplate(mcpgo.NewResourceTemplate("visit://item/{id}", "item"),
		func(_ context.Context, r mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
			return []mcpgo.ResourceContents{
				mcpgo.TextResourceContents{URI: r.Params.URI, Text: "item " +
					strings.TrimPrefix(r.Params.URI, "visit://item/")}}, nil
		})
	s.AddPrompt(mcpgo.NewPrompt("greet", mcpgo.WithArgument("name", mcpgo.RequiredArgument())),
		func(_ context.Context, r mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) {
			message := mcpgo.NewPromptMessage(mcpgo.RoleUser,
				mcpgo.NewTextContent("Greet "+r.Params.Arguments["name"]+"."))
			return mcpgo.NewGetPromptResult("", []mcpgo.PromptMessage{message}), nil
		})
	return s
}

// newMCPGoHandler serves that server over HTTP.
func newMCPGoHandler(_, eventStore bool) http.Handler {
	sessions := &mcpgoserver.InsecureStatefulSessionIdManager{}
	options := []mcpgoserver.StreamableHTTPOption{mcpgoserver.WithSessionIdManager(sessions),
		mcpgoserver.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler))}
	if eventStore {
		options = append(options, mcpgoserver.WithEventStore(mcpgoserver.NewInMemoryEventStore()))
	}
	return mcpgoserver.NewStreamableHTTPServer(newMCPGoVisited(sessions), options...)
}
