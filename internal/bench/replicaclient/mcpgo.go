package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// accepts answers questions.
type accepts struct{ asked func() }

func (a accepts) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult,
	error) {
	a.asked()
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action:  mcp.ElicitationResponseActionAccept,
		Content: map[string]any{"name": r.Params.Message}}}, nil
}

// connectMCPGo connects with mcp-go, whose session ends only if the server says so.
func connectMCPGo(ctx context.Context, c *http.Client, url string, heard func(string),
	asked func()) (*connection, error) {
	t, err := transport.NewStreamableHTTP(url, transport.WithHTTPBasicClient(c),
		transport.WithContinuousListening(),
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	session := client.NewClient(t, client.WithElicitationHandler(accepts{asked}))
	session.OnNotification(func(n mcp.JSONRPCNotification) {
		switch n.Method {
		case mcp.MethodNotificationToolsListChanged:
			heard("changed")
		case mcp.MethodNotificationResourceUpdated:
			heard("updated")
		}
	})
	if err := session.Start(ctx); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	var initialize mcp.InitializeRequest
	initialize.Params.ProtocolVersion = revision
	initialize.Params.ClientInfo = mcp.Implementation{Name: "replicas", Version: "1"}
	if _, err := session.Initialize(ctx, initialize); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	var subscribe mcp.SubscribeRequest
	subscribe.Params.URI = resource
	if err := session.Subscribe(ctx, subscribe); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return &connection{call: func(ctx context.Context, tool, token string) (string, error) {
		var request mcp.CallToolRequest
		request.Params.Name, request.Params.Arguments = tool, map[string]any{"token": token}
		r, err := session.CallTool(ctx, request)
		if err != nil {
			return "", err
		}
		text := r.Content[0].(mcp.TextContent).Text
		if r.IsError {
			return "", errors.New(text)
		}
		return text, nil
	}}, nil
}
