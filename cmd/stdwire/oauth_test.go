//go:build unix

package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jose"
)

// An authority is the part of an authorization server that a resource server uses.
type authority struct {
	t      *testing.T
	url    string
	signer *jose.Signer
}

func newAuthority(t *testing.T) *authority {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	signer, err := jose.NewSigner(private, jose.ES256)
	assert.NilError(t, err)
	key, err := signer.Key().WithID("k").MarshalJSON()
	assert.NilError(t, err)
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("/.well-known/oauth-authorization-server",
		func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, s.URL, s.URL+"/keys")
		})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"keys":[%s]}`, key)
	})
	return &authority{t, s.URL, signer}
}

func (a *authority) token(subject, audience, scope string) string {
	a.t.Helper()
	text, err := a.signer.Sign(jose.Header{Type: "at+jwt", KeyID: "k"}, map[string]any{
		"iss": a.url, "sub": subject, "aud": audience, "scope": scope,
		"exp": time.Now().Add(time.Hour).Unix(),
	})
	assert.NilError(a.t, err)
	return text
}

const audience = "https://files.example.com/mcp"

// A protected is stdwire serve --http that accepts an authority's tokens for the audience.
type protected struct {
	t       *testing.T
	address string
	stop    func() (stderr string)
}

func protect(t *testing.T, a *authority, args ...string) *protected {
	t.Helper()
	cmd, _, _ := stdwire(t,
		append([]string{"serve", "--http", "127.0.0.1:0", "--oauth-issuer", a.url,
			"--oauth-audience", audience}, args...)...)
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	said := func() string { // servers of the configuration may start meanwhile
		for {
			line, err := lines.ReadString('\n')
			assert.NilError(t, err)
			if !strings.Contains(line, "level=INFO") {
				return line
			}
		}
	}
	assert.Equal(t, said(),
		"stdwire: accepting access tokens of "+a.url+", issued for "+audience+"\n")
	line := said()
	_, rest, ok := strings.Cut(line, "serving MCP at ")
	assert.Assert(t, ok, line)
	address, _, _ := strings.Cut(rest, "/mcp")
	logged := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(lines)
		logged <- string(text)
	}()
	return &protected{t, address, func() string {
		assert.NilError(t, cmd.Process.Signal(os.Interrupt))
		text := <-logged
		assert.Equal(t, exitCode(cmd.Wait()), 0)
		return text
	}}
}

// ask sends a request, with lines of "Name: value" as headers.
func (p *protected) ask(method, path, host, token, body string, headers ...string) (*http.Response,
	string) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.address+path,
		strings.NewReader(body))
	assert.NilError(p.t, err)
	request.Host = host
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	assert.NilError(p.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	assert.NilError(p.t, err)
	return response, string(text)
}

// call calls a tool in the modern era.
func (p *protected) call(token, tool, arguments string) (*http.Response, string) {
	p.t.Helper()
	return p.ask("POST", "/mcp", "", token,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+
			arguments+
			`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"Accept: application/json, text/event-stream", "Mcp-Protocol-Version: 2026-07-28",
		"Mcp-Method: tools/call", "Mcp-Name: "+tool)
}

// keepsSecret checks that text does not contain the tokens.
func keepsSecret(t *testing.T, text string, tokens ...string) {
	t.Helper()
	for _, token := range tokens {
		for part := range strings.SplitSeq(token, ".") {
			assert.Assert(t, !strings.Contains(text, part), text)
		}
	}
}

