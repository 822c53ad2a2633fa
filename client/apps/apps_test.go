package apps_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/apps"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const (
	uri  = "ui://board/page.html"
	html = "<!doctype html><title>x</title>"
)

var quiet = slog.New(slog.DiscardHandler)

// board returns a client of a server with an app and tools of each visibility.
func board(t *testing.T, era mcp.Era, change func(*server.App)) (*client.Client, *server.Server) {
	t.Helper()
	s := server.Options{Logger: quiet}.New(server.Info{Name: "s", Version: "1"}, nil)
	for _, name := range []string{"show", "refresh", "think", "plain"} {
		server.AddTool(s, mcp.Tool{Name: name},
			func(_ context.Context, in struct{ N *int }) (string, error) { return name, nil })
	}
	server.Must(s.AddResource(server.Resource{
		Resource: mcp.Resource{URI: "data://rows", Name: "rows"},
		Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{
				Contents: []mcp.ResourceContents{{URI: uri, Text: "rows"}}}, nil
		}}))
	a := server.App{URI: uri, Name: "board", HTML: []byte(html), Tools: map[string][]string{
		"show": nil, "refresh": {mcp.VisibleToApp}, "think": {mcp.VisibleToModel}}}
	if change != nil {
		change(&a)
	}
	assert.NilError(t, s.AddApp(a))
	o := client.Options{Era: era}
	apps.Declare(&o)
	return mcptest.Connect(t, s, o), s
}

func eachEra(t *testing.T, test func(t *testing.T, era mcp.Era)) {
	for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
		t.Run(era.String(), func(t *testing.T) { test(t, era) })
	}
}

func TestRead(t *testing.T) {
	eachEra(t, func(t *testing.T, era mcp.Era) {
		all := &mcp.Object{}
		c, s := board(t, era, func(a *server.App) {
			a.CSP = &mcp.AppCSP{ConnectDomains: []string{"https://api.example.com/",
				"wss://x.example:8443", "'unsafe-eval'", "*"},
				ResourceDomains: []string{"https://*.cdn.example",
					"https://a.example; script-src *", "data:", "https://*"},
				FrameDomains: []string{"http://localhost:80"}}
			a.Permissions = &mcp.AppPermissions{Camera: all, Microphone: all, Geolocation: all,
				ClipboardWrite: all}
		})
		for tool, err := range c.Tools(t.Context()) {
			assert.NilError(t, err)
			ui, has := apps.Of(tool)
			assert.Equal(t, has, tool.Name != "plain")
			assert.Equal(t, ui.ResourceURI == uri, has)
			assert.Equal(t, apps.ForModel(tool), tool.Name != "refresh")
		}
		app, err := apps.Read(t.Context(), c, uri)
		assert.NilError(t, err)
		assert.Equal(t, app.HTML, html)
		assert.Equal(t, app.ContentSecurityPolicy(), "default-src 'none'; "+
			"script-src 'self' 'unsafe-inline' https://*.cdn.example; "+
			"style-src 'self' 'unsafe-inline' https://*.cdn.example; "+
			"img-src 'self' data: https://*.cdn.example; font-src 'self' https://*.cdn.example; "+
			"media-src 'self' data: https://*.cdn.example; "+
			"connect-src https://api.example.com wss://x.example:8443; "+
			"frame-src http://localhost:80; object-src 'none'; base-uri 'self'")
		origins, invalid := app.Origins()
		assert.DeepEqual(t, origins, []string{"https://api.example.com",
			"wss://x.example:8443", "https://*.cdn.example", "http://localhost:80"})
		assert.DeepEqual(t, invalid, []string{"'unsafe-eval'", "*",
			"https://a.example; script-src *", "data:", "https://*"})
		assert.DeepEqual(t, app.Permissions(), []string{"camera", "microphone", "geolocation",
			"clipboard-write"})
		assert.Equal(t, app.Allow(mcp.AppPermissions{}), "")
		assert.Equal(t, app.Allow(mcp.AppPermissions{Camera: all, ClipboardWrite: all}),
			"camera; clipboard-write")

		assert.NilError(t, s.AddApp(server.App{URI: uri, Name: "board", HTML: []byte(html)}))
		other, err := apps.Read(t.Context(), c, uri, client.Fresh())
		assert.NilError(t, err)
		assert.Assert(t, other.Digest != app.Digest) // its metadata differs
		assert.Equal(t, other.ContentSecurityPolicy(), "default-src 'none'; "+
			"script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "+
			"img-src 'self' data:; font-src 'self'; media-src 'self' data:; connect-src 'none'; "+
			"frame-src 'none'; object-src 'none'; base-uri 'self'")
		_, err = apps.Read(t.Context(), c, "file:///x")
		assert.ErrorContains(t, err, "does not begin with ui://")
	})
}

