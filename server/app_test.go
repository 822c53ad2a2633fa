package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const appURI = "ui://weather/page.html"

// weather returns a server with an operation, a typed and a raw tool, each of which has an app.
func weather(t *testing.T, change func(*server.App)) *server.Server {
	t.Helper()
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "op.get", Summary: "Gets.", Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) { return "operation", nil })
	s := server.Options{Logger: quiet.Logger, PublicLists: true}.New(
		server.Info{Name: "s", Version: "1"}, catalog)
	server.AddTool(s, mcp.Tool{Name: "typed", Meta: mcp.Meta{"com.example/a": []byte(`1`)}},
		func(context.Context, struct{}) (string, error) { return "typed", nil })
	assert.NilError(t, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "raw"},
		Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("raw")}}, nil
		}}))
	border := true
	a := server.App{URI: appURI, Name: "weather",
		FS: fstest.MapFS{"a.html": {Data: []byte("<!-- x --> <!DOCTYPE html><script data-app></script>")}}, Path: "a.html",
		CSP:         &mcp.AppCSP{ConnectDomains: []string{"https://api.example.com"}},
		Permissions: &mcp.AppPermissions{Geolocation: &mcp.Object{}}, PrefersBorder: &border,
		Tools: map[string][]string{"op_get": nil, "typed": {mcp.VisibleToModel, mcp.VisibleToApp},
			"raw": {mcp.VisibleToApp}}}
	if change != nil {
		change(&a)
	}
	assert.NilError(t, s.AddApp(a))
	return s
}

func withApps(types ...string) client.Options {
	return client.Options{Extensions: []client.Extension{{ID: mcp.ExtensionApps,
		Settings: appdef.Settings{MIMETypes: types}}}}
}

func eachWay(t *testing.T, test func(t *testing.T,
	connect func(*server.Server, client.Options) *client.Client)) {
	for name, by := range map[string]func(testing.TB, *server.Server,
		client.Options) *client.Client{"stream": mcptest.Connect, "http": mcptest.ConnectHTTP} {
		for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
			t.Run(name+" "+era.String(), func(t *testing.T) {
				test(t, func(s *server.Server, o client.Options) *client.Client {
					o.Era = era
					return by(t, s, o)
				})
			})
		}
	}
}

// A client with apps gets the app of each tool, in both forms of _meta, and reads the app with its
// metadata.
func TestApp(t *testing.T) {
	eachWay(t, func(t *testing.T, connect func(*server.Server, client.Options) *client.Client) {
		s := weather(t, nil)
		c := connect(s, withApps("text/x", mcp.AppMIMEType))
		settings, declared := c.Extension(mcp.ExtensionApps)
		assert.Assert(t, declared)
		assert.Equal(t, string(settings), `{"io.github.stdwire/app":{}}`)
		want := map[string]string{"op_get": `{"resourceUri":"` + appURI + `"}`,
			"typed": `{"resourceUri":"` + appURI + `","visibility":["model","app"]}`,
			"raw":   `{"resourceUri":"` + appURI + `","visibility":["app"]}`}
		for tool, err := range c.Tools(t.Context()) {
			assert.NilError(t, err)
			assert.Equal(t, string(tool.Meta["ui"]), want[tool.Name])
			assert.Equal(t, string(tool.Meta["ui/resourceUri"]), `"`+appURI+`"`)
			assert.Equal(t, tool.Name == "typed", tool.Meta["com.example/a"] != nil)
			result, err := c.CallTool(t.Context(), tool.Name, nil)
			assert.NilError(t, err)
			assert.Assert(t, result.Content[0].(*mcp.TextContent).Text != "")
			delete(want, tool.Name)
		}
		assert.Equal(t, len(want), 0)
		const meta = `{"csp":{"connectDomains":["https://api.example.com"]},` +
			`"permissions":{"geolocation":{}},"prefersBorder":true}`
		for r, err := range c.Resources(t.Context()) {
			assert.NilError(t, err)
			assert.Equal(t, r.URI, appURI)
			assert.Equal(t, string(r.Meta["ui"]), meta)
		}
		read, err := c.ReadResource(t.Context(), appURI)
		assert.NilError(t, err)
		assert.Equal(t, len(read.Contents), 1)
		page := read.Contents[0]
		assert.Equal(t, page.MIMEType, mcp.AppMIMEType)
		assert.Equal(t, string(page.Meta["ui"]), meta)
		assert.Equal(t, page.Text,
			"<!-- x --> <!DOCTYPE html><script>"+appScript(t)+"</script>")
		assert.Equal(t, s.Remove(mcp.KindApp, appURI, appURI), 1)
		assert.Equal(t, s.Remove(mcp.KindApp, appURI), 0)
		_, err = c.ReadResource(t.Context(), appURI, client.Fresh())
		assert.ErrorContains(t, err, appURI)
	})
}

