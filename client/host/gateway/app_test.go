package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const (
	appURI = "ui://board/page.html"
	page   = "<!doctype html><title>"
)

// appServer returns a server with an app. The URI of the app is the same for all servers; its HTML
// and results name the server.
func appServer(t *testing.T, id string) *server.Server {
	s := server.Options{Logger: quiet}.New(server.Info{Name: id, Version: "1"},
		dispatch.NewCatalog())
	add := func(tool string, result *mcp.CallToolResult) {
		assert.NilError(t, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: tool},
			Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				return result, nil
			}}))
	}
	of := func(tool string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(id + " " + tool)}}
	}
	link := &mcp.ResourceLink{Resource: mcp.Resource{URI: appURI, Name: "page"}}
	add("show", &mcp.CallToolResult{
		Result: mcp.Result{Meta: mcp.Meta{
			"ui": json.RawMessage(`{"resourceUri":"` + appURI + `","x":1}`)}},
		Content: []mcp.Content{mcp.Text(id + " show"),
			link, &mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: appURI, Text: "in it"}}}})
	assert.NilError(t, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "ask"},
		Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			use := &mcp.ToolUseContent{ID: "1", Name: "show", Input: json.RawMessage(`{}`)}
			_, err := server.Sample(ctx, "key", mcp.CreateMessageParams{MaxTokens: 1,
				Messages: []mcp.SamplingMessage{
					{Role: mcp.RoleAssistant, Content: mcp.SamplingContent{use}},
					{Role: mcp.RoleUser, Content: mcp.SamplingContent{
						&mcp.ToolResultContent{ToolUseID: "1", Content: []mcp.Content{link}}}}},
				Tools: []*mcp.Tool{{Name: "show", InputSchema: json.RawMessage(`{"type":"object"}`),
					Meta: mcp.Meta{"ui": json.RawMessage(`{"resourceUri":"` + appURI + `"}`)}}}})
			return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(id)}}, err
		}}))
	assert.NilError(t, s.AddPrompt(server.Prompt{Prompt: mcp.Prompt{Name: "explain"},
		Get: func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{
				{Role: mcp.RoleUser, Content: link},
				{Role: mcp.RoleUser, Content: &mcp.EmbeddedResource{
					Resource: mcp.ResourceContents{URI: appURI, Text: "in it"}}},
				{Role: mcp.RoleUser, Content: mcp.Text(appURI)}}}, nil
		}}))
	add("refresh", of("refresh"))
	add("think", of("think"))
	add("only-"+id, of("only"))
	assert.NilError(t, s.AddApp(server.App{URI: appURI, Name: "board", HTML: []byte(page + id),
		Tools: map[string][]string{"show": nil, "refresh": {mcp.VisibleToApp},
			"think": {mcp.VisibleToModel}}}))
	assert.NilError(t, s.AddResourceTemplate(server.ResourceTemplate{
		ResourceTemplate: mcp.ResourceTemplate{URITemplate: "ui://board/row/{n}", Name: "row"},
		Read: func(_ context.Context, uri string, v map[string]string) (*mcp.ReadResourceResult,
			error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
				{URI: uri, Text: id + " row " + v["n"]}}}, nil
		}}))
	// it matches the URIs of all servers' apps
	assert.NilError(t, s.AddResourceTemplate(server.ResourceTemplate{
		ResourceTemplate: mcp.ResourceTemplate{URITemplate: "{+any}", Name: "any"},
		Read: func(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult,
			error) {
			if uri == appURI || strings.HasPrefix(uri, "ui://a") || strings.HasPrefix(uri, "ui://b") {
				t.Errorf("%s is asked for %s", id, uri)
			}
			if uri == "doc:index" {
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: uri},
					{URI: appURI, Text: "page"}}}, nil
			}
			return nil, server.ResourceNotFound(uri)
		}}))
	return s
}

var uiClient = []client.Extension{{ID: mcp.ExtensionApps,
	Settings: appdef.Settings{MIMETypes: []string{mcp.AppMIMEType}}}}

