//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// newGoSDKVisited returns the server of [conformance.ServerTest] on the official Go SDK. It records
// the ids of the sessions to forget.
func newGoSDKVisited(forgotten *sync.Map) *gosdk.Server {
	var held holds
	grown := 0
	s := gosdk.NewServer(&gosdk.Implementation{Name: "visited", Version: "1"}, &gosdk.ServerOptions{
		SubscribeHandler:   func(context.Context, *gosdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *gosdk.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, r *gosdk.CompleteRequest) (*gosdk.CompleteResult,
			error) {
			names := slices.DeleteFunc([]string{"Ada", "Alan", "Grace"}, func(name string) bool {
				return !strings.HasPrefix(name, r.Params.Argument.Value)
			})
			return &gosdk.CompleteResult{Completion: gosdk.CompletionResultDetails{Values: names}},
				nil
		},
	})
	text := func(text string) (*gosdk.CallToolResult, any, error) {
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: text}}}, nil,
			nil
	}
	progress := func(ctx context.Context, r *gosdk.CallToolRequest, n, total float64) error {
		if r.Params.GetProgressToken() == nil {
			return nil
		}
		return r.Session.NotifyProgress(ctx,
			&gosdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(),
				Progress: n, Total: total})
	}
	type none struct{}
	tool := func(name string,
		f func(ctx context.Context, r *gosdk.CallToolRequest) (*gosdk.CallToolResult, any, error)) {
		gosdk.AddTool(s, &gosdk.Tool{Name: name},
			func(ctx context.Context, r *gosdk.CallToolRequest, _ none) (*gosdk.CallToolResult, any,
				error) {
				return f(ctx, r)
			})
	}
	// It asks with an input_required result, which the library turns into requests for legacy
	// clients.
	ask := func(name string, question gosdk.InputRequest,
		say func(answer gosdk.InputResponse) string) {
		tool(name, func(_ context.Context, r *gosdk.CallToolRequest) (*gosdk.CallToolResult, any,
			error) {
			if answer := r.Params.InputResponses["it"]; answer != nil {
				return text(say(answer))
			}
			return &gosdk.CallToolResult{InputRequests: gosdk.InputRequestMap{"it": question}}, nil,
				nil
		})
	}
	gosdk.AddTool(s, &gosdk.Tool{Name: "echo"},
		func(_ context.Context, _ *gosdk.CallToolRequest, in echoText) (*gosdk.CallToolResult, any,
			error) {
			return text(in.Text)
		})
	tool("fail", func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("it failed")
	})
	type count struct {
		N int `json:"n"`
	}
	gosdk.AddTool(s, &gosdk.Tool{Name: "count"},
		func(ctx context.Context, r *gosdk.CallToolRequest, in count) (*gosdk.CallToolResult, any,
			error) {
			for i := range in.N {
				if err := progress(ctx, r, float64(i+1), float64(in.N)); err != nil {
					return nil, nil, err
				}
			}
			return text("counted")
		})
	tool("log", func(ctx context.Context, r *gosdk.CallToolRequest) (*gosdk.CallToolResult, any,
		error) {
		for _, p := range []gosdk.LoggingMessageParams{{Level: "debug", Data: "unwanted"},
			{Level: "warning", Data: "logged"}} {
			if err := r.Session.Log(ctx, &p); err != nil {
				return nil, nil, err
			}
		}
		return text("done")
	})
	form := map[string]any{"type": "object",
		"properties": map[string]any{"name": map[string]any{"type": "string"}},
		"required":   []string{"name"}}
	ask("ask", &gosdk.ElicitParams{Mode: "form", Message: "Who?", RequestedSchema: form},
		func(answer gosdk.InputResponse) string {
			if a := answer.(*gosdk.ElicitResult); a.Action != "accept" {
				return a.Action
			}
			return fmt.Sprint("Hello, ", answer.(*gosdk.ElicitResult).Content["name"])
		})
	question := &gosdk.CreateMessageParams{MaxTokens: 10,
		Messages: []*gosdk.SamplingMessage{
			{Role: "user", Content: &gosdk.TextContent{Text: "Capital?"}}}}
	ask("sample", question, func(answer gosdk.InputResponse) string {
		return answer.(*gosdk.CreateMessageWithToolsResult).Content[0].(*gosdk.TextContent).Text
	})
	ask("roots", &gosdk.ListRootsParams{}, func(answer gosdk.InputResponse) string {
		return fmt.Sprint(len(answer.(*gosdk.ListRootsResult).Roots), " roots")
	})
	tool("hold", func(ctx context.Context, r *gosdk.CallToolRequest) (*gosdk.CallToolResult, any,
		error) {
		if err := held.hold(ctx, func() error { return progress(ctx, r, 1, 0) }); err != nil {
			return nil, nil, err
		}
		return text("held")
	})
	tool("release", func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, any,
		error) {
		held.release()
		return text("done")
	})
	tool("cancelled",
		func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, any, error) {
			return text(fmt.Sprint(held.cancelled.Load()))
		})
	tool("grow", func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, any, error) {
		grown++
		tool(fmt.Sprint("grown_", grown),
			func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, any, error) {
				return text("grown")
			})
		return text("done")
	})
	tool("touch", func(ctx context.Context, _ *gosdk.CallToolRequest) (*gosdk.CallToolResult, any,
		error) {
		if err := s.ResourceUpdated(ctx,
			&gosdk.ResourceUpdatedNotificationParams{URI: "visit://text"}); err != nil {
			return nil, nil, err
		}
		return text("done")
	})
	tool("cut", func(_ context.Context, r *gosdk.CallToolRequest) (*gosdk.CallToolResult, any,
		error) {
		r.Extra.CloseSSEStream(gosdk.CloseSSEStreamArgs{RetryAfter: 20 * time.Millisecond})
		return text("resumed")
	})
	tool("forget", func(_ context.Context, r *gosdk.CallToolRequest) (*gosdk.CallToolResult, any,
		error) {
		forgotten.Store(r.Session.ID(), r.Session)
		return text("done")
	})
	read := func(content gosdk.ResourceContents) gosdk.ResourceHandler {
		return func(_ context.Context, r *gosdk.ReadResourceRequest) (*gosdk.ReadResourceResult,
			error) {
			content := content
			content.URI = r.Params.URI
			return &gosdk.ReadResourceResult{Contents: []*gosdk.ResourceContents{&content}}, nil
		}
	}
	s.AddResource(&gosdk.Resource{Name: "text", URI: "visit://text"},
		read(gosdk.ResourceContents{Text: "some text"}))
	s.AddResource(&gosdk.Resource{Name: "binary", URI: "visit://binary"},
		read(gosdk.ResourceContents{Blob: []byte{0, 127, 255}}))
	s.AddResourceTemplate(&gosdk.ResourceTemplate{Name: "item", URITemplate: "visit://item/{id}"},
		func(ctx context.Context, r *gosdk.ReadResourceRequest) (*gosdk.ReadResourceResult, error) {
			return read(gosdk.ResourceContents{Text: "item " +
				strings.TrimPrefix(r.Params.URI, "visit://item/")})(ctx, r)
		})
	s.AddPrompt(&gosdk.Prompt{Name: "greet",
		Arguments: []*gosdk.PromptArgument{{Name: "name", Required: true}}},
		func(_ context.Context, r *gosdk.GetPromptRequest) (*gosdk.GetPromptResult, error) {
			return &gosdk.GetPromptResult{Messages: []*gosdk.PromptMessage{
				{Role: "user", Content: &gosdk.TextContent{Text: "Greet " +
					r.Params.Arguments["name"] + "."}},
			}}, nil
		})
	return s
}

// newGoSDKHandler serves that server over HTTP.
func newGoSDKHandler(legacy, eventStore bool) http.Handler {
	var forgotten sync.Map
	s := newGoSDKVisited(&forgotten)
	// Modern clients get no sessions, legacy clients always do.
	options := &gosdk.StreamableHTTPOptions{PropagateRequestCancellation: true, Stateless: !legacy}
	if eventStore {
		options.EventStore = gosdk.NewMemoryEventStore(nil)
	}
	handler := gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return s },
		options)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("Mcp-Session-Id")
		if _, ok := forgotten.Load(id); ok {
			http.NotFound(w, r)
			return
		}
		handler.ServeHTTP(w, r)
		if session, ok := forgotten.Load(id); ok { // by this call, whose response has been sent
			_ = session.(*gosdk.ServerSession).Close()
		}
	})
}
