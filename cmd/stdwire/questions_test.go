package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// serveForms serves both eras. Its tool order asks for a form with several fields and returns the
// answer; write samples from the model of the client.
func serveForms([]string) {
	catalog := dispatch.NewCatalog()
	type none struct{}
	dispatch.Add(catalog, dispatch.Spec{Name: "order", Summary: "Orders.", Kind: dispatch.Read},
		func(ctx context.Context, _ none) (string, error) {
			answer, err := server.Elicit(ctx, "order",
				mcp.ElicitParams{Message: "What shall it be?",
					RequestedSchema: []byte(`{"type":"object","properties":{` +
						`"name":{"type":"string","minLength":2},"count":{"type":"integer","default":7},"color":{"type":"string","enum":["red","green"]},"gift":{"type":"boolean"}},"required":["name"]}`)})
			if err != nil {
				return "", err
			}
			return string(answer.Action) + " " + string(answer.Content), nil
		})
	dispatch.Add(catalog, dispatch.Spec{Name: "write", Summary: "Writes.", Kind: dispatch.Read},
		func(ctx context.Context, _ none) (string, error) {
			m, err := server.Sample(ctx, "text",
				mcp.CreateMessageParams{MaxTokens: 10, Messages: []mcp.SamplingMessage{
					{Role: mcp.RoleUser,
						Content: mcp.SamplingContent{&mcp.TextContent{Text: "Write\x07."}}}}})
			if err != nil {
				return "", err
			}
			text, ok := m.Content[0].(*mcp.TextContent)
			if !ok {
				return "", fmt.Errorf("no text: %T", m.Content[0])
			}
			return m.Model + " wrote: " + text.Text, nil
		})
	s := server.Options{Logger: slog.New(slog.DiscardHandler)}.New(
		server.Info{Name: "forms", Version: "1"}, catalog)
	if err := s.ServeStdio(context.Background()); err != nil {
		panic(err)
	}
}
