package streamable_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

func cardOptions() streamable.Options {
	return streamable.Options{
		Principal: func(*http.Request) (string, error) { return "", io.EOF }, // nobody is let in
		Card: &mcp.ServerCard{Name: "com.example/weather", Version: "1.0.0", Description: "Weather",
			Remotes: []mcp.CardRemote{{Type: "streamable-http", URL: "https://example.com/mcp",
				Versions: []mcp.Revision{mcp.Rev20260728}}}}}
}

// Anybody can read the card and the catalog, from a page of any origin, and need not read them
// twice.
func TestServerCard(t *testing.T) {
	h := cardOptions().New(server.New(server.Info{Name: "weather", Version: "1.0.0"}, nil))
	defer h.Close()
	for _, tt := range []struct{ path, contentType, want string }{
		{"/mcp/server-card", "application/mcp-server-card+json",
			`{"$schema":"https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json","name":"com.example/weather","version":"1.0.0","description":"Weather","remotes":[{"type":"streamable-http","url":"https://example.com/mcp","supportedProtocolVersions":["2026-07-28"]}]}`},
		{"/.well-known/ai-catalog.json", "application/ai-catalog+json",
			`{"specVersion":"1.0","entries":[{"identifier":"urn:air:example.com:mcp:weather","type":"application/mcp-server-card+json","url":"https://example.com/mcp/server-card"}]}`},
	} {
		request := func(method, path string, header ...string) *http.Response {
			r := httptest.NewRequest(method, path, nil)
			r.Header.Set("Origin", "https://elsewhere.example")
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Result()
		}
		got := request("GET", tt.path)
		body, err := io.ReadAll(got.Body)
		assert.NilError(t, err)
		assert.Equal(t, got.StatusCode, 200)
		assert.Equal(t, string(body), tt.want)
		assert.Equal(t, got.Header.Get("Content-Type"), tt.contentType)
		assert.Equal(t, got.Header.Get("Cache-Control"), "public, max-age=3600")
		tag := got.Header.Get("ETag")
		assert.Assert(t, len(tag) == 18, tag)
		for name, want := range map[string]string{"Origin": "*", "Methods": "GET",
			"Headers": "Content-Type, If-None-Match"} {
			assert.Equal(t, got.Header.Get("Access-Control-Allow-"+name), want)
		}
		assert.Equal(t, got.Header.Get("Access-Control-Expose-Headers"), "ETag")
		assert.Equal(t, request("GET", tt.path, "If-None-Match", tag).StatusCode, 304)
		assert.Equal(t, request("GET", tt.path, "If-None-Match", `"x"`).StatusCode, 200)
		assert.Equal(t, request("HEAD", tt.path).StatusCode, 200)
		assert.Equal(t, request("OPTIONS", tt.path).StatusCode, 204)
		assert.Equal(t, request("POST", tt.path).StatusCode, 405)
		assert.Equal(t, request("GET", "/mcp").StatusCode, 403) // it is for no page of that origin
	}
}

// Without the option there is no card, and an invalid one is not served.
func TestNoServerCard(t *testing.T) {
	for _, change := range []func(*streamable.Options){
		func(o *streamable.Options) { o.Card = nil },
		func(o *streamable.Options) { o.Card.Name = "weather" },
		func(o *streamable.Options) { o.Card.Remotes = nil },
	} {
		o := cardOptions()
		change(&o)
		h := o.New(server.New(server.Info{Name: "weather", Version: "1.0.0"}, nil))
		defer h.Close()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/mcp/server-card", nil))
		assert.Equal(t, w.Code, 401)
	}
}

func TestServerCardCheck(t *testing.T) {
	const valid = `{"$schema":"https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json","name":"example-org/x","version":"1","description":"d","title":"t","websiteUrl":"https://example.com","remotes":[{"type":"streamable-http","url":"https://{tenant}.example.com/mcp","headers":[]},{"type":"sse","url":"{base}/sse"}]}`
	for _, tt := range [][3]string{{"", "", ""},
		{`"name":"example-org/x"`, `"name":"x"`, "is not NAMESPACE/NAME"},
		{`"name":"example-org/x"`, `"name":"a/b/c"`, "is not NAMESPACE/NAME"},
		{`"$schema":"https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",`, "",
			"$schema must be"},
		{`schemas/v1/`, `schemas/2025-11-25/`, "$schema must be"},
		{`"version":"1"`, `"version":"^1"`, "is not one version"},
		{`"description":"d"`, `"description":""`, "has 0 characters"},
		{`"description":"d"`, `"description":"` + strings.Repeat("é", 101) + `"`, "has 101 characters"},
		{`"title":"t"`, `"title":"` + strings.Repeat("t", 101) + `"`, "title has more than"},
		{`"https://example.com"`, `"example"`, "websiteUrl"},
		{`"type":"sse"`, `"type":"pipe"`, `remotes[1]: the type "pipe"`},
		{`"{base}/sse"`, `"file:///x"`, "remotes[1]"},
	} {
		var card mcp.ServerCard
		assert.NilError(t, json.Unmarshal([]byte(strings.Replace(valid, tt[0], tt[1], 1)), &card))
		err := card.Check()
		if tt[2] == "" {
			assert.NilError(t, err)
			continue
		}
		assert.ErrorContains(t, err, tt[2])
	}
}
