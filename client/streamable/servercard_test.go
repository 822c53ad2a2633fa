package streamable_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const validCard = `{"$schema":"https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json","name":"com.example/x","version":"1","description":"d"}`

// A card is read from the reserved place, without credentials, and is bounded.
func TestServerCard(t *testing.T) {
	status, contentType, body := 200, mcp.ServerCardType, validCard
	var seen []*http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r)
		w.Header().Set("Content-Type", contentType)
		if status == http.StatusFound {
			w.Header().Set("Location", "https://elsewhere.example/")
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer s.Close()
	o := streamable.Options{Header: http.Header{"Authorization": {"Bearer secret"}}}
	endpoint := strings.Replace(s.URL, "http://", "http://ada:secret@", 1) + "/a/mcp/?key=secret"
	card, err := o.ServerCard(t.Context(), endpoint)
	assert.NilError(t, err)
	assert.Equal(t, card.Name, "com.example/x")
	assert.Equal(t, len(seen), 1)
	assert.Equal(t, seen[0].Method+" "+seen[0].URL.String(), "GET /a/mcp/server-card")
	assert.Equal(t, seen[0].Header.Get("Authorization"), "")
	assert.Equal(t, seen[0].Header.Get("Accept"), mcp.ServerCardType)
	body = "\uFEFF" + body
	_, err = o.ServerCard(t.Context(), endpoint)
	assert.NilError(t, err)
	seen = seen[:1]
	contentType, body = "application/ai-catalog+json; charset=utf-8",
		`{"specVersion":"1.0","entries":[{"identifier":"x","type":"y","url":"z"}]}`
	catalog, err := o.Catalog(t.Context(), endpoint)
	assert.NilError(t, err)
	assert.Equal(t, len(catalog.Entries), 1)
	assert.Equal(t, seen[1].URL.String(), "/.well-known/ai-catalog.json")

	for _, tt := range []struct {
		status            int
		contentType, body string
		want              string
	}{
		{404, mcp.ServerCardType, validCard, "there is no server card"},
		{401, mcp.ServerCardType, validCard, "there is no server card"},
		{200, "text/html", validCard, "there is no server card"},
		{200, mcp.ServerCardType, "{", "unexpected end of JSON"},
		{200, "application/json", "{}", "$schema must be"},
		{200, mcp.ServerCardType, `"` + strings.Repeat("x", 300<<10) + `"`, "has more than 262144 bytes"},
		{302, "text/plain", "", "redirected to another server"},
	} {
		status, contentType, body = tt.status, tt.contentType, tt.body
		_, err := o.ServerCard(t.Context(), endpoint)
		assert.Check(t, err != nil && strings.Contains(err.Error(), tt.want), "%v: %v", tt, err)
		assert.Check(t, !strings.Contains(err.Error(), "secret"), err)
	}
	_, err = o.ServerCard(t.Context(), "http://[secret")
	assert.ErrorContains(t, err, "the URL is invalid")
}
