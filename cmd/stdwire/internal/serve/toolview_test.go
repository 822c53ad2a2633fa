package serve

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/server"
)

// The configuration decides how tools are listed, then the flag for all, and where both leave it
// open, what the host is known to do.
func TestToolViews(t *testing.T) {
	f := config.Parse(&config.Environment{}, config.Source{Path: "/f"}, []byte(`{"mcpServers": {},
		"discover": {"*": "auto", "mine*": "auto:7", "mine-2": "search", "vscode*": "list"}}`))
	assert.Equal(t, len(f.Diagnostics), 0, f.Diagnostics)
	set := &config.Config{Discover: f.Discover}
	search := func(tools, bytes int) server.ToolView {
		return server.ToolView{Search: true, MinTools: tools, MinBytes: bytes}
	}
	always := config.Discovery{Search: true}
	for _, tt := range []struct {
		config *config.Config
		flag   *config.Discovery
		client string
		want   server.ToolView // without names and descriptions
	}{
		{set, nil, "other", search(0, 80_000)},
		{set, nil, "mine", search(7, 0)},
		{set, nil, "mine-2", search(0, 0)},
		{set, nil, "claude-code", server.ToolView{}}, // it searches by itself
		{set, &always, "claude-code", search(0, 0)},
		{set, &config.Discovery{}, "mine-2", server.ToolView{}},
		{set, nil, "cursor-vscode", search(81, 80_000)},
		{&config.Config{Discover: []config.Discovery{{Client: "*"}}}, nil, "cursor-vscode",
			server.ToolView{}}, // the operator says so
		{&config.Config{}, nil, "other", server.ToolView{}},
		{&config.Config{}, nil, "cursor-vscode", search(81, 0)}, // it takes no more
		{&config.Config{}, &config.Discovery{}, "cursor-vscode", server.ToolView{}},
	} {
		got := newToolViews(tt.flag, tt.config).of(tt.client)
		plain := server.ToolView{Search: got.Search, MinTools: got.MinTools, MinBytes: got.MinBytes}
		assert.Equal(t, plain, tt.want, "%s", tt.client)
	}
	assert.Equal(t, newToolViews(nil, set).of("codex-mcp-client"),
		server.ToolView{MaxName: 64 - len("mcp__stdwire__"), NoDots: true})
}

// A new configuration concerns the clients that it shows something else.
func TestToolViewsUse(t *testing.T) {
	of := func(client string, d config.Discovery) *config.Config {
		d.Client = client
		return &config.Config{Discover: []config.Discovery{d}}
	}
	always, list := config.Discovery{Search: true}, config.Discovery{}
	views := newToolViews(nil, of("mine*", always))
	assert.Assert(t, views.use(of("mine*", always)) == nil)
	concerned := views.use(of("mine*", list))
	assert.Assert(t, concerned("mine-2") && !concerned("other"))
	assert.Equal(t, views.of("mine-2").Search, false)
	concerned = views.use(of("*", always))
	assert.Assert(t, concerned("mine-2") && concerned("other"))
	assert.Equal(t, views.of("other").Search, true)
	// the flag counts, whatever the file says
	views = newToolViews(&always, of("*", list))
	assert.Assert(t, !views.use(of("*", always))("other"))
}
