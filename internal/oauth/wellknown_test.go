package oauth

import (
	"net/url"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestResourceMetadataURLs(t *testing.T) {
	for resource, want := range map[string]string{
		"https://a.example":             "https://a.example/.well-known/oauth-protected-resource",
		"https://a.example/":            "https://a.example/.well-known/oauth-protected-resource",
		"https://a.example:8443/mcp":    "https://a.example:8443/.well-known/oauth-protected-resource/mcp https://a.example:8443/.well-known/oauth-protected-resource",
		"https://a.example/public/mcp/": "https://a.example/.well-known/oauth-protected-resource/public/mcp/ https://a.example/.well-known/oauth-protected-resource",
		"https://a.example/a%2Fb?t=1":   "https://a.example/.well-known/oauth-protected-resource/a%2Fb?t=1 https://a.example/.well-known/oauth-protected-resource",
		"https://a.example?t=1":         "https://a.example/.well-known/oauth-protected-resource?t=1 https://a.example/.well-known/oauth-protected-resource",
		"http://[::1]:80/mcp":           "http://[::1]:80/.well-known/oauth-protected-resource/mcp http://[::1]:80/.well-known/oauth-protected-resource",
	} {
		all, err := ResourceMetadataURLs(resource)
		assert.NilError(t, err)
		assert.Equal(t, strings.Join(all, " "), want)
	}
	_, err := ResourceMetadataURLs("mcp.example.com")
	assert.Error(t, err, "resource is not an absolute URL of https: or http:")
}

func TestServerMetadataURLs(t *testing.T) {
	for issuer, want := range map[string]string{
		"https://a.example":  "https://a.example/.well-known/oauth-authorization-server https://a.example/.well-known/openid-configuration",
		"https://a.example/": "https://a.example/.well-known/oauth-authorization-server https://a.example/.well-known/openid-configuration",
		"https://a.example/t1": "https://a.example/.well-known/oauth-authorization-server/t1 https://a.example/.well-known/openid-configuration/t1 " +
			"https://a.example/t1/.well-known/openid-configuration",
		"https://a.example/t1/": "https://a.example/.well-known/oauth-authorization-server/t1 https://a.example/.well-known/openid-configuration/t1 " +
			"https://a.example/t1/.well-known/openid-configuration",
	} {
		all, err := ServerMetadataURLs(issuer)
		assert.NilError(t, err)
		assert.Equal(t, strings.Join(all, " "), want)
	}
	for issuer, want := range map[string]string{
		"https://a.example?x=1": "the issuer has a query",
		"https://a.example?":    "the issuer has a query",
		"a.example":             "issuer is not an absolute URL of https: or http:",
		"":                      "issuer is missing",
	} {
		_, err := ServerMetadataURLs(issuer)
		assert.Error(t, err, want, issuer)
	}
}

// The URLs are on the named host only.
func FuzzWellKnownURLs(f *testing.F) {
	for _, seed := range []string{"https://a.example/x?y", "http://[::1]:8/%2f/", "https://a/../..",
		"https://a\\@b/", "https://a/%zz", "https://A%41/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, find := range []func(string) ([]string, error){ResourceMetadataURLs,
			ServerMetadataURLs} {
			all, err := find(text)
			if err != nil {
				continue
			}
			named, err := url.Parse(text)
			assert.NilError(t, err)
			for _, one := range all {
				u, err := url.Parse(one)
				assert.NilError(t, err, one)
				assert.Equal(t, u.Scheme+u.Host, named.Scheme+named.Host)
				assert.Assert(t, strings.Contains(u.EscapedPath(), "/.well-known/"), one)
			}
		}
	})
}
