package tracker

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// JSONSchema makes a Status an enum wherever it is used.
func (Status) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","enum":["open","closed"]}`)
}

// Stdwire returns the tracker as a server of stdwire.
func Stdwire(store *Store) *server.Server {
	s := server.New(server.Info{Name: "tracker", Version: "1"}, nil)
	server.AddTool(s, mcp.Tool{Name: "create", Description: "Create an issue."},
		func(_ context.Context, in struct {
			Title string `json:"title" minLength:"1"`
		}) (Issue, error) {
			return store.Create(in.Title), nil
		})
	server.AddTool(s, mcp.Tool{Name: "list", Description: "List issues."},
		func(_ context.Context, in struct {
			Status Status `json:"status,omitempty" doc:"Only these."`
		}) (map[string][]Issue, error) {
			return map[string][]Issue{"issues": store.List(in.Status)}, nil
		})
	server.AddTool(s, mcp.Tool{Name: "comment", Description: "Comment on an issue."},
		func(_ context.Context, in struct {
			ID   int    `json:"id"`
			Text string `json:"text"`
		}) (Issue, error) {
			return edit(store, in.ID, func(i *Issue) { i.Comments = append(i.Comments, in.Text) })
		})
	server.AddTool(s, mcp.Tool{Name: "close", Description: "Close an issue, with a reason."},
		func(ctx context.Context, in struct {
			ID int `json:"id"`
		}) (string, error) {
			answer, action, err := server.Ask[struct {
				Reason string `json:"reason" enum:"fixed,wontfix"`
			}](ctx, "reason", "Why is it closed?")
			if err != nil || action != mcp.ElicitAccept {
				return "It is still open.", err
			}
			issue, err := edit(store, in.ID, func(i *Issue) { i.Status = "closed" })
			return issue.Title + " is closed: " + answer.Reason, err
		})
	server.Must(s.AddResourceTemplate(server.ResourceTemplate{
		ResourceTemplate: mcp.ResourceTemplate{URITemplate: "issue://{id}", Name: "issue"},
		Read: func(_ context.Context, uri string,
			v map[string]string) (*mcp.ReadResourceResult, error) {
			id, _ := strconv.Atoi(v["id"])
			issue, ok := store.Edit(id, func(*Issue) {})
			if !ok {
				return nil, server.ResourceNotFound(uri)
			}
			return &mcp.ReadResourceResult{
				Contents: []mcp.ResourceContents{{URI: uri, Text: issue.Text()}}}, nil
		}}))
	server.Must(s.AddPrompt(server.Prompt{
		Prompt: mcp.Prompt{Name: "triage", Arguments: []mcp.PromptArgument{{Name: "title"}}},
		Get: func(_ context.Context, in map[string]string) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{
				{Role: mcp.RoleUser, Content: mcp.Text("Triage: " + in["title"])}}}, nil
		},
		Complete: func(_ context.Context, _, typed string,
			_ map[string]string) (mcp.Completion, error) {
			return mcp.Completion{Values: store.Titles(typed)}, nil
		}}))
	return s
}

func edit(store *Store, id int, change func(*Issue)) (Issue, error) {
	issue, ok := store.Edit(id, change)
	if !ok {
		return issue, dispatch.Errorf(dispatch.NotFound, "there is no issue %d", id)
	}
	return issue, nil
}