// A client that does not accept the MIME type of apps, or does not declare the extension, gets
// ordinary tools, without those that only apps may call.
func TestAppIsNotOfferedToOthers(t *testing.T) {
	eachWay(t, func(t *testing.T, connect func(*server.Server, client.Options) *client.Client) {
		for _, o := range []client.Options{{}, withApps(), withApps("text/html")} {
			c := connect(weather(t, nil), o)
			n := 0
			for tool, err := range c.Tools(t.Context()) {
				assert.NilError(t, err)
				assert.Assert(t, tool.Name != "raw" && tool.Meta["ui"] == nil &&
					tool.Meta["ui/resourceUri"] == nil, "%v", tool)
				n++
			}
			assert.Equal(t, n, 2)
			_, err := c.CallTool(t.Context(), "raw", nil)
			assert.Assert(t, errors.Is(err, rpc.ErrInvalidParams), "%v", err)
			_, err = c.ReadResource(t.Context(), appURI)
			assert.ErrorContains(t, err, appURI)
			result, err := c.CallTool(t.Context(), "typed", nil)
			assert.NilError(t, err)
			assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, "typed")
		}
	})
}

// A request for an app cannot use a tool that is only for models.
func TestCallForApp(t *testing.T) {
	eachWay(t, func(t *testing.T, connect func(*server.Server, client.Options) *client.Client) {
		s := weather(t, func(a *server.App) {
			a.Tools["typed"] = []string{mcp.VisibleToModel}
		})
		c := connect(s, withApps(mcp.AppMIMEType))
		app := client.Meta(mcp.Meta{mcp.MetaApp: json.RawMessage(`"` + appURI + `"`)})
		_, err := c.CallTool(t.Context(), "typed", nil, app)
		assert.ErrorContains(t, err, "Apps may not call the tool")
		_, err = c.CallTool(t.Context(), "raw", nil, app)
		assert.NilError(t, err)
		_, err = c.ReadResource(t.Context(), appURI, app)
		assert.NilError(t, err)
	})
}

// AddApp refuses an invalid app, with an error that names the reason.
func TestInvalidApps(t *testing.T) {
	const doctype = "<!doctype html>"
	s := server.New(server.Info{Name: "s", Version: "1"}, nil)
	good := server.App{URI: appURI, Name: "a", HTML: []byte(doctype),
		Tools: map[string][]string{"t": nil}}
	assert.NilError(t, s.AddApp(good))
	for want, change := range map[string]func(*server.App){
		"begin with ui://":      func(a *server.App) { a.URI = "http://x" },
		"and a Name":            func(a *server.App) { a.Name = "" },
		"more than 8388608":     func(a *server.App) { a.HTML = append(a.HTML, make([]byte, 10<<20)...) },
		"a NUL at byte 15":      func(a *server.App) { a.HTML = append(a.HTML, 0) },
		"not UTF-8":             func(a *server.App) { a.HTML = append(a.HTML, 0xff) },
		"a whole document":      func(a *server.App) { a.HTML = []byte("<p>") },
		"HTML, or FS and Path":  func(a *server.App) { a.HTML = nil },
		"file does not exist":   func(a *server.App) { a.HTML, a.FS, a.Path = nil, fstest.MapFS{}, "no" },
		`neither "model" nor`:   func(a *server.App) { a.Tools = map[string][]string{"t": {"all"}} },
		"has the app \"ui://we": func(a *server.App) { a.URI = "ui://other" },
	} {
		a := good
		a.HTML = bytes.Clone(good.HTML)
		change(&a)
		err := s.AddApp(a)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "server: app ")
	}
	assert.NilError(t, s.AddApp(good)) // an app may replace itself
}

// A page that becomes invalid after it was added is not served.
func TestAppThatBecomesBad(t *testing.T) {
	files := fstest.MapFS{"a": {Data: []byte("<!doctype html>")}}
	s := server.Options{Logger: quiet.Logger}.New(server.Info{Name: "s", Version: "1"}, nil)
	assert.NilError(t, s.AddApp(server.App{URI: appURI, Name: "a", FS: files, Path: "a"}))
	files["a"].Data = make([]byte, 10<<20)
	c := mcptest.Connect(t, s, withApps(mcp.AppMIMEType))
	_, err := c.ReadResource(t.Context(), appURI)
	assert.ErrorContains(t, err, "Internal error")
}

// The script for authors has at most 3 KB and cannot end its element.
func TestAppScript(t *testing.T) {
	script := appScript(t)
	assert.Assert(t, len(script) <= 3<<10, "%d bytes", len(script))
	assert.Assert(t, !strings.Contains(script, "</script"))
}

func appScript(t *testing.T) string {
	script, err := os.ReadFile("app.js")
	assert.NilError(t, err)
	return string(script)
}
