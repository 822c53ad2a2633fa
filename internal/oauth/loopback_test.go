package oauth

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestIsLoopback(t *testing.T) {
	for host, is := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true,
		"::ffff:127.0.0.1": true,
		"":                 false, "localhost.": false, "localhost.example": false,
		"0.0.0.0": false, "128.0.0.1": false, "127.1": false, "::": false, "example.com": false,
	} {
		assert.Equal(t, IsLoopback(host), is, host)
	}
}
