//go:build unix

package main

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// --http-host allows requests for the name that a proxy forwards; without it they are refused, and
// the operator is told of the flag once. An address of all interfaces is printed as one to which
// clients can connect.
func TestHTTPHost(t *testing.T) {
	ownHome(t)
	token := tokenFile(t, "0123456789abcdef")
	ask := func(l *listener, path, host string) int {
		url := strings.TrimSuffix(l.url, "/mcp") + path
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
		assert.NilError(t, err)
		r.Host = host
		r.Header.Set("Authorization", "Bearer 0123456789abcdef")
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		assert.NilError(t, err)
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	paths := []string{"/mcp", "/v1/fs"}
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		l, _ := listen(t, "serve", "--http="+address, "--token-file", token)
		assert.Assert(t, !strings.Contains(l.url, "::"), l.url)
		for _, path := range paths {
			assert.Equal(t, ask(l, path, "gw.lan"), http.StatusForbidden)
			assert.Assert(t, ask(l, path, "localhost") != http.StatusForbidden)
		}
		l.end(t)
		var said []string
		for line := range l.stderr {
			said = append(said, line)
		}
		text := strings.Join(said, "\n")
		assert.Equal(t, strings.Count(text, `"gw.lan" is refused; --http-host NAME allows it`), 1, text)
		assert.Equal(t, strings.Contains(text, "warning: tokens and data are not encrypted"),
			address == "0.0.0.0:0", text)

		l, _ = listen(t, "serve", "--http="+address, "--token-file", token, "--http-host", "gw.lan",
			"--card", "com.example/files", "--card-url", "https://card.example/mcp")
		for _, path := range paths {
			for _, host := range []string{"gw.lan", "GW.lan:8080", "card.example", "localhost", "127.0.0.1:1"} {
				assert.Assert(t, ask(l, path, host) != http.StatusForbidden, host)
			}
			assert.Equal(t, ask(l, path, "evil.example"), http.StatusForbidden)
		}
		l.end(t)
	}
	for _, tt := range []struct{ args, want string }{
		{"--http-host gw.lan", "--http-host is for clients over HTTP"},
		{"--http 127.0.0.1:0 --http-host http://gw", "is not the name of a host"},
		{"--http 127.0.0.1:0 --http-host :8080", "is not the name of a host"},
		{"--http 127.0.0.1:0 --allowed-hosts gw", "did you mean --http-host NAME?"},
		{"--http no-such.invalid:0 --no-auth", "give an address of this machine"},
		{"--http 192.0.2.1:0 --no-auth", "this machine has no such address"},
	} {
		got := run(t, append([]string{"serve"}, strings.Fields(tt.args)...)...)
		assert.Check(t, got.code == 2 && strings.Contains(got.stderr, tt.want), "%s: %v", tt.args, got)
	}
}