// withAppFixture runs a test with a gateway of two servers, a and b, whose apps have the same URI.
func withAppFixture(t *testing.T, o gateway.Options,
	test func(t *testing.T, w *fixture, connect func(client.Options, func(*client.Client)))) {
	for _, up := range eras {
		for _, down := range eras {
			t.Run(down.String()+" client, "+up.String()+" servers", func(t *testing.T) {
				withFixture(t, up, func(t *testing.T, w *fixture) {
					w.gateway.Close()
					w.downstream = server.Options{Logger: quiet}.New(
						server.Info{Name: "gateway", Version: "1"}, dispatch.NewCatalog())
					o.Logger = quiet
					w.gateway = o.New(w.downstream)
					for _, id := range []string{"a", "b"} {
						s := appServer(t, id)
						assert.NilError(t,
							w.gateway.Add(gateway.Upstream{Server: host.Server{ID: id,
								Options: client.Options{Era: up, Logger: quiet},
								Connect: func(ctx context.Context, _ string,
									o client.Options) (*client.Client, error) {
									return o.Connect(ctx, w.pipe(s))
								}}}))
					}
					time.Sleep(5 * time.Second)
					test(t, w, func(o client.Options, f func(*client.Client)) {
						o.Era = down
						w.client(o, f)
					})
				})
			})
		}
	}
}

// Two servers with an app of the same URI: the app of each tool is that of its own server, in its
// definition, in its results, and when it is read.
func TestAppsOfTwoServersDoNotCollide(t *testing.T) {
	withAppFixture(t, gateway.Options{}, func(t *testing.T, w *fixture,
		connect func(client.Options, func(*client.Client))) {
		connect(client.Options{Extensions: uiClient}, func(c *client.Client) {
			_, declared := c.Extension(mcp.ExtensionApps)
			assert.Assert(t, declared)
			shown := 0
			for tool, err := range c.Tools(t.Context()) {
				assert.NilError(t, err)
				id, own, _ := strings.Cut(tool.Name, "__")
				if own != "show" {
					continue
				}
				shown++
				ui, err := appdef.ToolUI(tool.Meta)
				assert.NilError(t, err)
				var flat string
				_, err = tool.Meta.Get(mcp.MetaUIResourceURI, &flat)
				assert.NilError(t, err)
				assert.Equal(t, flat, ui.ResourceURI)
				assert.Equal(t, ui.ResourceURI, "ui://"+id+"/board/page.html")
				read, err := c.ReadResource(t.Context(), ui.ResourceURI)
				assert.NilError(t, err)
				assert.Equal(t, read.Contents[0].Text, page+id)
				assert.Equal(t, read.Contents[0].URI, ui.ResourceURI)

				result, err := c.CallTool(t.Context(), tool.Name, nil)
				assert.NilError(t, err)
				assert.Equal(t, string(result.Meta["ui"]),
					`{"resourceUri":"`+ui.ResourceURI+`","x":1}`)
				assert.Equal(t, result.Content[1].(*mcp.ResourceLink).URI, ui.ResourceURI)
				embedded := result.Content[2].(*mcp.EmbeddedResource).Resource
				assert.Equal(t, embedded.URI, ui.ResourceURI)
				assert.Equal(t, embedded.Text, "in it")

				row, err := c.ReadResource(t.Context(), "ui://"+id+"/board/row/7")
				assert.NilError(t, err)
				assert.Equal(t, row.Contents[0].Text, id+" row 7")
				assert.Equal(t, row.Contents[0].URI, "ui://"+id+"/board/row/7")
			}
			assert.Equal(t, shown, 2)
			var listed []string
			for r, err := range c.Resources(t.Context()) {
				assert.NilError(t, err)
				listed = append(listed, r.URI)
			}
			assert.DeepEqual(t, listed, []string{"ui://a/board/page.html",
				"ui://b/board/page.html"})
			// neither a server's own URI nor that of a server that does not exist
			for _, uri := range []string{appURI, "ui://c/board/page.html", "ui://a"} {
				_, err := c.ReadResource(t.Context(), uri)
				assert.ErrorContains(t, err, "Resource not found", uri)
			}
		})
		for _, all := range w.gateway.Withheld() {
			for _, withheld := range all {
				assert.Equal(t, withheld.Name, "{+any}")
			}
		}
	})
}

