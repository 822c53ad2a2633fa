package doctor

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestSameEndpoint(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"https://a.example/mcp", "https://A.example/mcp/", true},
		{"https://a.example/mcp", "https://a.example:443/mcp", true},
		{"http://a.example:80", "http://a.example", true},
		{"http://a.example/mcp", "https://a.example/mcp", false},
		{"https://a.example:80/mcp", "https://a.example/mcp", false},
		{"https://a.example/mcp", "https://a.example/other", false},
	} {
		assert.Equal(t, sameEndpoint(tt.a, tt.b), tt.same, "%s %s", tt.a, tt.b)
	}
}
