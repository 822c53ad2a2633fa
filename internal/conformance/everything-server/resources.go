package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// fixed returns a reader of constant contents.
func fixed(contents mcp.ResourceContents) func(context.Context, string) (*mcp.ReadResourceResult,
	error) {
	return func(context.Context, string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
	}
}

func addResources(s *server.Server) error {
	var errs []error
	for _, r := range []struct {
		name, description string
		contents          mcp.ResourceContents
	}{
		{"Static text", "A text.",
			mcp.ResourceContents{URI: "test://static-text", MIMEType: "text/plain",
				Text: "This is the content of the static text resource."}},
		{"Static binary", "A picture.",
			mcp.ResourceContents{URI: "test://static-binary", MIMEType: "image/png",
				Blob: picture}},
		{"Watched", "One that changes.",
			mcp.ResourceContents{URI: "test://watched-resource", MIMEType: "text/plain",
				Text: "Watched resource content"}},
		{"Example", "One that prompts embed.",
			mcp.ResourceContents{URI: "test://example-resource", MIMEType: "text/plain",
				Text: "Embedded resource content for testing."}},
	} {
		errs = append(errs, s.AddResource(server.Resource{
			Resource: mcp.Resource{URI: r.contents.URI, Name: r.name, Description: r.description,
				MIMEType: r.contents.MIMEType},
			Read: fixed(r.contents),
		}))
	}
	return errors.Join(append(errs, s.AddResourceTemplate(server.ResourceTemplate{
		ResourceTemplate: mcp.ResourceTemplate{URITemplate: "test://template/{id}/data",
			Name: "Template", Description: "Data by id.", MIMEType: "application/json"},
		Read: func(_ context.Context, uri string,
			values map[string]string) (*mcp.ReadResourceResult, error) {
			data := fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`,
				values["id"], values["id"])
			return &mcp.ReadResourceResult{
				Contents: []mcp.ResourceContents{
					{URI: uri, MIMEType: "application/json", Text: data}}}, nil
		},
		Complete: among("123", "124", "200"),
	}))...)
}

// among returns a completer that suggests the values that start with the typed text.
func among(values ...string) server.Completer {
	return func(_ context.Context, _, typed string, _ map[string]string) (c mcp.Completion,
		err error) {
		for _, v := range values {
			if strings.HasPrefix(v, typed) {
				c.Values = append(c.Values, v)
			}
		}
		return c, nil
	}
}

func user(block mcp.Content) mcp.PromptMessage {
	return mcp.PromptMessage{Role: mcp.RoleUser, Content: block}
}

// say returns a prompt with a constant message.
func say(message string) func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
	return func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{user(text("%s", message))}}, nil
	}
}

func addPrompts(s *server.Server) error {
	var errs []error
	for _, p := range []server.Prompt{
		{Prompt: mcp.Prompt{Name: "test_simple_prompt", Description: "A simple prompt."},
			Get: say("This is a simple prompt for testing.")},
		{
			Prompt: mcp.Prompt{Name: "test_prompt_with_arguments",
				Description: "A prompt with arguments.",
				Arguments: []mcp.PromptArgument{
					{Name: "arg1", Description: "First", Required: true},
					{Name: "arg2", Description: "Second", Required: true}}},
			Get: func(_ context.Context, a map[string]string) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{
					Messages: []mcp.PromptMessage{
						user(text("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"],
							a["arg2"]))}}, nil
			},
			Complete: among("test", "testValue1", "other"),
		},
		{
			Prompt: mcp.Prompt{Name: "test_prompt_with_embedded_resource",
				Description: "A prompt with a resource.",
				Arguments: []mcp.PromptArgument{
					{Name: "resourceUri", Description: "Which resource", Required: true}}},
			Get: func(_ context.Context, a map[string]string) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{
					Messages: []mcp.PromptMessage{user(embedded(a["resourceUri"])),
						user(text("Please process the embedded resource above."))}}, nil
			},
		},
		{
			Prompt: mcp.Prompt{Name: "test_prompt_with_image",
				Description: "A prompt with a picture."},
			Get: func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{
					Messages: []mcp.PromptMessage{
						user(&mcp.ImageContent{Data: picture, MIMEType: "image/png"}),
						user(text("Please analyze the image above."))}}, nil
			},
		},
		{
			Prompt: mcp.Prompt{Name: "test_input_required_result_prompt",
				Description: "A prompt that asks first."},
			Get: func(ctx context.Context, _ map[string]string) (*mcp.GetPromptResult, error) {
				result, err := server.Elicit(ctx, "user_context",
					form(`{"type":"object","properties":{"context":{"type":"string"}}}`,
						"What is it about?"))
				if err != nil {
					return nil, err
				}
				return &mcp.GetPromptResult{
					Messages: []mcp.PromptMessage{user(text("Context: %s", result.Content))}}, nil
			},
		},
	} {
		errs = append(errs, s.AddPrompt(p))
	}
	return errors.Join(errs...)
}
