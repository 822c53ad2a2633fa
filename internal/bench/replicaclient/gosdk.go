package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connectGoSDK connects with the official SDK, which gives a session up when a stream cannot be
// resumed at once.
func connectGoSDK(ctx context.Context, c *http.Client, url string, heard func(string),
	asked func()) (*connection, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "replicas", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			heard("changed")
		},
		ResourceUpdatedHandler: func(context.Context, *mcp.ResourceUpdatedNotificationRequest) {
			heard("updated")
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult,
			error) {
			asked()
			return &mcp.ElicitResult{Action: "accept",
				Content: map[string]any{"name": r.Params.Message}}, nil
		},
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: c,
		MaxRetries: 100}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return nil, err
	}
	if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: resource}); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	lost := make(chan struct{})
	go func() {
		_ = session.Wait()
		close(lost)
	}()
	return &connection{lost: lost, call: func(ctx context.Context, tool, token string) (string,
		error) {
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool,
			Arguments: map[string]any{"token": token}})
		if err != nil {
			return "", err
		}
		text := r.Content[0].(*mcp.TextContent).Text
		if r.IsError {
			return "", errors.New(text)
		}
		return text, nil
	}}, nil
}
