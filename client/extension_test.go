package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const (
	mapsID     = "com.example/maps"
	drawMap    = "maps/draw"
	whereAmI   = "maps/where"
	mapMoved   = "notifications/maps/moved"
	mapClicked = "notifications/maps/clicked"
)

type drawing struct {
	Map      string          `json:"map"`
	Settings json.RawMessage `json:"settings,omitzero"`
	Asked    string          `json:"asked"`
}

// mapServer returns a server with an extension that has a method, a notification in either
// direction, a request to the client, a tool, a resource and a member of _meta.
func mapServer(t *testing.T, clicked chan<- string, change func(*server.Extension)) *server.Server {
	maps := server.Extension{
		ID: mapsID, Settings: map[string]int{"zoom": 7}, Meta: []string{"com.example/map"},
		Methods: map[string]func(context.Context, json.RawMessage) (any, error){
			drawMap: func(ctx context.Context, params json.RawMessage) (any, error) {
				var p struct{ City string }
				if err := json.Unmarshal(params, &p); err != nil {
					return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: %v", err)
				}
				if p.City == "" {
					return []string{"no object"}, nil
				}
				d := drawing{Map: "map of " + p.City}
				d.Settings, _ = server.ClientExtension(ctx, mapsID)
				if _, ok := server.ClientExtension(ctx, "com.example/other"); ok {
					return nil, errors.New("the client has not declared it")
				}
				err := server.NotifyExtension(ctx, mapsID, mapMoved,
					map[string]string{"to": p.City})
				if err != nil && !errors.Is(err, server.ErrUnsupported) {
					return nil, err
				}
				var where struct {
					Place string `json:"place"`
				}
				err = server.CallExtension(ctx, mapsID, whereAmI, nil, &where)
				if d.Asked = where.Place; err != nil && !errors.Is(err, server.ErrUnsupported) {
					d.Asked = err.Error()
				}
				return d, nil
			},
		},
		Notifications: map[string]func(context.Context, json.RawMessage){
			mapClicked: func(_ context.Context, params json.RawMessage) {
				clicked <- string(params)
			},
		},
	}
	if change != nil {
		change(&maps)
	}
	s := server.Options{Extensions: []server.Extension{maps},
		Logger: slog.New(slog.DiscardHandler)}.New(server.Info{Name: "s", Version: "1"}, nil)
	call := func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("called")}}, nil
	}
	meta := mcp.Meta{"com.example/map": json.RawMessage(`{"x":1}`),
		"com.example/any": json.RawMessage(`1`)}
	assert.NilError(t, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "all", Meta: meta},
		Call: call}))
	assert.NilError(t, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "some"}, Call: call,
		Extension: mapsID}))
	assert.NilError(t, s.AddResource(server.Resource{
		Resource: mcp.Resource{URI: "map://world", Name: "World"}, Extension: mapsID,
		Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{
				Contents: []mcp.ResourceContents{{URI: uri, Text: "o"}}}, nil
		}}))
	return s
}

var connectBy = map[string]func(testing.TB, *server.Server, client.Options) *client.Client{
	"stream": mcptest.Connect, "http": mcptest.ConnectHTTP,
}

// everywhere runs a test in both eras over both transports.
func everywhere(t *testing.T, test func(t *testing.T, era mcp.Era,
	connect func(testing.TB, *server.Server, client.Options) *client.Client)) {
	for name, connect := range connectBy {
		for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
			t.Run(name+" "+era.String(), func(t *testing.T) { test(t, era, connect) })
		}
	}
}

func clientMaps(moved chan<- string) client.Extension {
	return client.Extension{ID: mapsID, Settings: json.RawMessage(`{"colours":true}`),
		Methods: map[string]func(context.Context, json.RawMessage) (any, error){
			whereAmI: func(context.Context, json.RawMessage) (any, error) {
				return map[string]string{"place": "Oslo"}, nil
			},
		},
		Notifications: map[string]func(json.RawMessage){
			mapMoved: func(params json.RawMessage) { moved <- string(params) },
		}}
}

func toolsOf(t *testing.T, c *client.Client) (names []string, meta mcp.Meta) {
	for tool, err := range c.Tools(t.Context()) {
		assert.NilError(t, err)
		names = append(names, tool.Name)
		if tool.Name == "all" {
			meta = tool.Meta
		}
	}
	return names, meta
}

