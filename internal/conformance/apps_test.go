//go:build linux

package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/apps"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// appServers are servers of other projects with apps, each with a tool that its page calls.
var appServers = map[string]struct{ tool, call string }{
	"basic-vanillajs": {"get-time", "get-time"},
	"debug":           {"debug-tool", "debug-refresh"}, // only apps may call the latter
	"system-monitor":  {"get-system-info", "poll-system-stats"},
	"map":             {"show-map", "show-map"},
}

func appServer(b *bench, name string) configured {
	return configured{Command: "node", Args: []string{b.path("node_modules/@modelcontextprotocol/" +
		"server-" + name + "/dist/index.js"), "--stdio"}}
}

// uiSchemas are the definitions of the schema of ext-apps, compiled when they are first needed.
type uiSchemas struct {
	t        *testing.T
	defs     json.RawMessage
	compiled map[string]*schema.Schema
	checked  map[string]int // by definition
}

func newUISchemas(b *bench) *uiSchemas {
	b.t.Helper()
	text, err := os.ReadFile(b.path(
		"node_modules/@modelcontextprotocol/ext-apps/dist/src/generated/schema.json"))
	assert.NilError(b.t, err)
	return &uiSchemas{b.t, jsonscan.Member(text, "$defs"), map[string]*schema.Schema{},
		map[string]int{}}
}

func (u *uiSchemas) check(definition string, value []byte) {
	s := u.compiled[definition]
	if s == nil {
		var err error
		s, err = schema.Compile(jsonscan.Member(u.defs, definition))
		assert.NilError(u.t, err, definition)
		u.compiled[definition] = s
	}
	assert.Check(u.t, s.Validate(value), "%s: %s", definition, value)
	u.checked[definition]++
}

// uiMessages are the definitions of the messages between apps and hosts.
var uiMessages = map[string]struct{ message, result string }{
	"ui/initialize":                         {"McpUiInitializeRequest", "McpUiInitializeResult"},
	"ui/open-link":                          {"McpUiOpenLinkRequest", "McpUiOpenLinkResult"},
	"ui/message":                            {"McpUiMessageRequest", "McpUiMessageResult"},
	"ui/update-model-context":               {"McpUiUpdateModelContextRequest", ""},
	"ui/resource-teardown":                  {"McpUiResourceTeardownRequest", "McpUiResourceTeardownResult"},
	"ui/notifications/initialized":          {"McpUiInitializedNotification", ""},
	"ui/notifications/size-changed":         {"McpUiSizeChangedNotification", ""},
	"ui/notifications/tool-input":           {"McpUiToolInputNotification", ""},
	"ui/notifications/tool-input-partial":   {"McpUiToolInputPartialNotification", ""},
	"ui/notifications/tool-result":          {"McpUiToolResultNotification", ""},
	"ui/notifications/tool-cancelled":       {"McpUiToolCancelledNotification", ""},
	"ui/notifications/host-context-changed": {"McpUiHostContextChangedNotification", ""},
}

// A page is a page that runs in Node. The messages between it and the host are checked.
type page struct {
	u       *uiSchemas
	r       io.Reader
	w       io.WriteCloser
	mu      sync.Mutex        // a peer reads and writes at once
	methods map[string]string // of requests, by sender and id
	partial map[byte][]byte
}

