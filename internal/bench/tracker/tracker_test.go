package tracker

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	stdwire "github.com/stdwire/stdwire/rpc/mcp"
)

func TestTracker(t *testing.T) {
	for name, serve := range map[string]func(context.Context, *Store, net.Conn){
		"stdwire": func(ctx context.Context, s *Store, c net.Conn) { _ = Stdwire(s).Serve(ctx, c) },
		"go-sdk": func(ctx context.Context, s *Store, c net.Conn) {
			_ = GoSDK(s).Run(ctx, &mcp.IOTransport{Reader: c, Writer: c})
		},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			go serve(t.Context(), &Store{}, there)
			c, err := client.Options{Era: stdwire.Legacy, OnElicit: func(context.Context,
				stdwire.ElicitParams) (*stdwire.ElicitResult, error) {
				return &stdwire.ElicitResult{Action: stdwire.ElicitAccept,
					Content: json.RawMessage(`{"reason":"fixed"}`)}, nil
			}}.Connect(t.Context(), client.Stream(here))
			assert.NilError(t, err)
			defer c.Close()
			script(t, c)
		})
	}
}

func script(t *testing.T, c *client.Client) {
	ctx := t.Context()
	type object = map[string]any
	issue, err := client.CallAs[Issue](ctx, c, "create", object{"title": "Crash"})
	assert.NilError(t, err)
	assert.DeepEqual(t, issue, Issue{ID: 1, Title: "Crash", Status: "open"})
	_, err = client.CallAs[Issue](ctx, c, "create", object{"title": ""})
	assert.ErrorContains(t, err, "title")
	_, err = client.CallAs[Issue](ctx, c, "comment", object{"id": 1, "text": "Again."})
	assert.NilError(t, err)
	_, err = client.CallAs[Issue](ctx, c, "comment", object{"id": 2, "text": "Again."})
	assert.ErrorContains(t, err, "there is no issue 2")
	text, err := client.CallAs[string](ctx, c, "close", object{"id": 1})
	assert.NilError(t, err)
	assert.Equal(t, text, "Crash is closed: fixed")
	list, err := client.CallAs[map[string][]Issue](ctx, c, "list", object{"status": "closed"})
	assert.NilError(t, err)
	assert.Equal(t, len(list["issues"]), 1)
	_, err = client.CallAs[map[string][]Issue](ctx, c, "list", object{"status": "lost"})
	assert.ErrorContains(t, err, "status")

	read, err := c.ReadResource(ctx, "issue://1")
	assert.NilError(t, err)
	assert.Equal(t, read.Contents[0].Text, "#1 Crash (closed)\nAgain.")
	_, err = c.ReadResource(ctx, "issue://2")
	assert.ErrorContains(t, err, "not found")
	prompt, err := c.GetPrompt(ctx, "triage", map[string]string{"title": "Crash"})
	assert.NilError(t, err)
	assert.Equal(t, prompt.Messages[0].Content.(*stdwire.TextContent).Text, "Triage: Crash")
	triage := stdwire.CompleteReference{Type: stdwire.RefPrompt, Name: "triage"}
	completion, err := c.Complete(ctx, triage, "title", "Cr", nil)
	assert.NilError(t, err)
	assert.Equal(t, strings.Join(completion.Values, " "), "Crash")
}
