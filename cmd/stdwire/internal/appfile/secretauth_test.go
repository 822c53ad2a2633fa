package appfile

import (
	"bytes"
	"testing"

	"gotest.tools/v3/assert"
)

// The members auth and oauth, which mean the same, are masked by the same list.
func TestAuthIsMaskedAsOAuth(t *testing.T) {
	masked := func(name string) []byte {
		text := []byte(`{"mcpServers":{"a":{"url":"https://a.example","` + name +
			`":{"CLIENT_ID":"me","CLIENT_SECRET":"s3cret","scopes":["a","b"],"callbackPort":1}}}}`)
		return bytes.Replace(maskSecrets("f.json", text, []string{"mcpServers", "a"}),
			[]byte(`"`+name+`"`), nil, 1)
	}
	assert.Equal(t, string(masked("auth")), string(masked("oauth")))
	assert.Assert(t, !bytes.Contains(masked("auth"), []byte("s3cret")))
	assert.Assert(t, bytes.Contains(masked("auth"), []byte(`"scopes":["a","b"]`)))
}