// The URI of an app in the messages of a prompt, in the contents of another resource and in a
// question for the client's model is that of its server's app too.
func TestAppsInPromptsResourcesAndSampling(t *testing.T) {
	withAppFixture(t, gateway.Options{}, func(t *testing.T, w *fixture,
		connect func(client.Options, func(*client.Client))) {
		asked := ""
		o := client.Options{Extensions: uiClient, SampleTools: true,
			OnSample: func(_ context.Context, p mcp.CreateMessageParams) (*mcp.CreateMessageResult,
				error) {
				result := p.Messages[1].Content[0].(*mcp.ToolResultContent)
				ui, err := appdef.ToolUI(p.Tools[0].Meta)
				assert.Check(t, err)
				asked = result.Content[0].(*mcp.ResourceLink).URI + " " + ui.ResourceURI
				return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m",
					Content: mcp.SamplingContent{mcp.Text("so")}}, nil
			}}
		connect(o, func(c *client.Client) {
			for _, id := range []string{"a", "b"} {
				public := "ui://" + id + "/board/page.html"
				prompt, err := c.GetPrompt(t.Context(), id+"__explain", nil)
				assert.NilError(t, err)
				assert.Equal(t, prompt.Messages[0].Content.(*mcp.ResourceLink).URI, public)
				embedded := prompt.Messages[1].Content.(*mcp.EmbeddedResource).Resource
				assert.Equal(t, embedded.URI, public)
				assert.Equal(t, embedded.Text, "in it")
				assert.Equal(t, prompt.Messages[2].Content.(*mcp.TextContent).Text, appURI)
				_, err = c.CallTool(t.Context(), id+"__ask", nil)
				assert.NilError(t, err)
				assert.Equal(t, asked, public+" "+public)
			}
			read, err := c.ReadResource(t.Context(), "doc:index")
			assert.NilError(t, err)
			assert.Equal(t, read.Contents[0].URI, "doc:index")
			assert.Equal(t, read.Contents[1].URI, "ui://a/board/page.html")
		})
	})
}

// A client without apps sees none: no resource, no _meta, and no tool that only apps may call.
func TestAppsAreHiddenFromClientsWithoutThem(t *testing.T) {
	withAppFixture(t, gateway.Options{}, func(t *testing.T, w *fixture,
		connect func(client.Options, func(*client.Client))) {
		connect(client.Options{}, func(c *client.Client) {
			assert.DeepEqual(t, w.names(c), []string{"a__ask", "a__only-a", "a__show",
				"a__think", "b__ask", "b__only-b", "b__show", "b__think"})
			for tool, err := range c.Tools(t.Context()) {
				assert.NilError(t, err)
				assert.Equal(t, len(tool.Meta), 0)
			}
			for r, err := range c.Resources(t.Context()) {
				t.Error(r, err)
			}
			_, err := c.CallTool(t.Context(), "a__refresh", nil)
			assert.Assert(t, errors.Is(err, rpc.ErrInvalidParams), "%v", err)
			_, err = c.CallTool(t.Context(), "refresh", nil)
			assert.Assert(t, errors.Is(err, rpc.ErrInvalidParams), "%v", err)
			_, err = c.ReadResource(t.Context(), "ui://a/board/page.html")
			assert.ErrorContains(t, err, "Resource not found")
		})
	})
}

// Calls of an app reach its own server under the server's own tool names, no other server, and no
// tool that apps may not call.
func TestCallsOfApps(t *testing.T) {
	withAppFixture(t, gateway.Options{}, func(t *testing.T, w *fixture,
		connect func(client.Options, func(*client.Client))) {
		connect(client.Options{Extensions: uiClient}, func(c *client.Client) {
			for _, id := range []string{"a", "b"} {
				app := client.Meta(mcp.Meta{
					mcp.MetaApp: json.RawMessage(`"ui://` + id + `/board/page.html"`)})
				for name, want := range map[string]string{"refresh": id + " refresh",
					"show": id + " show", id + "__refresh": id + " refresh", "think": "",
					"only-a": map[string]string{"a": "a only"}[id], "a__think": "", "none": "",
					"b__refresh": map[string]string{"b": "b refresh"}[id]} {
					result, err := c.CallTool(t.Context(), name, nil, app)
					if want == "" {
						assert.Assert(t, errors.Is(err, rpc.ErrInvalidParams), "%s %s: %v", id,
							name, err)
						continue
					}
					assert.NilError(t, err, name)
					assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, want)
				}
				for _, uri := range []string{appURI, "ui://" + id + "/board/page.html"} {
					read, err := c.ReadResource(t.Context(), uri, app)
					assert.NilError(t, err)
					assert.Equal(t, read.Contents[0].Text, page+id)
				}
				other := map[string]string{"a": "b", "b": "a"}[id]
				_, err := c.ReadResource(t.Context(), "ui://"+other+"/board/page.html", app)
				assert.ErrorContains(t, err, "Resource not found")
			}
			for _, app := range []string{`"ui://c/x"`, `"file:///x"`, `7`} {
				_, err := c.CallTool(t.Context(), "refresh", nil,
					client.Meta(mcp.Meta{mcp.MetaApp: json.RawMessage(app)}))
				assert.Assert(t, errors.Is(err, rpc.ErrInvalidParams), "%s: %v", app, err)
			}
			// if the host does not name the app, only an unambiguous name is accepted
			result, err := c.CallTool(t.Context(), "only-a", nil)
			assert.NilError(t, err)
			assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, "a only")
			_, err = c.CallTool(t.Context(), "refresh", nil)
			assert.ErrorContains(t, err, "several servers")
		})
	})
}