func (b *bench) page(u *uiSchemas, args ...string) *page {
	b.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), "node",
		append([]string{b.path("app.mjs")}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stderr = b.env, b.dir, os.Stderr
	b.find(cmd)
	w, err := cmd.StdinPipe()
	assert.NilError(b.t, err)
	r, err := cmd.StdoutPipe()
	assert.NilError(b.t, err)
	assert.NilError(b.t, cmd.Start())
	u.t.Cleanup(func() { _ = w.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &page{u: u, r: r, w: w, methods: map[string]string{}, partial: map[byte][]byte{}}
}

// check checks whole lines of one side, 'a' for the app or 'h' for the host.
func (p *page) check(from byte, text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := append(p.partial[from], text...)
	for {
		line, rest, whole := bytes.Cut(all, []byte("\n"))
		if !whole {
			p.partial[from] = bytes.Clone(all)
			return
		}
		all = rest
		id := string(jsonscan.Member(line, "id"))
		method, _ := jsonscan.Text(jsonscan.Member(line, "method"))
		p.u.t.Logf("%c %.300s", from, line)
		other := map[byte]byte{'a': 'h', 'h': 'a'}[from]
		if method != "" {
			p.methods[string(from)+id] = method
			if d := uiMessages[method].message; d != "" {
				message := []byte(`{"method":"` + method + `"`) // the definitions have no envelope
				if params := jsonscan.Member(line, "params"); params != nil {
					message = append(append(message, `,"params":`...), params...)
				}
				p.u.check(d, append(message, '}'))
			} else {
				assert.Check(p.u.t, !strings.HasPrefix(method, "ui/"), method)
			}
		} else if result := jsonscan.Member(line, "result"); result != nil {
			if d := uiMessages[p.methods[string(other)+id]].result; d != "" {
				p.u.check(d, result)
			}
		}
	}
}

func (p *page) Read(to []byte) (int, error) {
	n, err := p.r.Read(to)
	p.check('a', to[:n])
	return n, err
}

func (p *page) Write(text []byte) (int, error) {
	p.check('h', text)
	return p.w.Write(text)
}

func (p *page) Close() error { return p.w.Close() }

// converse shows the app of a tool to a page, and returns the result of the call that the page
// made.
func converse(t *testing.T, c *client.Client, p *page, tool *mcp.Tool, call string) string {
	t.Helper()
	ctx := t.Context()
	ui, has := apps.Of(tool)
	assert.Assert(t, has)
	app, err := apps.Read(ctx, c, ui.ResourceURI)
	assert.NilError(t, err)
	heard := make(chan string, 99)
	v := apps.Options{Tool: tool, Logger: slog.New(slog.DiscardHandler),
		Context:    mcp.HostContext{Theme: "dark", Locale: "en", Platform: "desktop"},
		OnOpenLink: func(_ context.Context, url string) error { heard <- url; return nil },
		OnMessage: func(_ context.Context, m mcp.AppMessageParams) error {
			heard <- string(m.Content)
			return nil
		},
		OnModelContext: func(_ context.Context, m mcp.ModelContextParams) error {
			heard <- string(m.StructuredContent)
			return nil
		},
		OnSizeChanged: func(width, height float64) {
			assert.Check(t, width == 31 && height == 40, "%v %v", width, height)
		},
		OnLog: func(m mcp.LoggingMessageParams) { heard <- string(m.Data) },
	}.Open(p, c, app)
	defer func() { _ = v.Close(); <-v.Done() }()
	assert.NilError(t, v.PartialInput(ctx, json.RawMessage(`{"a":1}`)))
	assert.NilError(t, v.Input(ctx, json.RawMessage(`{"a":12}`)))
	assert.Equal(t, next(t, heard), `{"theme":"dark"}`)
	assert.Equal(t, next(t, heard), `{"input":{"a":12}}`)
	assert.NilError(t, v.SetContext(ctx, mcp.HostContext{Theme: "light"}))
	assert.Equal(t, next(t, heard), `{"theme":"light"}`)
	result, err := mcp.Marshal(map[string]any{"content": []any{},
		"structuredContent": map[string]any{"call": call, "arguments": map[string]any{}}})
	assert.NilError(t, err)
	assert.NilError(t, v.Result(ctx, result))
	answer := next(t, heard)
	assert.Equal(t, next(t, heard), `[{"type":"text","text":"hello"}]`)
	assert.Equal(t, next(t, heard), `{"seen":1}`)
	assert.Equal(t, next(t, heard), "https://example.com/")
	refused := next(t, heard)
	assert.Assert(t, strings.Contains(refused, "Unknown tool"), refused)
	assert.NilError(t, v.Teardown(ctx))
	return answer
}

// findTool returns the tool with this name, once the server has it.
func findTool(t *testing.T, c *client.Client, changed <-chan struct{}, name string) *mcp.Tool {
	t.Helper()
	for {
		for tool, err := range c.Tools(t.Context()) {
			assert.NilError(t, err)
			if tool.Name == name {
				return tool
			}
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatalf("there is no tool %s", name)
		}
	}
}

func (b *bench) appScript() {
	b.t.Helper()
	program, err := os.ReadFile(filepath.Join("node", "app.mjs"))
	assert.NilError(b.t, err)
	b.write("app.mjs", string(program))
	script, err := os.ReadFile(filepath.Join("..", "..", "server", "app.js"))
	assert.NilError(b.t, err)
	b.write("script.js", string(script))
}

// Apps of other servers are shown directly and behind the gateway, with the page script of this
// module and with the App class of the official SDK. Each message matches the schema of ext-apps.
func TestAppsOfRealServers(t *testing.T) {
	b := newNodeBench(t)
	b.appScript()
	all := map[string]configured{}
	for name := range appServers {
		all[name] = appServer(b, name)
	}
	var o client.Options
	apps.Declare(&o)
	gateway := b.gateway(all)
	for name, server := range appServers {
		for where, command := range map[string][]string{
			"": append([]string{all[name].Command}, all[name].Args...), name + "__": gateway} {
			changed := make(chan struct{}, 99)
			o.OnToolsChanged = func([]*mcp.Tool, error) { changed <- struct{}{} }
			c, err := b.spawn(o, command)
			assert.NilError(t, err)
			for _, by := range [][]string{{"script", b.path("script.js")}, {"sdk"}} {
				t.Run(where+name+" "+by[0], func(t *testing.T) {
					u := newUISchemas(b)
					u.t = t
					tool := findTool(t, c, changed, where+server.tool)
					meta := tool.Meta[mcp.MetaUI]
					u.check("McpUiToolMeta", meta)
					answer := converse(t, c, b.page(u, by...), tool, server.call)
					assert.Assert(t, strings.Contains(answer, `"type":"text"`), answer)
					assert.Assert(t, u.checked["McpUiInitializeResult"] == 1 &&
						len(u.checked) >= 13, "%v", u.checked)
				})
			}
			assert.NilError(t, c.Close())
		}
	}
	b.ended()
}

// The inspector finds the app of our own tool.
func TestInspectorShowsOurApp(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		b := newNodeBench(t)
		b.write("root/a.txt", "a")
		o := b.run("mcp-inspector", "--cli", "--format", "json", "--protocol-era", era,
			"--app-info", "--advertise-apps", "--method", "tools/call", "--tool-name", "fs_list",
			"--", binary(t), "serve", "--root", b.path("root"))
		assert.Equal(t, o.code, 0, o)
		assert.Equal(t, strings.TrimSpace(o.stdout),
			`{"appInfo":{"hasApp":true,"toolName":"fs_list","resourceUri":"ui://_stdwire/files.html",`+
				`"prefersBorder":true,"resourceMimeType":"text/html;profile=mcp-app"}}`)
	}
}
