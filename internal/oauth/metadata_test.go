package oauth

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestParseResourceMetadata(t *testing.T) {
	m, err := ParseResourceMetadata(
		[]byte(`{"resource":"https://a.example/mcp","authorization_servers":["https://b.example","https://c.example/t/"],"scopes_supported":["x","y"],
		"bearer_methods_supported":["header"],"dpop_bound_access_tokens_required":true,"unknown":{"a":[1]},"Resource":"https://evil.example","jwks_uri":null}`))
	assert.NilError(t, err)
	assert.DeepEqual(t, m, &ResourceMetadata{
		Resource:             "https://a.example/mcp",
		AuthorizationServers: []string{"https://b.example", "https://c.example/t/"},
		ScopesSupported:      []string{"x", "y"},
		BearerMethods:        []string{"header"}, DPoPBoundTokensNeeded: true,
	})
	m, err = ParseResourceMetadata(
		[]byte(`{"resource":"https://a.example","resource_name":{"en":"x"},"resource_documentation":1,"bearer_methods_supported":"header","resource_policy_uri":[],"jwks_uri":{}}`))
	assert.NilError(t, err)
	assert.DeepEqual(t, m, &ResourceMetadata{Resource: "https://a.example"})
	_, err = ParseResourceMetadata([]byte(`{"error":"not found"}`))
	assert.ErrorIs(t, err, ErrNotMetadata)
	for text, want := range map[string]string{
		``:                                "the document is not valid",
		`[]`:                              "the document is not valid",
		`{"resource":1}`:                  "the document is not valid",
		`{"resource":"https://a"} {}`:     "the document is not valid",
		"{\"resource\":\"https://\xff\"}": "the document is not valid",
		`{"resource":"https://a","resource":"https://b"}`:              "the key occurs twice",
		`{"resource":"https://a","authorization_servers":"https://b"}`: "the document is not valid",
		`{}`:                             "resource is missing",
		`null`:                           "resource is missing",
		`{"resource":"/mcp"}`:            "resource is not an absolute URL of https: or http:",
		`{"resource":"https:///mcp"}`:    "resource is not an absolute URL of https: or http:",
		`{"resource":"file:///etc"}`:     "resource is not an absolute URL of https: or http:",
		`{"resource":"https://a\u0000"}`: "resource is not a URL",
		`{"resource":"https://a/#x"}`:    "resource has a fragment",
		`{"resource":"https://a/#"}`:     "resource has a fragment",
		`{"resource":"https://u:p@a/"}`:  "resource names a user",
		`{"resource":"https://a","authorization_servers":["https://b",""]}`: "authorization_servers is missing",
		`{"resource":"https://a/` + strings.Repeat("x", MaxDocument) +
			`"}`: "the document has more than 262144 bytes",
	} {
		_, err := ParseResourceMetadata([]byte(text))
		assert.ErrorContains(t, err, want, "%.200s", text)
	}
}

func TestParseServerMetadata(t *testing.T) {
	m, err := ParseServerMetadata(
		[]byte(`{"issuer":"https://a.example/t","token_endpoint":"https://a.example/token","code_challenge_methods_supported":["S256"],
		"authorization_response_iss_parameter_supported":true,"client_id_metadata_document_supported":true,"claims_supported":["sub"]}`))
	assert.NilError(t, err)
	assert.DeepEqual(t, m, &ServerMetadata{
		Issuer: "https://a.example/t", TokenEndpoint: "https://a.example/token",
		CodeChallengeMethods: []string{"S256"}, IssParameter: true, ClientIDMetadataDocument: true,
	})
	// A member that not everybody uses does not disable the rest.
	m, err = ParseServerMetadata(
		[]byte(`{"issuer":"https://a.example","jwks_uri":[1],"introspection_endpoint":{},"revocation_endpoint":false,"response_types_supported":"code","grant_types_supported":5}`))
	assert.NilError(t, err)
	assert.DeepEqual(t, m, &ServerMetadata{Issuer: "https://a.example"})
	_, err = ParseServerMetadata([]byte(`{"status":"ok"}`))
	assert.ErrorIs(t, err, ErrNotMetadata)
	_, err = ParseServerMetadata([]byte(`{"token_endpoint":"https://a"}`))
	assert.Assert(t, !errors.Is(err, ErrNotMetadata))
	for text, want := range map[string]string{
		`{"token_endpoint":"https://a"}`: "issuer is missing",
		`{"issuer":"https://a#f"}`:       "issuer has a fragment",
		`{"issuer":["https://a"]}`:       "the document is not valid",
	} {
		_, err := ParseServerMetadata([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

// Decoding an encoded document gives the same document.
func FuzzParseMetadata(f *testing.F) {
	for _, seed := range []string{
		`{"resource":"https://a","issuer":"https://b/c","scopes_supported":["x"]}`,
		`{"issuer":"http://[::1]:80"}`, `{`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := ParseResourceMetadata(data); err == nil {
			text, err := json.Marshal(m)
			assert.NilError(t, err)
			again, err := ParseResourceMetadata(text)
			if len(text) <= MaxDocument {
				assert.NilError(t, err)
				assert.Equal(t, again.Resource, m.Resource)
			}
			_, err = ResourceMetadataURLs(m.Resource)
			assert.NilError(t, err)
		}
		if m, err := ParseServerMetadata(data); err == nil {
			text, err := json.Marshal(m)
			assert.NilError(t, err)
			again, err := ParseServerMetadata(text)
			if len(text) <= MaxDocument {
				assert.NilError(t, err)
				assert.Equal(t, again.Issuer, m.Issuer)
			}
		}
	})
}
