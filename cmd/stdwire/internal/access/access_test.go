package access_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/access"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/lockedbuffer"
	"github.com/stdwire/stdwire/internal/policy"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/auth"
)

var quiet = slog.New(slog.DiscardHandler)

// A site is a gateway with a server "up" and a built-in operation, under rules. Its caller is
// whoever identity says.
type site struct {
	t        *testing.T
	rules    *access.Rules
	server   *server.Server
	gateway  *gateway.Gateway
	up       *server.Server
	identity atomic.Pointer[auth.Identity]
	calls    atomic.Int64 // that have reached a tool
	log      lockedbuffer.Buffer
}

func newSite(t *testing.T, dryRun bool, table string) *site {
	s := &site{t: t}
	s.rules = access.New(dryRun, slog.New(slog.NewTextHandler(&s.log, nil)))
	s.set(table)
	catalog := dispatch.NewCatalog()
	for _, name := range []string{"own.read", "own.list"} {
		dispatch.Add(catalog, dispatch.Spec{Name: name, Summary: "Runs.", Type: dispatch.Read},
			func(_ context.Context, in struct {
				Path string `json:"path,omitempty"`
			}) (string, error) {
				s.calls.Add(1)
				return "done", nil
			})
	}
	identify := func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			if id := s.identity.Load(); id != nil {
				ctx = auth.WithIdentity(ctx, id)
			}
			return next(ctx, req)
		}
	}
	s.server = server.Options{Logger: quiet, Middleware: []rpc.Middleware{identify},
		Visible:  s.rules.Visible(func() *server.Server { return s.server }, catalog, ""),
		ToolView: func(string) server.ToolView { return server.ToolView{} },
		Dispatch: dispatch.Options{
			Interceptors: []dispatch.Interceptor{s.rules.Operations(catalog)}},
	}.New(server.Info{Name: "all", Version: "1"}, catalog)
	s.up = server.Options{Logger: quiet}.New(server.Info{Name: "up", Version: "1"}, nil)
	for kind, item := range map[mcp.Kind][]string{
		mcp.KindTool: {`{"name":"read","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
			`{"name":"drop","inputSchema":{"type":"object"}}`},
		mcp.KindPrompt:           {`{"name":"greet"}`},
		mcp.KindResource:         {`{"name":"r","uri":"x:open/1"}`, `{"name":"s","uri":"x:secret/1"}`},
		mcp.KindResourceTemplate: {`{"name":"t","uriTemplate":"y:{id}"}`},
	} {
		for _, definition := range item {
			assert.NilError(t, s.up.Integration().AddItem(server.Item{Kind: kind,
				Definition: json.RawMessage(definition), Use: func(_ context.Context, name string,
					_ json.RawMessage) (json.RawMessage, error) {
					s.calls.Add(1)
					return json.RawMessage(fmt.Sprintf(
						`{"content":[],"messages":[],"contents":[{"uri":%q,"text":"t"}]}`, name)), nil
				}}))
		}
	}
	s.gateway = gateway.Options{Logger: quiet,
		Interceptors: []dispatch.Interceptor{s.rules.Calls}}.New(s.server)
	t.Cleanup(s.gateway.Close)
	s.add("up", s.up, false)
	s.rules.SetGateway(s.gateway)
	return s
}

// add adds a server to the gateway, or replaces it.
func (s *site) add(id string, to *server.Server, asTools bool) {
	s.t.Helper()
	up := host.Server{ID: id, Connect: connectTo(to)}
	assert.NilError(s.t, s.gateway.Add(gateway.Upstream{AsTools: asTools, Server: up}))
	s.gateway.Settle(s.t.Context())
}

// connectTo returns a function that connects a gateway to a server. Such a connection ends with the
// gateway, and not with the test as those of mcptest do, before which the gateway would open
// another one.
func connectTo(to *server.Server) func(context.Context, string, client.Options) (*client.Client,
	error) {
	return func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
		here, there := net.Pipe()
		go func() { _ = to.Serve(context.Background(), there) }()
		o.Logger = quiet
		return o.Connect(ctx, client.Stream(here))
	}
}

// set replaces the rules.
func (s *site) set(table string) {
	s.t.Helper()
	p, err := policy.ParseFile("rules", []byte(table))
	assert.NilError(s.t, err)
	s.rules.Set(p, true)
}

// call calls a tool, and returns what the client learns.
func (s *site) call(c *client.Client, tool, arguments string) string {
	s.t.Helper()
	result, err := c.CallToolRaw(s.t.Context(), tool, json.RawMessage(arguments))
	if err != nil {
		return err.Error()
	}
	if bytes.Contains(result, []byte(`"isError":true`)) {
		return string(result)
	}
	return "ok"
}

func names[T any](t *testing.T, name func(T) string, items func(func(T, error) bool)) string {
	t.Helper()
	var all []string
	for item, err := range items {
		assert.NilError(t, err)
		all = append(all, name(item))
	}
	return strings.Join(all, " ")
}

func toolNames(t *testing.T, c *client.Client) string {
	return names(t, func(tool *mcp.Tool) string { return tool.Name }, c.Tools(t.Context()))
}

var eras = []mcp.Era{mcp.Modern, mcp.Legacy}

// A rule that asks asks the client's user, in both eras, and for both kinds of tools.
func TestAsk(t *testing.T) {
	s := newSite(t, false, `{"rules":[{"effect":"ask","reason":"It matters."}]}`)
	for _, era := range eras {
		answer, asked := mcp.ElicitAccept, 0
		c := mcptest.Connect(t, s.server, client.Options{Era: era, Logger: quiet,
			OnElicit: func(_ context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
				asked++
				assert.Check(t, strings.HasSuffix(p.Message, "be used? It matters."), p.Message)
				return &mcp.ElicitResult{Action: answer, Content: json.RawMessage(`{}`)}, nil
			}})
		mute := mcptest.Connect(t, s.server, client.Options{Era: era, Logger: quiet})
		for _, tool := range []string{"up__drop", "own_read"} {
			before := s.calls.Load()
			answer, asked = mcp.ElicitAccept, 0
			assert.Equal(t, s.call(c, tool, `{}`), "ok", "%v %s", era, tool)
			assert.Equal(t, s.calls.Load(), before+1)
			answer = mcp.ElicitDecline
			assert.Assert(t, strings.Contains(s.call(c, tool, `{}`), "the user did not permit it"))
			assert.Assert(t, strings.Contains(s.call(mute, tool, `{}`),
				"this client cannot ask one: It matters."))
			assert.Equal(t, asked, 2)
			assert.Equal(t, s.calls.Load(), before+1, "a refused call reaches nothing")
		}
		_, err := c.ReadResource(t.Context(), "x:open/1")
		assert.ErrorContains(t, err, "the user did not permit it")
		answer = mcp.ElicitAccept
		_, err = c.ReadResource(t.Context(), "x:open/1")
		assert.NilError(t, err)
	}
	assert.Assert(t, strings.Contains(s.log.String(), "rule=rules:1"), s.log.String())
}

// Two gateways, one behind the other, ask their own questions, whose keys must not be the same.
func TestAskBehindAsk(t *testing.T) {
	const table = `{"rules":[{"effect":"ask"}]}`
	outer, inner := newSite(t, false, table), newSite(t, false, table)
	outer.add("inner", inner.server, false)
	for _, era := range eras {
		var asked []string
		c := mcptest.Connect(t, outer.server, client.Options{Era: era, Logger: quiet,
			OnElicit: func(_ context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
				asked = append(asked, p.Message)
				return &mcp.ElicitResult{Action: mcp.ElicitAccept,
					Content: json.RawMessage(`{}`)}, nil
			}})
		before := inner.calls.Load()
		assert.Equal(t, outer.call(c, "inner__up__drop", `{}`), "ok", "%v", era)
		assert.DeepEqual(t, asked, []string{`May "up__drop" of "inner" be used?`,
			`May "drop" of "up" be used?`})
		assert.Equal(t, inner.calls.Load(), before+1)
	}
}

// The tools that read resources and get prompts are decided like others, and so is what they read:
// each by the rules about it.
func TestAsTools(t *testing.T) {
	s := newSite(t, false, `{"rules":[
		{"effect":"ask","what":{"tool":"get_prompt"},"reason":"The tool."},
		{"effect":"ask","what":{"prompt":"greet"},"reason":"The prompt."},
		{"effect":"deny","what":{"tool":"list_resources"}},
		{"effect":"deny","what":{"tool":"read_resource"},
			"arguments":{"/uri":{"prefix":"y:"}},"reason":"Not these."},
		{"effect":"hide","what":{"resource":"*secret*"}},
		{"effect":"allow"}]}`)
	s.add("up", s.up, true)
	for _, era := range eras {
		var asked []string
		c := mcptest.Connect(t, s.server, client.Options{Era: era, Logger: quiet,
			OnElicit: func(_ context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
				asked = append(asked, p.Message)
				return &mcp.ElicitResult{Action: mcp.ElicitAccept,
					Content: json.RawMessage(`{}`)}, nil
			}})
		before := s.calls.Load()
		unknown := s.call(c, "up__list_resources", `{}`)
		assert.Assert(t, strings.Contains(unknown, "Unknown tool: up__list_resources"), unknown)
		denied := s.call(c, "up__read_resource", `{"uri":"y:1"}`)
		assert.Assert(t, strings.Contains(denied,
			"the policy does not permit its argument /uri: Not these."), denied)
		assert.Assert(t, s.call(c, "up__read_resource", `{"uri":"x:secret/1"}`) != "ok")
		assert.Equal(t, s.calls.Load(), before)
		assert.Equal(t, s.call(c, "up__read_resource", `{"uri":"x:open/1"}`), "ok")
		assert.Equal(t, s.call(c, "up__get_prompt", `{"name":"up__greet"}`), "ok")
		assert.DeepEqual(t, asked, []string{`May "get_prompt" of "up" be used? The tool.`,
			`May "greet" of "up" be used? The prompt.`})
		assert.Equal(t, s.calls.Load(), before+2)
	}
}

// What is hidden is answered like what does not exist, on every way.
func TestHiddenIsUnknown(t *testing.T) {
	s := newSite(t, false, `{"rules":[
		{"effect":"allow","what":{"server":"up","kind":"read"}},
		{"effect":"allow","what":{"tool":"own_read"}},
		{"effect":"hide","what":{"resource":"*secret*"},"unless":{"group":"admin"}},
		{"effect":"hide","what":{"prompt":"*"},"unless":{"group":"admin"}},
		{"effect":"allow","who":{"group":"admin"}}]}`)
	for _, era := range eras {
		s.identity.Store(nil)
		c := mcptest.Connect(t, s.server, client.Options{Era: era, Logger: quiet})
		same := func(kind, hidden, unknown string, use func(name string) error) {
			t.Helper()
			one, other := use(hidden), use(unknown)
			assert.Assert(t, one != nil && other != nil, kind)
			assert.Equal(t, strings.ReplaceAll(one.Error(), hidden, "X"),
				strings.ReplaceAll(other.Error(), unknown, "X"), kind)
		}
		assert.Equal(t, toolNames(t, c), "own_read up__read")
		tool := func(name string) error {
			_, err := c.CallToolRaw(t.Context(), name, nil)
			return err
		}
		same("tool", "up__drop", "up__none", tool)
		same("operation", "own_list", "own_none", tool)
		same("prompt", "up__greet", "up__none", func(name string) error {
			_, err := c.GetPrompt(t.Context(), name, nil)
			return err
		})
		same("completion", "up__greet", "up__none", func(name string) error {
			ref := mcp.CompleteReference{Type: mcp.RefPrompt, Name: name}
			_, err := c.Complete(t.Context(), ref, "a", "", nil)
			return err
		})
		read := func(uri string) error {
			_, err := c.ReadResource(t.Context(), uri)
			return err
		}
		same("resource", "x:secret/1", "z:none", read)
		same("matched", "y:secret", "z:none", read)
		assert.NilError(t, read("y:open"))
		if era == mcp.Legacy {
			same("subscription", "x:secret/1", "z:none",
				func(uri string) error { return c.Subscribe(t.Context(), uri) })
		}
		found := func(query string) bool {
			result, err := c.CallToolRaw(t.Context(), "find_tool", map[string]any{"query": query})
			assert.NilError(t, err)
			return bytes.Contains(result, []byte("up__"+query))
		}
		assert.Assert(t, found("read") && !found("drop"))
		assert.Assert(t, strings.Contains(s.call(c, "call_tool_destructive", `{"name":"up__drop","arguments":{}}`),
			"Unknown tool: up__drop"))
		s.identity.Store(&auth.Identity{Issuer: "i", Subject: "root", Groups: []string{"admin"}})
		assert.Equal(t, toolNames(t, c), "own_list own_read up__drop up__read")
		assert.Assert(t, found("drop"))
		assert.NilError(t, read("x:secret/1"))
		assert.Equal(t, s.call(c, "up__drop", `{}`), "ok")
	}
}

// Updates of a resource end with the right to read it, and lists change for everybody connected.
func TestChangesOfRules(t *testing.T) {
	const open, closed = `{"rules":[{"effect":"allow"}]}`,
		`{"rules":[{"effect":"allow","what":{"tool":"read"}},{"effect":"allow","what":{"resource":"x:open*"}}]}`
	for _, era := range eras {
		s := newSite(t, false, open)
		updated, changed := make(chan string, 10), make(chan struct{}, 10)
		c := mcptest.Connect(t, s.server, client.Options{Era: era, Logger: quiet,
			OnResourceUpdated: func(uri string) { updated <- uri },
			OnToolsChanged:    func([]*mcp.Tool, error) { changed <- struct{}{} }})
		toolNames(t, c)
		assert.NilError(t, c.Subscribe(t.Context(), "x:secret/1", "x:open/1"))
		s.server.ResourceUpdated("x:secret/1")
		for <-updated != "x:secret/1" { // subscribing at the server "up" may update them all
		}
		s.set(closed)
		s.server.Integration().ListsChanged(nil)
		<-changed
		assert.Equal(t, toolNames(t, c), "up__read")
		// Some may still come that were sent before.
		for alone, tries := 0, 0; alone < 3; tries++ {
			assert.Assert(t, tries < 100, "the other is hidden now")
			s.server.ResourceUpdated("x:secret/1")
			s.server.ResourceUpdated("x:open/1")
			if alone++; <-updated != "x:open/1" {
				alone = 0
			}
		}
	}
}

// A dry run changes nothing, and says what it would.
func TestDryRun(t *testing.T) {
	s := newSite(t, true, `{"rules":[{"effect":"ask","what":{"tool":"read"}}]}`)
	c := mcptest.Connect(t, s.server, client.Options{Logger: quiet})
	assert.Equal(t, toolNames(t, c), "own_list own_read up__drop up__read")
	assert.Equal(t, s.call(c, "up__drop", `{}`), "ok")
	assert.Equal(t, s.call(c, "up__read", `{}`), "ok")
	log := s.log.String()
	for _, want := range []string{"would hide this", "would refuse this call",
		`effect=ask rule=rules:1`, `effect=deny rule="the default"`} {
		assert.Assert(t, strings.Contains(log, want), "%s: %s", want, log)
	}
}

// A denial names the argument and not the rule.
func TestDenialByArgument(t *testing.T) {
	s := newSite(t, false, `{"default":"allow","rules":[{"effect":"deny","reason":"Not there.","arguments":{"/path":{"prefix":"/etc/","default":""}}}]}`)
	for _, era := range eras {
		c := mcptest.Connect(t, s.server, client.Options{Era: era, Logger: quiet})
		for _, tool := range []string{"up__read", "own_read"} {
			assert.Equal(t, s.call(c, tool, `{"path":"/tmp/x"}`), "ok")
			said := s.call(c, tool, `{"path":"/etc/x"}`)
			assert.Assert(t, strings.Contains(said, "does not permit its argument /path: Not there.") &&
				!strings.Contains(said, "rules:"), said)
		}
	}
	latest := s.rules.Latest() // for the operator, each once
	for i := range latest {
		assert.Assert(t, latest[i].At != "")
		latest[i].At = ""
	}
	refusal := ops.Refusal{Effect: "deny", Rule: "rules:1", Argument: "/path"}
	own, up := refusal, refusal
	own.Server, own.Name = access.Own, "own_read"
	up.Server, up.Name = "up", "read"
	assert.DeepEqual(t, latest, []ops.Refusal{own, up})
}

// The files of the program's own skills are those of the server "stdwire".
func TestOwnSkills(t *testing.T) {
	s := newSite(t, false, `{"default":"allow","rules":[
		{"effect":"hide","what":{"server":"stdwire","resource":"skill://*secret*"}},
		{"effect":"ask","what":{"server":"stdwire","resource":"skill://*asked*"}}]}`)
	definition := "---\nname: %s\ndescription: d\n---\n"
	files := fstest.MapFS{}
	for _, name := range []string{"open", "asked"} {
		files[name+"/SKILL.md"] = &fstest.MapFile{Data: fmt.Appendf(nil, definition, name)}
		files[name+"/secret.md"] = &fstest.MapFile{Data: []byte("x")}
		files[name+"/more.md"] = &fstest.MapFile{Data: []byte("x")}
	}
	assert.NilError(t, s.server.AddSkills(files))
	c := mcptest.Connect(t, s.server, client.Options{Logger: quiet})
	for uri, visible := range map[string]bool{"skill://open/SKILL.md": true,
		"skill://open/more.md": true, "skill://open/secret.md": false,
		"skill://asked/SKILL.md": false, "skill://asked/more.md": false} {
		_, err := c.ReadResource(t.Context(), uri)
		assert.Equal(t, err == nil, visible, "%s: %v", uri, err)
	}
}

// A built-in operation is decided as such, even while a server has a tool of its name.
func TestOperationNamedLikeTool(t *testing.T) {
	s := newSite(t, false, `{"default":"allow","rules":[
		{"effect":"deny","what":{"server":"stdwire"}}]}`)
	own, tools := dispatch.NewCatalog(), dispatch.NewCatalog()
	ran := 0
	dispatch.Add(own, dispatch.Spec{Name: "two.read", Summary: "Runs.", Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) { ran++; return "", nil })
	g := gateway.Options{Logger: quiet, Catalog: tools}.New(
		server.Options{Logger: quiet}.New(server.Info{Name: "two", Version: "1"}, nil))
	t.Cleanup(g.Close)
	assert.NilError(t,
		g.Add(gateway.Upstream{Server: host.Server{ID: "two", Connect: connectTo(s.up)}}))
	g.Settle(t.Context())
	_, offered := g.Operation(t.Context(), "two.read")
	assert.Assert(t, offered)
	s.rules.SetGateway(g)
	for catalog, runs := range map[*dispatch.Catalog]bool{own: false, tools: true} {
		d := dispatch.Options{Logger: quiet,
			Interceptors: []dispatch.Interceptor{s.rules.Operations(own)}}.New(catalog)
		name := "two.read"
		if runs {
			name = "two.drop"
		}
		e := d.Dispatch(t.Context(), &dispatch.Call{Operation: name, Arguments: []byte(`{}`),
			Confirmed: true})
		assert.Equal(t, e.Err == nil, runs, "%v", e.Err)
	}
	assert.Equal(t, ran, 0)
}