// Tools that only apps may call do not become operations for the command line and HTTP. The results
// of operations have the public URIs of apps.
func TestToolsForAppsAreNoOperations(t *testing.T) {
	catalog := dispatch.NewCatalog()
	withAppFixture(t, gateway.Options{Catalog: catalog}, func(t *testing.T, w *fixture,
		_ func(client.Options, func(*client.Client))) {
		var names []string
		for _, op := range catalog.Operations() {
			names = append(names, op.Name())
		}
		slices.Sort(names)
		assert.DeepEqual(t, names, []string{"a.ask", "a.only-a", "a.show", "a.think", "b.ask",
			"b.only-b", "b.show", "b.think"})
		d := dispatch.Options{Logger: quiet}.New(catalog)
		e := d.Dispatch(t.Context(),
			&dispatch.Call{Operation: "b.show", Confirmed: true, Surface: "test"})
		data := string(e.AppendJSON(nil))
		assert.Assert(t, strings.Contains(data, `"ui://b/board/page.html"`) &&
			!strings.Contains(data, appURI), "%s", data)
	})
}

// With pins, an app that has changed since its first use is not served until that is accepted.
func TestAppsArePinned(t *testing.T) {
	lock, err := pin.Open(filepath.Join(t.TempDir(), "pins.json"))
	assert.NilError(t, err)
	files := fstest.MapFS{"page": {Data: []byte(page)}}
	s := server.Options{Logger: quiet}.New(server.Info{Name: "up", Version: "1"}, nil)
	server.AddTool(s, mcp.Tool{Name: "show"},
		func(context.Context, struct{}) (string, error) { return "", nil })
	server.AddTool(s, mcp.Tool{Name: "bare"},
		func(context.Context, struct{}) (string, error) { return "", nil })
	assert.NilError(t, s.AddApp(server.App{URI: appURI, Name: "a", FS: files, Path: "page",
		Tools: map[string][]string{"show": nil}}))
	connectUp := func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
		here, there := net.Pipe()
		go func() { _ = s.Serve(context.WithoutCancel(ctx), there) }()
		return o.Connect(ctx, client.Stream(here))
	}
	read := func(o gateway.Options) (string, error) {
		downstream := server.Options{Logger: quiet}.New(server.Info{Name: "g", Version: "1"}, nil)
		o.PinFile, o.Logger = lock.Path(), quiet
		g := o.New(downstream)
		defer g.Close()
		assert.NilError(t, g.Add(gateway.Upstream{Server: host.Server{ID: "a",
			Connect: connectUp}}))
		g.Settle(t.Context())
		c := mcptest.Connect(t, downstream, client.Options{Extensions: uiClient})
		result, err := c.ReadResource(t.Context(), "ui://a/board/page.html")
		if err != nil {
			return "", err
		}
		return result.Contents[0].Text, nil
	}
	for range 2 {
		text, err := read(gateway.Options{})
		assert.NilError(t, err)
		assert.Equal(t, text, page)
	}
	files["page"].Data = []byte(page + "another")
	_, err = read(gateway.Options{})
	assert.ErrorContains(t, err, `The app "ui://board/page.html" of the server "a" is withheld`)
	text, err := read(gateway.Options{PinsWarn: true})
	assert.NilError(t, err)
	assert.Equal(t, text, page+"another")

	var o client.Options
	gateway.DeclareCapabilities(&o)
	c, err := connectUp(t.Context(), "", o)
	assert.NilError(t, err)
	defer func() { _ = c.Close(); _ = c.Wait() }()
	identity, err := pinServer("a", "", c)
	assert.NilError(t, err)
	definitions, err := gateway.Definitions(t.Context(), c, mcp.KindApp)
	assert.NilError(t, err)
	report, err := lock.Compare(identity, mcp.KindApp, definitions)
	assert.NilError(t, err)
	assert.Equal(t, report.Verdicts[0].State, pin.StateChanged)
	assert.NilError(t, lock.Accept(identity, mcp.KindApp, definitions))
	text, err = read(gateway.Options{})
	assert.NilError(t, err)
	assert.Equal(t, text, page+"another")
}