// Read refuses invalid contents of an app.
func TestReadOfBadApps(t *testing.T) {
	page := mcp.ResourceContents{URI: uri, MIMEType: mcp.AppMIMEType, Text: html}
	for want, change := range map[string]func(r *mcp.ReadResourceResult){
		"0 contents":       func(r *mcp.ReadResourceResult) { r.Contents = r.Contents[:0] },
		"2 contents":       func(r *mcp.ReadResourceResult) { r.Contents = append(r.Contents, page) },
		`"ui://x" in its`:  func(r *mcp.ReadResourceResult) { r.Contents[0].URI = "ui://x" },
		"MIME type":        func(r *mcp.ReadResourceResult) { r.Contents[0].MIMEType = "text/html" },
		"a NUL at byte 31": func(r *mcp.ReadResourceResult) { r.Contents[0].Text += "\x00" },
		"more than":        func(r *mcp.ReadResourceResult) { r.Contents[0].Text += strings.Repeat("x", 10<<20) },
		"not UTF-8": func(r *mcp.ReadResourceResult) {
			r.Contents[0].Blob = []byte(html + "\xff")
		},
		"whole document": func(r *mcp.ReadResourceResult) { r.Contents[0].Text = "{}" },
		`_meta["ui"]`: func(r *mcp.ReadResourceResult) {
			r.Contents[0].Meta = mcp.Meta{"ui": json.RawMessage(`{"csp":7}`)}
		},
	} {
		var o server.Options
		o.Limits.MaxAppend = 32 << 20
		s := o.New(server.Info{Name: "s", Version: "1"}, nil)
		server.Must(s.AddResource(server.Resource{Resource: mcp.Resource{URI: uri, Name: "page"},
			Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
				r := &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{page}}
				change(r)
				return r, nil
			}}))
		var declared client.Options
		apps.Declare(&declared)
		c := mcptest.Connect(t, s, declared)
		_, err := apps.Read(t.Context(), c, uri)
		assert.ErrorContains(t, err, want)
	}
}

// An appPeer is the app's end of a view.
type appPeer struct {
	*rpc.Peer
	heard chan string
}

func open(t *testing.T, c *client.Client, o apps.Options) (*apps.View, *appPeer) {
	t.Helper()
	app, err := apps.Read(t.Context(), c, uri)
	assert.NilError(t, err)
	here, there := net.Pipe()
	o.Logger = quiet
	v := o.Open(here, c, app)
	p := &appPeer{heard: make(chan string, 99)}
	p.Peer = rpc.Options{
		Handler: func(_ context.Context, req *rpc.Request) (any, error) {
			p.heard <- req.Method + " " + string(req.Params)
			return struct{}{}, nil
		}}.New(there)
	t.Cleanup(func() { _ = v.Close(); _ = p.Close(); <-v.Done(); <-p.Done() })
	return v, p
}

func (p *appPeer) call(t *testing.T, method, params string) (string, error) {
	t.Helper()
	var raw json.RawMessage
	err := p.Call(t.Context(), method, json.RawMessage(params), &raw)
	return string(raw), err
}

const hello = `{"appInfo":{"name":"a","version":"1"},"appCapabilities":{"availableDisplayModes":["inline","fullscreen"]},"protocolVersion":"2026-01-26"}`

