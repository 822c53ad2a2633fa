//go:build unix

package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	clienthttp "github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// stdwire serve --card publishes a card, and is as the card says.
func TestServeCard(t *testing.T) {
	ownHome(t)
	l, _ := listen(t, "serve", "--no-auth", "--card", "com.example/files")
	defer l.end(t)
	url := l.url
	got := run(t, "doctor", "--url", url)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, !strings.Contains(got.stdout, "card"), got.stdout)
	card, err := clienthttp.Options{}.ServerCard(t.Context(), url)
	assert.NilError(t, err)
	assert.Equal(t, card.Name+" "+card.Version, "com.example/files "+command.Version())
	assert.Equal(t, card.Remotes[0].URL, url)
	for _, tt := range []struct{ args, want string }{
		{"--card files --http 127.0.0.1:0 --no-auth", "NAMESPACE/NAME"},
		{"--card com.example/files", "--card is for clients over HTTP"},
		{"--card-url https://example.com/mcp --http 127.0.0.1:0", "--card-url is for --card"},
		{"--card com.example/files --card-url x --http 127.0.0.1:0", "is not an http: or https: URL"},
	} {
		got := run(t, append([]string{"serve"}, strings.Fields(tt.args)...)...)
		assert.Check(t, got.code == 2 && strings.Contains(got.stderr, tt.want), "%s: %v", tt.args, got)
	}
}
