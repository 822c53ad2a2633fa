package hostname

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestOf(t *testing.T) {
	for host, name := range map[string]string{
		"Example.COM": "example.com", "example.com:80": "example.com", "example.com:": "example.com",
		"192.0.2.1:80": "192.0.2.1", "[::1]:80": "::1", "[::1]": "::1", "::1": "::1",
		"[2001:DB8::1]": "2001:db8::1", "": "", ":80": "", "a:b:c": "a:b:c",
	} {
		assert.Equal(t, Of(host), name, host)
	}
}

func TestIsLoopback(t *testing.T) {
	for name, is := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true,
		"::ffff:127.0.0.1": true,
		"":                 false, "localhost.": false, "localhost.example": false,
		"0.0.0.0": false, "128.0.0.1": false, "127.1": false, "::": false, "example.com": false,
	} {
		assert.Equal(t, IsLoopback(name), is, name)
	}
}
