package client_test

import (
	"context"
	"fmt"
	"net"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// greeter returns a server with a prompt that first asks the user a question.
func greeter() client.Transport {
	s := server.New(server.Info{Name: "greeter", Version: "1.0.0"}, dispatch.NewCatalog())
	_ = s.AddPrompt(server.Prompt{
		Prompt: mcp.Prompt{Name: "greet", Description: "Greets."},
		Get: func(ctx context.Context, _ map[string]string) (*mcp.GetPromptResult, error) {
			answer, err := server.Elicit(ctx, "who",
				mcp.ElicitParams{Message: "Who are you?", RequestedSchema: []byte(
					`{"type":"object","properties":{"name":{"type":"string"},"title":{"type":"string","default":"Dr."}},"required":["name"]}`)})
			if err != nil {
				return nil, err
			}
			text := "Greet " + string(answer.Content)
			return &mcp.GetPromptResult{
				Messages: []mcp.PromptMessage{
					{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: text}}}}, nil
		},
	})
	here, there := net.Pipe()
	go s.Serve(context.Background(), there)
	return client.Stream(here)
}

// Answer a server's questions: with the same callback in both eras, and during the call that they
// belong to.
func ExampleOptions_onElicit() {
	ctx := context.Background()
	c, err := client.Options{
		OnElicit: func(_ context.Context, question mcp.ElicitParams) (*mcp.ElicitResult, error) {
			fmt.Println(question.Message)
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"name":"Ada"}`)},
				nil
		},
	}.Connect(ctx, greeter())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for prompt, err := range c.Prompts(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(prompt.Name, "-", prompt.Description)
	}
	result, err := c.GetPrompt(ctx, "greet", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Messages[0].Content.(*mcp.TextContent).Text)
	// Output:
	// greet - Greets.
	// Who are you?
	// Greet {"name":"Ada","title":"Dr."}
}

// Subscribe to changes of a resource.
func ExampleClient_Subscribe() {
	ctx := context.Background()
	s := server.New(server.Info{Name: "weather", Version: "1.0.0"}, dispatch.NewCatalog())
	_ = s.AddResource(server.Resource{
		Resource: mcp.Resource{URI: "weather://oslo", Name: "Oslo"},
		Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{
				Contents: []mcp.ResourceContents{{URI: uri, Text: "12 degrees, light rain"}}}, nil
		},
	})
	here, there := net.Pipe()
	go s.Serve(ctx, there)

	changed := make(chan string, 1)
	c, err := client.Options{OnResourceUpdated: func(uri string) { changed <- uri }}.Connect(ctx,
		client.Stream(here))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := c.Subscribe(ctx, "weather://oslo"); err != nil {
		fmt.Println(err)
		return
	}
	s.ResourceUpdated("weather://oslo")
	result, err := c.ReadResource(ctx, <-changed)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Contents[0].Text)
	// Output:
	// 12 degrees, light rain
}