// The handshake, the notifications to an app, and its requests.
func TestView(t *testing.T) {
	eachEra(t, func(t *testing.T, era mcp.Era) {
		c, _ := board(t, era, nil)
		asked := make(chan string, 9)
		ask := func(what string) error { asked <- what; return nil }
		v, p := open(t, c, apps.Options{
			Tool: &mcp.Tool{Name: "show", InputSchema: json.RawMessage(`{"type":"object"}`)},
			Context: mcp.HostContext{Theme: "dark",
				AvailableDisplayModes: []string{"inline", "fullscreen", "pip"}},
			Approve: func(_ context.Context, tool *mcp.Tool, arguments json.RawMessage) error {
				if string(arguments) == `{"N":13}` {
					return rpc.Errorf(-32000, "The user refuses")
				}
				return nil
			},
			OnOpenLink: func(_ context.Context, url string) error { return ask(url) },
			OnMessage: func(_ context.Context, m mcp.AppMessageParams) error {
				return ask(string(m.Content))
			},
			OnModelContext: func(_ context.Context, m mcp.ModelContextParams) error {
				return ask(string(m.StructuredContent))
			},
			OnDisplayMode: func(_ context.Context, mode string) (string, error) {
				return mode, ask(mode)
			},
			OnSizeChanged: func(w, h float64) { _ = ask("size") },
			OnLog:         func(m mcp.LoggingMessageParams) { _ = ask(string(m.Data)) },
		})
		_, err := p.call(t, "tools/call", `{"name":"show"}`)
		assert.ErrorContains(t, err, "send ui/initialize first")
		_, err = p.call(t, "ping", `{}`)
		assert.NilError(t, err)
		got, err := p.call(t, "ui/initialize", hello)
		assert.NilError(t, err)
		assert.Equal(t, got, `{"protocolVersion":"2026-01-26","hostInfo":{"name":"stdwire",`+
			`"version":"1"},"hostCapabilities":{"openLinks":{},"message":{},`+
			`"updateModelContext":{},"serverTools":{},"serverResources":{},"logging":{},`+
			`"sandbox":{"csp":{}}},"hostContext":{"toolInfo":{"tool":{"name":"show",`+
			`"inputSchema":{"type":"object"}}},"theme":"dark","displayMode":"inline",`+
			`"availableDisplayModes":["inline","fullscreen","pip"]}}`)

		// what could not be sent may be sent again
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, v.Input(gone, nil), context.Canceled)

		told := make(chan error, 1)
		go func() {
			told <- errors.Join(v.PartialInput(t.Context(), json.RawMessage(`{"N":`+`1}`)),
				v.Input(t.Context(), json.RawMessage(`{"N":12}`)),
				v.Result(t.Context(), json.RawMessage(`{"content":[]}`)),
				v.SetContext(t.Context(), mcp.HostContext{Theme: "light"}))
		}()
		assert.Equal(t, len(p.heard), 0) // not before it is initialized
		assert.NilError(t, p.Notify(t.Context(), "ui/notifications/initialized", nil))
		assert.NilError(t, <-told)
		for _, want := range []string{`tool-input-partial {"arguments":{"N":1}}`,
			`tool-input {"arguments":{"N":12}}`, `tool-result {"content":[]}`,
			`host-context-changed {"theme":"light"}`} {
			assert.Equal(t, <-p.heard, "ui/notifications/"+want)
		}
		assert.ErrorIs(t, v.Input(t.Context(), nil), apps.ErrOrder)
		assert.ErrorIs(t, v.PartialInput(t.Context(), nil), apps.ErrOrder)
		assert.ErrorIs(t, v.Cancelled(t.Context(), "x"), apps.ErrOrder)
		err = v.SetContext(t.Context(), mcp.HostContext{DisplayMode: "pip"})
		assert.ErrorContains(t, err, "does not support the mode pip")

		for _, request := range []struct{ method, params, result, failure, asked string }{
			{"tools/call", `{"name":"show","arguments":{"N":1}}`, `"text":"show"`, "", ""},
			{"tools/call", `{"name":"refresh"}`, `"text":"refresh"`, "", ""},
			{"tools/call", `{"name":"plain"}`, `"text":"plain"`, "", ""},
			{"tools/call", `{"name":"think"}`, "", "Apps may not call the tool", ""},
			{"tools/call", `{"name":"none"}`, "", "Unknown tool", ""},
			{"tools/call", `{"name":"show","arguments":{"N":13}}`, "", "The user refuses", ""},
			{"tools/call", `{"name":7}`, "", "name must be a string", ""},
			{"tools/call", `{"name":"show","arguments":[]}`, "", "arguments an object", ""},
			{"resources/read", `{"uri":"data://rows"}`, `"text":"rows"`, "", ""},
			{"resources/read", `{"uri":"data://none"}`, "", "data://none", ""},
			{"resources/read", `{}`, "", "uri must be a string", ""},
			{"ui/open-link", `{"url":"https://a.example/x"}`, `{}`, "", "https://a.example/x"},
			{"ui/open-link", `{"url":"javascript:alert(1)"}`, "", "http or https", ""},
			{"ui/open-link", `{"url":"https://u:p@a.example"}`, "", "without a user", ""},
			{"ui/message", `{"role":"user","content":[1]}`, `{}`, "", "[1]"},
			{"ui/message", `{"role":"assistant","content":[1]}`, "", "role must be", ""},
			{"ui/update-model-context", `{"structuredContent":{"a":1}}`, `{}`, "", `{"a":1}`},
			{"ui/update-model-context", `{"content":{}}`, "", "must be an array", ""},
			{"ui/request-display-mode", `{"mode":"pip"}`, `{"mode":"inline"}`, "", ""},
			{"ui/request-display-mode", `{"mode":"fullscreen"}`, `{"mode":"fullscreen"}`, "",
				"fullscreen"},
			{"sampling/createMessage", `{}`, "", "Method not found", ""},
			{"tools/list", `{}`, "", "Method not found", ""},
		} {
			got, err := p.call(t, request.method, request.params)
			if request.failure != "" {
				assert.ErrorContains(t, err, request.failure)
			} else {
				assert.NilError(t, err, request.params)
			}
			assert.Assert(t, strings.Contains(got, request.result), "%s", got)
			if request.asked != "" {
				assert.Equal(t, <-asked, request.asked)
			}
			assert.Equal(t, len(asked), 0)
		}
		assert.NilError(t, p.Notify(t.Context(), "ui/notifications/size-changed",
			json.RawMessage(`{"width":3,"height":4}`)))
		assert.Equal(t, <-asked, "size")
		assert.NilError(t, p.Notify(t.Context(), "notifications/message",
			json.RawMessage(`{"level":"info","data":"hi"}`)))
		assert.Equal(t, <-asked, `"hi"`)
		assert.NilError(t, v.Teardown(t.Context()))
		assert.Equal(t, <-p.heard, `ui/resource-teardown {}`)
	})
}

