package hook

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/auth"
)

// A hook learns who calls, with which program and in which session, in both eras; and no token, no
// claim and no session ID.
func TestMessageNamesCaller(t *testing.T) {
	id := &auth.Identity{Issuer: "https://as.example", Subject: "ada", ClientID: "editor",
		Groups: []string{"dev", "ops"}, Scopes: []string{"read"}, KeyThumbprint: "s3cret",
		Claims: map[string]json.RawMessage{"email": json.RawMessage(`"s3cret"`)}}
	for _, tt := range []struct {
		connect func(testing.TB, *server.Server, client.Options) *client.Client
		era     mcp.Era
		session string
	}{
		{mcptest.Connect, mcp.Modern, `"session":"SESSION",`},
		{mcptest.Connect, mcp.Legacy, `"session":"SESSION",`},
		{mcptest.ConnectHTTP, mcp.Modern, ""},
		{mcptest.ConnectHTTP, mcp.Legacy, `"session":"SESSION",`},
	} {
		var texts []string
		tool := server.RawTool{Tool: mcp.Tool{Name: "read",
			InputSchema: json.RawMessage(`{"type":"object"}`)},
			Call: func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult,
				error) {
				for _, ctx := range []context.Context{ctx, auth.WithIdentity(ctx, id)} {
					text, err := mcp.Marshal(newMessage(ctx, &dispatch.Invocation{Kind: "tool",
						Server: "files", Name: "read", Principal: id.Principal(),
						RequestID: strings.Repeat("7", 1000)}, phaseBefore, arguments))
					assert.Check(t, err == nil)
					session := `"session":"` + server.ClientFrom(ctx).Session
					texts = append(texts,
						strings.Replace(string(text), session, `"session":"SESSION`, 1))
				}
				return &mcp.CallToolResult{}, nil
			}}
		s := server.Options{}.New(server.Info{Name: "s"}, nil)
		assert.NilError(t, s.AddRawTool(tool))
		c := tt.connect(t, s, client.Options{Era: tt.era,
			Info: mcp.Implementation{Name: "ed", Version: "1.2"}})
		_, err := c.CallToolRaw(t.Context(), "read", json.RawMessage(`{"a":1}`))
		assert.NilError(t, err)
		before := `{"phase":"before","server":"files","tool":"read",` +
			`"principal":"https://as.example#ada",`
		after := `"client":{"name":"ed","version":"1.2"},` + tt.session + `"request_id":"` +
			strings.Repeat("7", maxRequestID) + `…","arguments":{"a":1}}`
		assert.DeepEqual(t, texts, []string{before + after, before +
			`"identity":{"issuer":"https://as.example","subject":"ada","client_id":"editor",` +
			`"groups":["dev","ops"],"scopes":["read"]},` + after})
	}
}