// The additions of an extension exist for a client that declares it, in both eras and over both
// transports.
func TestExtension(t *testing.T) {
	everywhere(t, func(t *testing.T, era mcp.Era,
		connect func(testing.TB, *server.Server, client.Options) *client.Client) {
		clicked, moved := make(chan string, 1), make(chan string, 1)
		c := connect(t, mapServer(t, clicked, nil),
			client.Options{Era: era, Extensions: []client.Extension{clientMaps(moved)}})
		settings, declared := c.Extension(mapsID)
		assert.Assert(t, declared)
		assert.Equal(t, string(settings), `{"zoom":7}`)

		raw, err := c.CallExtension(t.Context(), mapsID, drawMap, map[string]string{"City": "Rome"})
		assert.NilError(t, err)
		var d drawing
		assert.NilError(t, json.Unmarshal(raw, &d))
		want := drawing{Map: "map of Rome", Settings: json.RawMessage(`{"colours":true}`)}
		if era == mcp.Legacy { // a modern client cannot be called
			want.Asked = "Oslo"
		}
		assert.DeepEqual(t, d, want)
		assert.Equal(t, bytes.Contains(raw, []byte(`"resultType":"complete"`)), era == mcp.Modern)
		assert.Equal(t, bytes.Contains(raw, []byte(mcp.MetaServerInfo)), era == mcp.Modern)
		assert.Equal(t, <-moved, `{"to":"Rome"}`)

		assert.NilError(t, c.NotifyExtension(t.Context(), mapsID, mapClicked,
			map[string]int{"x": 1}))
		assert.Assert(t, strings.Contains(<-clicked, `"x":1`))

		_, err = c.CallExtension(t.Context(), mapsID, drawMap, nil)
		assert.ErrorContains(t, err, "Internal error") // the result is not an object

		names, meta := toolsOf(t, c)
		assert.DeepEqual(t, names, []string{"all", "some"})
		assert.Equal(t, string(meta["com.example/map"]), `{"x":1}`)
		_, err = c.CallTool(t.Context(), "some", nil)
		assert.NilError(t, err)
		_, err = c.ReadResource(t.Context(), "map://world")
		assert.NilError(t, err)
	})
}

// Without negotiation an extension adds nothing: its method is unknown, its items do not exist and
// its _meta is not sent. The same holds for a client that does not declare it, that declares
// settings that are not an object, or settings that the server does not accept.
func TestExtensionThatWasNotNegotiated(t *testing.T) {
	everywhere(t, func(t *testing.T, era mcp.Era,
		connect func(testing.TB, *server.Server, client.Options) *client.Client) {
		for name, o := range map[string]client.Options{
			"undeclared": {},
			"unaccepted": {Extensions: []client.Extension{{ID: mapsID,
				Settings: json.RawMessage(`{"old":true}`)}}},
		} {
			clicked := make(chan string, 1)
			o.Era = era
			c := connect(t, mapServer(t, clicked, func(x *server.Extension) {
				x.Accepts = func(settings json.RawMessage) bool {
					return !bytes.Contains(settings, []byte("old"))
				}
			}), o)
			_, err := c.CallExtension(t.Context(), mapsID, drawMap, map[string]string{"City": "Rome"})
			assert.Assert(t, errors.Is(err, rpc.ErrMethodNotFound), "%s: %v", name, err)
			assert.NilError(t, c.NotifyExtension(t.Context(), mapsID, mapClicked, nil))
			names, meta := toolsOf(t, c)
			assert.DeepEqual(t, names, []string{"all"})
			assert.DeepEqual(t, meta, mcp.Meta{"com.example/any": json.RawMessage(`1`)})
			_, err = c.CallTool(t.Context(), "some", nil)
			assert.Assert(t, errors.Is(err, rpc.ErrInvalidParams), "%s: %v", name, err)
			for r, err := range c.Resources(t.Context()) {
				t.Error(r, err)
			}
			_, err = c.ReadResource(t.Context(), "map://world")
			assert.ErrorContains(t, err, "map://world")
			assert.Equal(t, len(clicked), 0)
		}
	})
}

// A client need not declare an extension with ServerOnly.
func TestExtensionOfTheServerOnly(t *testing.T) {
	everywhere(t, func(t *testing.T, era mcp.Era,
		connect func(testing.TB, *server.Server, client.Options) *client.Client) {
		c := connect(t, mapServer(t, nil, func(x *server.Extension) {
			x.ServerOnly = true
		}), client.Options{Era: era})
		_, err := c.CallExtension(t.Context(), mapsID, drawMap, map[string]string{"City": "Rome"})
		assert.NilError(t, err)
		names, _ := toolsOf(t, c)
		assert.DeepEqual(t, names, []string{"all", "some"})
	})
}

// An extension that both sides declare without any handlers has no effect, and nothing fails.
func TestExtensionThatNobodyUnderstands(t *testing.T) {
	const id = "com.example/nothing"
	everywhere(t, func(t *testing.T, era mcp.Era,
		connect func(testing.TB, *server.Server, client.Options) *client.Client) {
		s := server.Options{Extensions: []server.Extension{{ID: id}}}.New(
			server.Info{Name: "s", Version: "1"}, nil)
		c := connect(t, s, client.Options{Era: era, Extensions: []client.Extension{{ID: id}}})
		settings, declared := c.Extension(id)
		assert.Assert(t, declared)
		assert.Equal(t, string(settings), `{}`)
		_, err := c.CallExtension(t.Context(), id, "nothing/do", nil)
		assert.Assert(t, errors.Is(err, rpc.ErrMethodNotFound), "%v", err)
		assert.NilError(t, c.NotifyExtension(t.Context(), id, "notifications/nothing", nil))
		names, _ := toolsOf(t, c)
		assert.Equal(t, len(names), 0)
	})
}

