package gateway_test

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A passage records what a call passes on its way.
type passage struct {
	mu    sync.Mutex
	steps []string
}

func (p *passage) add(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = append(p.steps, step)
}

func (p *passage) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.steps = nil }()
	return strings.Join(p.steps, " > ")
}

// middleware records the requests that use an item.
func (p *passage) middleware(name string) []rpc.Middleware {
	return []rpc.Middleware{func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			switch req.Method {
			case mcp.MethodCallTool, mcp.MethodGetPrompt, mcp.MethodReadResource:
			default:
				return next(ctx, req)
			}
			p.add(name)
			defer p.add("/" + name)
			return next(ctx, req)
		}
	}}
}

// interceptors records the calls. The second one is inside the first one.
func (p *passage) interceptors(name string) (all []dispatch.Interceptor) {
	for _, n := range []string{"1", "2"} {
		all = append(all, func(next dispatch.Handler) dispatch.Handler {
			return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
				p.add(strings.Join([]string{name, n, i.Kind, i.Server + ":" + i.Name}, " "))
				defer p.add("/" + name + n)
				return next(ctx, i)
			}
		})
	}
	return all
}

// A call passes what wraps messages and calls in the order that [dispatch.Interceptor] says.
func TestOrderOfInterception(t *testing.T) {
	var p passage
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "own.op", Summary: "Runs.", Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) { p.add("operation"); return "done", nil })
	dispatched := dispatch.Options{Logger: quiet, Interceptors: p.interceptors("dispatch")}
	downstream := server.Options{Logger: quiet, Middleware: p.middleware("message"),
		Interceptors: p.interceptors("server"), Dispatch: dispatched,
	}.New(server.Info{Name: "all", Version: "1"}, catalog)
	up := server.New(server.Info{Name: "up", Version: "1"}, nil)
	for kind, item := range map[mcp.Kind][2]string{
		mcp.KindTool:     {`{"name":"tool","inputSchema":{"type":"object"}}`, `{"content":[]}`},
		mcp.KindPrompt:   {`{"name":"prompt"}`, `{"messages":[]}`},
		mcp.KindResource: {`{"name":"r","uri":"x:resource"}`, `{"contents":[]}`},
		mcp.KindSkill: {`{"uri":"skill://s/SKILL.md","resources":"dynamic",` +
			`"frontmatter":{"name":"s","description":"d"}}`, `{"contents":[]}`},
	} {
		assert.NilError(t, up.Integration().AddItem(server.Item{Kind: kind,
			Definition: json.RawMessage(item[0]),
			Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				p.add(string(kind))
				return json.RawMessage(item[1]), nil
			},
			ReadDirectory: func(context.Context, string) (json.RawMessage, error) {
				return json.RawMessage(`[{"uri":"skill://s/a.md","name":"a"}]`), nil
			}}))
	}

	operations := dispatch.NewCatalog()
	g := gateway.Options{Logger: quiet, Interceptors: p.interceptors("gateway"),
		Catalog: operations}.New(downstream)
	defer g.Close()
	assert.NilError(t, g.Add(gateway.Upstream{Server: host.Server{ID: "up",
		Options: client.Options{Logger: quiet, Outgoing: p.middleware("sent")},
		Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
			clientEnd, serverEnd := net.Pipe()
			go func() { _ = up.Serve(context.Background(), serverEnd) }()
			return o.Connect(ctx, client.Stream(clientEnd))
		}}}))
	g.Settle(t.Context())

	const (
		within     = "server 1 tool :own_op > server 2 tool :own_op > "
		dispatches = "dispatch 1 operation :own.op > dispatch 2 operation :own.op > operation > " +
			"/dispatch2 > /dispatch1"
		forwards = "gateway 1 tool up:tool > gateway 2 tool up:tool > sent > tool > /sent > " +
			"/gateway2 > /gateway1"
	)
	c := mcptest.Connect(t, downstream, client.Options{Logger: quiet})
	call := func(tool string) string {
		_, err := c.CallTool(t.Context(), tool, nil)
		assert.NilError(t, err)
		return p.take()
	}
	assert.Equal(t, call("own_op"),
		"message > "+within+dispatches+" > /server2 > /server1 > /message")
	assert.Equal(t, call("up__tool"), "message > "+strings.ReplaceAll(within, "own_op", "up__tool")+
		forwards+" > /server2 > /server1 > /message")

	const other = "message > server 1 KIND :NAME > server 2 KIND :NAME > gateway 1 KIND up:OWN > " +
		"gateway 2 KIND up:OWN > sent > KIND > /sent > /gateway2 > /gateway1 > /server2 > " +
		"/server1 > /message"
	_, err := c.GetPrompt(t.Context(), "up__prompt", nil)
	assert.NilError(t, err)
	assert.Equal(t, p.take(), strings.NewReplacer("KIND", "prompt", "NAME", "up__prompt", "OWN",
		"prompt").Replace(other))
	_, err = c.ReadResource(t.Context(), "x:resource")
	assert.NilError(t, err)
	assert.Equal(t, p.take(), strings.NewReplacer("KIND", "resource", "NAME", "x:resource", "OWN",
		"x:resource").Replace(other))

	// A directory is not read by a use of an item, and its result is an array.
	for r, err := range c.ReadDirectory(t.Context(), "skill://s") {
		assert.NilError(t, err)
		assert.Equal(t, r.Name, "a")
	}
	assert.Equal(t, p.take(), "")

	surface := dispatched.New(operations)
	e := surface.Dispatch(t.Context(), &dispatch.Call{Operation: "up.tool", Confirmed: true})
	assert.Assert(t, e.Err == nil, "%v", e.Err)
	assert.Equal(t, p.take(), strings.Replace(strings.ReplaceAll(dispatches, "own.op", "up.tool"),
		"operation > /", forwards+" > /", 1))
}
