package tracker

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type (
	createInput struct {
		Title string `json:"title"`
	}
	listInput struct {
		Status Status `json:"status,omitempty" jsonschema:"Only these."`
	}
	listOutput struct {
		Issues []Issue `json:"issues"`
	}
	commentInput struct {
		ID   int    `json:"id"`
		Text string `json:"text"`
	}
	closeInput struct {
		ID int `json:"id"`
	}
)

// GoSDK returns the tracker as a server of go-sdk.
func GoSDK(store *Store) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult,
			error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{
				Values: store.Titles(r.Params.Argument.Value)}}, nil
		}})
	create := schemaOf[createInput]()
	create.Properties["title"].MinLength = jsonschema.Ptr(1)
	mcp.AddTool(s, &mcp.Tool{Name: "create", Description: "Create an issue.", InputSchema: create},
		func(_ context.Context, _ *mcp.CallToolRequest, in createInput) (*mcp.CallToolResult, Issue,
			error) {
			return nil, store.Create(in.Title), nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "list", Description: "List issues.",
		InputSchema: schemaOf[listInput](), OutputSchema: schemaOf[listOutput]()},
		func(_ context.Context, _ *mcp.CallToolRequest, in listInput) (*mcp.CallToolResult,
			listOutput, error) {
			return nil, listOutput{store.List(in.Status)}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "comment", Description: "Comment on an issue."},
		func(_ context.Context, _ *mcp.CallToolRequest, in commentInput) (*mcp.CallToolResult,
			Issue, error) {
			issue, ok := store.Edit(in.ID,
				func(i *Issue) { i.Comments = append(i.Comments, in.Text) })
			if !ok {
				return nil, issue, fmt.Errorf("there is no issue %d", in.ID)
			}
			return nil, issue, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "close", Description: "Close an issue, with a reason."},
		func(ctx context.Context, r *mcp.CallToolRequest, in closeInput) (*mcp.CallToolResult, any,
			error) {
			answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Why is it closed?",
				RequestedSchema: &jsonschema.Schema{Type: "object",
					Properties: map[string]*jsonschema.Schema{
						"reason": {Type: "string", Enum: []any{"fixed", "wontfix"}}},
					Required: []string{"reason"}}})
			if err != nil {
				return nil, nil, err
			}
			text := "It is still open."
			if answer.Action == "accept" {
				issue, ok := store.Edit(in.ID, func(i *Issue) { i.Status = "closed" })
				if !ok {
					return nil, nil, fmt.Errorf("there is no issue %d", in.ID)
				}
				text = fmt.Sprintf("%s is closed: %v", issue.Title, answer.Content["reason"])
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}},
				nil, nil
		})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "issue://{id}", Name: "issue"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id, _ := strconv.Atoi(strings.TrimPrefix(r.Params.URI, "issue://"))
			issue, ok := store.Edit(id, func(*Issue) {})
			if !ok {
				return nil, mcp.ResourceNotFoundError(r.Params.URI)
			}
			return &mcp.ReadResourceResult{
				Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: issue.Text()}}}, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "triage", Arguments: []*mcp.PromptArgument{{Name: "title"}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user",
				Content: &mcp.TextContent{Text: "Triage: " + r.Params.Arguments["title"]}}}}, nil
		})
	return s
}

// schemaOf infers a schema in which a Status is an enum.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[Status](): {Type: "string",
			Enum: []any{"open", "closed"}}}})
	if err != nil {
		panic(err)
	}
	return s
}
