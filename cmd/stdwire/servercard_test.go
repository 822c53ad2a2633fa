package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// stdwire doctor says where a server card and its server differ, and nothing if they do not.
func TestDoctorServerCard(t *testing.T) {
	ownHome(t)
	for _, tt := range []struct {
		name   string
		change func(card *mcp.ServerCard)
		want   []string
	}{
		{"same", func(*mcp.ServerCard) {}, nil},
		{"the same name", func(c *mcp.ServerCard) { c.Name = "com.example/weather" }, nil},
		{"a variable", func(c *mcp.ServerCard) { c.Remotes[0].URL = "https://{tenant}.example.com/mcp" },
			[]string{"does not list its server card"}},
		{"identity", func(c *mcp.ServerCard) {
			c.Name, c.Version, c.Title = "com.example/other", "2.0.0", "Other"
			c.Remotes[0].Versions = []mcp.Revision{"2099-01-01"}
		}, []string{`the name "com.example/other", and the server says "weather"`,
			`the version "2.0.0", and the server says "1.0.0"`,
			`the title "Other", and the server says "Weather"`,
			"does not have the protocol version 2026-07-28, which it speaks",
			`the protocol version "2099-01-01", which it does not support`}},
		{"remotes", func(c *mcp.ServerCard) { c.Remotes[0].URL = "https://example.com/mcp" },
			[]string{"does not have this URL: it lists https://example.com/mcp",
				"does not list its server card"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var h http.Handler
			web := httptest.NewServer(http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
			defer web.Close()
			card := &mcp.ServerCard{Name: "com.example/weather", Version: "1.0.0", Description: "d",
				Remotes: []mcp.CardRemote{{Type: "streamable-http", URL: web.URL + "/mcp",
					Versions: mcp.Supported()}}}
			tt.change(card)
			handler := streamable.Options{Card: card}.New(
				server.New(server.Info{Name: "weather", Title: "Weather", Version: "1.0.0"}, nil))
			defer handler.Close()
			h = handler
			got := run(t, "doctor", "--url", web.URL+"/mcp")
			assert.Equal(t, got.code, 0, got.stderr)
			text := strings.Join(strings.Fields(got.stdout), " ")
			for _, want := range tt.want {
				assert.Check(t, strings.Contains(text, want), "%s\n%s", want, got.stdout)
			}
			assert.Equal(t, strings.Contains(text, "card"), len(tt.want) > 0, got.stdout)
		})
	}
}
