package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jose"
)

// The built-in server with the tokens of an authorization server, of which it finds the keys itself.
func TestServeWithOAuth(t *testing.T) {
	const audience = "https://files.example.com/mcp"
	signer, err := jose.Generate()
	assert.NilError(t, err)
	key, err := signer.Key().WithID("k").MarshalJSON()
	assert.NilError(t, err)
	mux := http.NewServeMux()
	issuer := httptest.NewServer(mux)
	defer issuer.Close()
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, issuer.URL, issuer.URL+"/keys")
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"keys":[%s]}`, key) })
	token := func(audience, scope string) string {
		text, err := signer.Sign(jose.Header{Type: "at+jwt", KeyID: "k"}, map[string]any{
			"iss": issuer.URL, "sub": "ada", "aud": audience, "scope": scope, "exp": time.Now().Add(time.Hour).Unix(),
		})
		assert.NilError(t, err)
		return text
	}

	cmd, _, _ := stdwire(t, "serve", "--root", t.TempDir(), "--http", "127.0.0.1:0", "--oauth-issuer", issuer.URL, "--oauth-audience", audience, "--oauth-scope", "files", "--oauth-scope", "more")
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	said, err := lines.ReadString('\n')
	assert.NilError(t, err)
	assert.Equal(t, said, "stdwire: taking access tokens of "+issuer.URL+", issued for "+audience+"\n")
	said, err = lines.ReadString('\n')
	assert.NilError(t, err)
	_, rest, ok := strings.Cut(said, "serving MCP at ")
	assert.Assert(t, ok, said)
	address, _, _ := strings.Cut(rest, "/mcp")
	logged := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(lines)
		logged <- string(text)
	}()

	ask := func(method, path, host, token, body string) (*http.Response, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(body))
		assert.NilError(t, err)
		request.Host = host
		if method == http.MethodPost {
			request.Header.Set("Content-Type", "application/json")
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := http.DefaultClient.Do(request)
		assert.NilError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		assert.NilError(t, err)
		return response, string(text)
	}
	const where = "https://files.example.com/.well-known/oauth-protected-resource/mcp"
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	good := token(audience, "files more")
	for _, tt := range []struct {
		token           string
		status, api     int
		challengeBegins string
	}{
		{good, 200, 200, ""},
		{"", 401, 401, `Bearer resource_metadata="` + where + `", scope="files more", DPoP `},
		{"x", 401, 401, `Bearer resource_metadata="` + where + `", scope="files more", error="invalid_token"`},
		{token("https://other.example.com/mcp", "files more"), 401, 401, `Bearer resource_metadata="` + where + `", scope="files more", error="invalid_token"`},
		{token(audience, "files"), 403, 403, `Bearer resource_metadata="` + where + `", scope="files more", error="insufficient_scope"`},
	} {
		for _, host := range []string{"", "files.example.com", "localhost:80"} {
			response, text := ask("POST", "/mcp", host, tt.token, initialize)
			assert.Equal(t, response.StatusCode, tt.status, text)
			challenge := response.Header.Get("WWW-Authenticate")
			assert.Assert(t, strings.HasPrefix(challenge, tt.challengeBegins) && (challenge == "") == (tt.challengeBegins == ""), challenge)
		}
		response, text := ask("POST", "/v1/fs", "", tt.token, `{"action":"list"}`)
		assert.Equal(t, response.StatusCode, tt.api, text)
	}
	response, _ := ask("POST", "/mcp", "evil.example", good, initialize)
	assert.Equal(t, response.StatusCode, 403)
	response, text := ask("POST", "/v1/fs?access_token="+good, "", "", `{"action":"list"}`)
	assert.Equal(t, response.StatusCode, 400, text)

	for _, path := range []string{"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"} {
		response, text := ask("GET", path, "files.example.com", "", "")
		assert.Equal(t, response.StatusCode, 200)
		var metadata struct {
			Resource string
			Servers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
		}
		assert.NilError(t, json.Unmarshal([]byte(text), &metadata))
		assert.Equal(t, metadata.Resource, audience)
		assert.DeepEqual(t, metadata.Servers, []string{issuer.URL})
		assert.DeepEqual(t, metadata.Scopes, []string{"files", "more"})
	}
	assert.NilError(t, cmd.Process.Signal(os.Interrupt))
	text = <-logged
	assert.Equal(t, exitCode(cmd.Wait()), 0)
	for _, part := range strings.Split(good, ".") {
		assert.Assert(t, !strings.Contains(text, part), text)
	}
}
