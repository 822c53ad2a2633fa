package auth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/auth"
	"github.com/stdwire/stdwire/server/streamable"
)

type Note struct {
	Text string `json:"text"`
}

// Everybody with a token may read notes, and those with the scope notes:write may also write. The
// tokens are fixed words here; [auth.JWTOptions] and [auth.IntrospectionOptions] verify those of an
// authorization server.
func Example() {
	tokens := map[string]*auth.Identity{
		"t1": {Issuer: "https://auth.example.com", Subject: "ada", Scopes: []string{"notes:read"}},
		"t2": {Issuer: "https://auth.example.com", Subject: "ada", Scopes: []string{"notes:write"}},
	}
	resource, err := auth.Options{
		Resource:             "https://mcp.example.com/mcp",
		AuthorizationServers: []string{"https://auth.example.com"},
		Verify: func(_ context.Context, token string) (*auth.Identity, error) {
			if id := tokens[token]; id != nil {
				return id, nil
			}
			return nil, &auth.TokenError{Reason: "the token is not known"}
		},
		Scopes: []string{"notes:read"},
		MessageScopes: func(m streamable.Message) []string {
			if m.Method == "tools/call" && m.Subject == "note_write" {
				return []string{"notes:write"}
			}
			return nil
		},
		ImpliedScopes: map[string][]string{"notes:write": {"notes:read"}},
	}.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "note.write", Summary: "Write a note.", Type: dispatch.Read},
		func(ctx context.Context, n Note) (Note, error) {
			return Note{n.Text + ", says " + auth.IdentityFrom(ctx).Subject}, nil
		})
	h := streamable.Options{Authorize: resource.Authorize}.New(
		server.New(server.Info{Name: "notes", Version: "1.0.0"}, catalog))
	defer h.Close()
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	for _, path := range resource.MetadataPaths() {
		mux.Handle(path, resource)
	}

	call := func(token string) {
		req := httptest.NewRequest("POST", "https://mcp.example.com/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{
			"name":"note_write","arguments":{"text":"hello"},
			"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", "tools/call")
		req.Header.Set("Mcp-Name", "note_write")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, req)
		_, said, _ := strings.Cut(answer.Body.String(), "hello, ")
		said, _, _ = strings.Cut(said, `"`)
		fmt.Println(answer.Code, answer.Header().Get("WWW-Authenticate")+said)
	}
	call("")
	call("t1")
	call("t2")
	metadata := httptest.NewRecorder()
	mux.ServeHTTP(metadata,
		httptest.NewRequest("GET",
			"https://mcp.example.com/.well-known/oauth-protected-resource/mcp", nil))
	fmt.Println(metadata.Body)
	// Output:
	// 401 Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp", scope="notes:read"
	// 403 Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp", scope="notes:read notes:write", error="insufficient_scope", error_description="the token lacks a required scope"
	// 200 says ada
	// {"resource":"https://mcp.example.com/mcp","authorization_servers":["https://auth.example.com"],"scopes_supported":["notes:read"],"bearer_methods_supported":["header"]}
}