// The built-in server accepts the tokens of an authorization server and discovers its keys.
func TestServeWithOAuth(t *testing.T) {
	issuer := newAuthority(t)
	p := protect(t, issuer, "--root", t.TempDir(), "--oauth-scope", "files", "--oauth-scope",
		"more")
	const where = "https://files.example.com/.well-known/oauth-protected-resource/mcp"
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	good := issuer.token("ada", audience, "files more")
	for _, tt := range []struct {
		token           string
		status, api     int
		challengeBegins string
	}{
		{good, 200, 200, ""},
		{"", 401, 401, `Bearer resource_metadata="` + where + `", scope="files more", DPoP `},
		{"x", 401, 401, `Bearer resource_metadata="` + where +
			`", scope="files more", error="invalid_token"`},
		{issuer.token("ada", "https://other.example.com/mcp", "files more"), 401, 401,
			`Bearer resource_metadata="` + where + `", scope="files more", error="invalid_token"`},
		{issuer.token("ada", audience, "files"), 403, 403, `Bearer resource_metadata="` + where +
			`", scope="files more", error="insufficient_scope"`},
	} {
		for _, host := range []string{"", "files.example.com", "localhost:80"} {
			response, text := p.ask("POST", "/mcp", host, tt.token, initialize)
			assert.Equal(t, response.StatusCode, tt.status, text)
			challenge := response.Header.Get("WWW-Authenticate")
			assert.Assert(t, strings.HasPrefix(challenge, tt.challengeBegins) &&
				(challenge == "") == (tt.challengeBegins == ""), challenge)
		}
		response, text := p.ask("POST", "/v1/fs", "", tt.token, `{"action":"list"}`)
		assert.Equal(t, response.StatusCode, tt.api, text)
	}
	response, _ := p.ask("POST", "/mcp", "evil.example", good, initialize)
	assert.Equal(t, response.StatusCode, 403)
	response, text := p.ask("POST", "/v1/fs?access_token="+good, "", "", `{"action":"list"}`)
	assert.Equal(t, response.StatusCode, 400, text)

	for _, path := range []string{"/.well-known/oauth-protected-resource/mcp",
		"/.well-known/oauth-protected-resource"} {
		response, text := p.ask("GET", path, "files.example.com", "", "")
		assert.Equal(t, response.StatusCode, 200)
		var metadata struct {
			Resource string
			Servers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
		}
		assert.NilError(t, json.Unmarshal([]byte(text), &metadata))
		assert.Equal(t, metadata.Resource, audience)
		assert.DeepEqual(t, metadata.Servers, []string{issuer.url})
		assert.DeepEqual(t, metadata.Scopes, []string{"files", "more"})
	}
	keepsSecret(t, p.stop(), good)
}

// A gateway accepts the same tokens and does not forward them. Each principal has its own client of
// a server that must not be shared.
func TestGatewayWithOAuth(t *testing.T) {
	var mu sync.Mutex
	var seen strings.Builder
	found := 0 // clients that have looked for the server
	behind := echoServer(t, "letmein")
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		mu.Lock()
		fmt.Fprintf(&seen, "%s %v %s\n", r.URL, r.Header, body)
		if strings.Contains(string(body), `"server/discover"`) {
			found++
		}
		mu.Unlock()
		behind.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	ownRuntime(t)
	t.Setenv("UPSTREAM", "letmein")
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t,
		os.WriteFile(path,
			fmt.Appendf(nil,
				`{"mcpServers":{"up":{"url":%q,"headers":{"Authorization":"Bearer ${UPSTREAM}"}}}}`,
				upstream.URL), 0o600))

	issuer := newAuthority(t)
	p := protect(t, issuer, "--config", path, "--oauth-scope", "mcp")
	ada, bob, weak := issuer.token("ada", audience, "mcp"), issuer.token("bob", audience, "mcp"),
		issuer.token("eve", audience, "")
	clients := func() int {
		mu.Lock()
		defer mu.Unlock()
		return found
	}
	response, _ := p.call("", "up__echo", `{"text":"x"}`)
	assert.Equal(t, response.StatusCode, 401)
	response, _ = p.call(weak, "up__echo", `{"text":"x"}`)
	assert.Equal(t, response.StatusCode, 403)
	response, _ = p.call("letmein", "up__echo", `{"text":"x"}`)
	assert.Equal(t, response.StatusCode, 401,
		"what is good behind the gateway is not good in front of it")

	says := func(token, word string) {
		t.Helper()
		response, text := p.call(token, "up__echo", `{"text":"`+word+`"}`)
		assert.Equal(t, response.StatusCode, 200, text)
		assert.Assert(t, strings.Contains(text, word) &&
			!strings.Contains(text, `"isError":true`), text)
	}
	says(ada, "first")
	before := clients()
	says(ada, "second")
	assert.Equal(t, clients(), before)
	says(bob, "third")
	assert.Equal(t, clients(), before, "they share it")
	said := p.stop()
	mu.Lock()
	defer mu.Unlock()
	for _, word := range []string{"first", "second", "third", "[Bearer letmein]"} {
		assert.Assert(t, strings.Contains(seen.String(), word), seen.String())
	}
	keepsSecret(t, seen.String()+said, ada, bob, weak)
	keepsSecret(t, said, "letmein")
}