// Partial arguments that are sent concurrently with the complete ones do not arrive after them.
func TestPartialInputBesideInput(t *testing.T) {
	c, _ := board(t, mcp.Modern, nil)
	v, p := open(t, c, apps.Options{})
	_, err := p.call(t, "ui/initialize", hello)
	assert.NilError(t, err)
	var telling sync.WaitGroup
	for range 40 {
		telling.Go(func() { _ = v.PartialInput(t.Context(), json.RawMessage(`{}`)) })
	}
	telling.Go(func() { assert.Check(t, v.Input(t.Context(), nil)) })
	assert.NilError(t, p.Notify(t.Context(), "ui/notifications/initialized", nil))
	telling.Wait()
	assert.NilError(t, v.Result(t.Context(), json.RawMessage(`{}`)))
	last := ""
	for heard := ""; !strings.HasPrefix(heard, "ui/notifications/tool-result"); {
		last, heard = heard, <-p.heard
	}
	assert.Equal(t, last, `ui/notifications/tool-input {"arguments":{}}`)
}

// Requests for features that the host does not offer get "method not found".
func TestViewWithoutOptions(t *testing.T) {
	c, _ := board(t, mcp.Modern, nil)
	v, p := open(t, c, apps.Options{})
	_, err := p.call(t, "ui/initialize", hello)
	assert.NilError(t, err)
	for _, method := range []string{"ui/open-link", "ui/message", "ui/update-model-context"} {
		_, err := p.call(t, method, `{}`)
		assert.Assert(t, errors.Is(err, rpc.ErrMethodNotFound), "%v", err)
	}
	assert.ErrorIs(t, v.Result(t.Context(), nil), apps.ErrOrder) // before the input
	_ = p.Close()
	assert.Assert(t, v.Input(t.Context(), nil) != nil) // the app has disconnected
}

// A callback that panics or fails answers the app with an internal error, without its text.
func TestCallbackFails(t *testing.T) {
	c, _ := board(t, mcp.Modern, nil)
	_, p := open(t, c, apps.Options{
		OnOpenLink:    func(context.Context, string) error { panic("secret") },
		OnMessage:     func(context.Context, mcp.AppMessageParams) error { return errors.New("secret") },
		OnSizeChanged: func(float64, float64) { panic("secret") }})
	_, err := p.call(t, "ui/initialize", hello)
	assert.NilError(t, err)
	assert.NilError(t, p.Notify(t.Context(), "ui/notifications/size-changed",
		json.RawMessage(`{"width":3}`)))
	for method, params := range map[string]string{"ui/open-link": `{"url":"https://a.example"}`,
		"ui/message": `{"role":"user","content":[]}`} {
		_, err := p.call(t, method, params)
		assert.ErrorContains(t, err, "Internal error")
		assert.Assert(t, !strings.Contains(err.Error(), "secret"))
	}
}

func TestDestructive(t *testing.T) {
	for text, want := range map[string]bool{
		`{"name":"a"}`: false, `{"name":"a","annotations":{}}`: false,
		`{"name":"a","annotations":{"destructiveHint":true}}`:                       true,
		`{"name":"a","annotations":{"destructiveHint":false}}`:                      false,
		`{"name":"a","annotations":{"readOnlyHint":false}}`:                         true,
		`{"name":"a","annotations":{"readOnlyHint":false,"destructiveHint":false}}`: false,
		`{"name":"a","annotations":{"readOnlyHint":true,"destructiveHint":true}}`:   false,
	} {
		var tool mcp.Tool
		assert.NilError(t, mcp.Unmarshal([]byte(text), &tool))
		assert.Equal(t, apps.Destructive(&tool), want, text)
	}
}