// If a server does not declare an extension, the client sends it no messages of the extension and
// ignores those that it receives.
func TestExtensionThatTheServerDoesNotDeclare(t *testing.T) {
	everywhere(t, func(t *testing.T, era mcp.Era,
		connect func(testing.TB, *server.Server, client.Options) *client.Client) {
		s := server.New(server.Info{Name: "s", Version: "1"}, nil)
		c := connect(t, s, client.Options{Era: era,
			Extensions: []client.Extension{clientMaps(nil)}})
		_, declared := c.Extension(mapsID)
		assert.Assert(t, !declared)
		_, err := c.CallExtension(t.Context(), mapsID, drawMap, nil)
		assert.ErrorIs(t, err, client.ErrUndeclared)
		assert.ErrorContains(t, err, "extensions."+mapsID)
		err = c.NotifyExtension(t.Context(), mapsID, mapClicked, nil)
		assert.ErrorContains(t, err, "extensions."+mapsID)
	})
}

// Invalid extensions are refused at once, with an error that names them.
func TestInvalidExtensions(t *testing.T) {
	type methods = map[string]func(context.Context, json.RawMessage) (any, error)
	type notifications = map[string]func(json.RawMessage)
	handler := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	with := func(m methods, n notifications) client.Options {
		return client.Options{
			Extensions: []client.Extension{{ID: mapsID, Methods: m, Notifications: n}}}
	}
	for want, o := range map[string]client.Options{
		"no prefix":               {Extensions: []client.Extension{{ID: "maps"}}},
		"bad label":               {Extensions: []client.Extension{{ID: "1.a/maps"}}},
		"JSON object":             {Extensions: []client.Extension{{ID: mapsID, Settings: 7}}},
		"settings of":             {Extensions: []client.Extension{{ID: mapsID, Settings: make(chan int)}}},
		"maps is declared twice":  {Extensions: []client.Extension{{ID: mapsID}, {ID: mapsID}}},
		"tasks is declared twice": {Extensions: []client.Extension{{ID: mcp.ExtensionTasks}}},
		`"tools/call" is`:         with(methods{"tools/call": handler}, nil),
		`"maps/draw" is`:          with(methods{drawMap: nil}, nil),
		"progress\" is": with(nil,
			notifications{"notifications/progress": func(json.RawMessage) {}}),
	} {
		stream, _ := net.Pipe()
		_, err := o.Connect(t.Context(), client.Stream(stream))
		assert.ErrorContains(t, err, want)
		var extensions []server.Extension
		for _, e := range o.Extensions {
			x := server.Extension{ID: e.ID, Settings: e.Settings, Methods: e.Methods}
			for name := range e.Notifications {
				x.Notifications = map[string]func(context.Context, json.RawMessage){
					name: func(context.Context, json.RawMessage) {}}
			}
			extensions = append(extensions, x)
		}
		func() {
			defer func() {
				text, _ := recover().(string)
				assert.Assert(t, strings.Contains(text, want), "%q lacks %q", text, want)
			}()
			server.Options{Extensions: extensions}.New(server.Info{Name: "s", Version: "1"}, nil)
		}()
	}
}

// The handlers of an extension may panic, and a slow one loses the oldest notifications.
func TestExtensionHandlersMisbehave(t *testing.T) {
	const count = 600
	everywhere(t, func(t *testing.T, era mcp.Era,
		connect func(testing.TB, *server.Server, client.Options) *client.Client) {
		s := server.Options{Logger: slog.New(slog.DiscardHandler),
			Extensions: []server.Extension{{ID: mapsID,
				Methods: map[string]func(context.Context, json.RawMessage) (any, error){
					drawMap: func(ctx context.Context, _ json.RawMessage) (any, error) {
						for i := range count {
							if err := server.NotifyExtension(ctx, mapsID, mapMoved,
								map[string]int{"i": i}); err != nil {
								return nil, err
							}
						}
						panic("a bug")
					},
				},
				Notifications: map[string]func(context.Context, json.RawMessage){
					mapClicked: func(context.Context, json.RawMessage) { panic("a bug") },
				}}}}.New(server.Info{Name: "s", Version: "1"}, nil)
		var got []string
		release, last := make(chan struct{}), make(chan struct{})
		c := connect(t, s, client.Options{Era: era, Logger: slog.New(slog.DiscardHandler),
			Extensions: []client.Extension{{ID: mapsID,
				Notifications: map[string]func(json.RawMessage){
					mapMoved: func(params json.RawMessage) {
						<-release
						got = append(got, string(params))
						if string(params) == `{"i":599}` {
							close(last)
						}
						panic("a bug")
					},
				}}}})
		assert.NilError(t, c.NotifyExtension(t.Context(), mapsID, mapClicked, nil))
		_, err := c.CallExtension(t.Context(), mapsID, drawMap, nil)
		assert.ErrorContains(t, err, "Internal error")
		close(release)
		<-last
		assert.Assert(t, len(got) <= 257 && slices.Contains(got, `{"i":598}`), "%d", len(got))
	})
}
