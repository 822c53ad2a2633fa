package target

import (
	"fmt"
	"testing"
	"time"

	"github.com/stdwire/stdwire/client/auth"
	"gotest.tools/v3/assert"
)

func TestCredentialStatus(t *testing.T) {
	now := time.Unix(1e9, 0)
	for _, tt := range []struct {
		c    auth.Credentials
		want string
	}{
		{auth.Credentials{}, "valid []"},
		{auth.Credentials{Expires: now.Add(time.Second), Scopes: []string{"a", "b"}},
			"valid [a b]"},
		{auth.Credentials{Expires: now, Scopes: []string{"a", "b"}, Granted: "a"}, "expired [a]"},
		{auth.Credentials{Expires: now.Add(-time.Hour), RefreshToken: "s3cret"}, "renewable []"},
	} {
		tt.c.Endpoint = "https://u:s3cret@a.example/mcp?key=s3cret"
		h := NewCredentialStatus(tt.c, now)
		assert.Equal(t, fmt.Sprint(h.State, " ", h.Scopes), tt.want)
		assert.Equal(t, h.Server, "https://a.example/mcp")
		assert.Assert(t, h.Scopes != nil)
	}
}
