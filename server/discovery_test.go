package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// both are the revisions of a client of each era.
var both = []string{"2025-11-25", newest}

// searched returns a server with tools of two other servers that shows find_tool to all clients
// but "lister", and what was called.
func searched(t *testing.T, o server.Options) (s *server.Server, called func() []string) {
	var mu sync.Mutex
	var calls []string
	o.ToolView = func(client string) server.ToolView {
		return server.ToolView{Search: client != "lister"}
	}
	s = made(o, func(s *server.Server) {
		add := func(id, own, more string) {
			must(t, s.Integration().AddItem(server.Item{Kind: mcp.KindTool, Server: id, Name: own,
				Listed: own == "pinned",
				Definition: json.RawMessage(`{"name":"` + id + "_" + own + `",` + more +
					`"inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}`),
				Use: func(_ context.Context, name string, arguments json.RawMessage) (
					json.RawMessage, error) {
					mu.Lock()
					defer mu.Unlock()
					calls = append(calls, name+" "+string(arguments))
					return json.RawMessage(`{"content":[]}`), nil
				}}))
		}
		add("fs", "list_directory",
			`"description":"Lists a directory","annotations":{"readOnlyHint":true},`)
		add("fs", "write_file",
			`"description":"Writes a file","annotations":{"destructiveHint":false},`)
		add("fs", "delete_file", `"description":"Deletes a file",`)
		add("fs", "pinned", ``)
		add("git", "list_branches", `"description":"Lists branches",`)
	})
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		now := calls
		calls = nil
		return now
	}
}

// names returns the names of the tools in the result of tools/list.
func names(t *testing.T, m message) (all []string) {
	var result struct {
		Result struct{ Tools []struct{ Name string } }
	}
	assert.NilError(t, json.Unmarshal([]byte(m.raw), &result))
	for _, tool := range result.Result.Tools {
		all = append(all, tool.Name)
	}
	return all
}

func TestToolSearch(t *testing.T) {
	s, called := searched(t, quiet)
	in(t, both, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		list := k.request("tools/list", `{}`)
		assert.DeepEqual(t, names(t, list), []string{"call_tool_destructive", "call_tool_read",
			"call_tool_write", "find_tool", "fs_pinned"})
		assert.Equal(t, string(k.request("tools/list", `{}`).Result), string(list.Result))

		found := k.request("tools/call",
			`{"name":"find_tool","arguments":{"query":"list directory"}}`).raw
		for _, part := range []string{`"structuredContent":{"tools":[{"name":"fs_list_directory",` +
			`"call":"call_tool_read","parameters":"(path?: string)"`, `"inputSchema":{"type"`,
			`{\"name\":\"fs_list_directory\",\"call\":\"call_tool_read\"`} {
			assert.Assert(t, cmp.Contains(found, part))
		}
		none := k.request("tools/call",
			`{"name":"find_tool","arguments":{"query":"brew espresso"}}`).raw
		assert.Assert(t, cmp.Contains(none, `"tools":[]`))
		assert.Assert(t, cmp.Contains(none, `No tool mentions`))
		of := k.request("tools/call",
			`{"name":"find_tool","arguments":{"query":"list","server":"git"}}`).raw
		assert.Assert(t, cmp.Contains(of, `git_list_branches`))
		assert.Assert(t, !strings.Contains(of, `fs_list_directory`))
		read := k.request("tools/call",
			`{"name":"find_tool","arguments":{"query":"file","readOnly":true}}`).raw
		assert.Assert(t, cmp.Contains(read, `2 that match are left out`))
		assert.Assert(t, cmp.Contains(k.request("tools/call",
			`{"name":"find_tool","arguments":{"query":"list","server":"no"}}`).raw,
			`The servers are: fs, git.`))
		assert.Assert(t, cmp.Contains(k.request("tools/call",
			`{"name":"find_tool","arguments":{"query":"list","limit":0}}`).raw, `"isError":true`))
		assert.Equal(t, len(called()), 0)
	})
}

// A call by another tool is a call of the inner one, if that may be called so.
func TestCallTool(t *testing.T) {
	s, called := searched(t, quiet)
	for _, tt := range []struct{ caller, arguments, want string }{
		{"read", `{"name":"fs_list_directory","arguments":{"path":"a"}}`,
			`fs_list_directory {"path":"a"}`},
		{"read", `{"name":"fs_list_directory"}`, `fs_list_directory {}`},
		{"read", `{"name":"fs_list_directory","arguments":null}`, `fs_list_directory {}`},
		{"read", `{"name":"fs_list_directory","arguments":"{\"path\":\"a\"}"}`,
			`fs_list_directory {"path":"a"}`},
		{"write", `{"name":"fs_list_directory"}`, `fs_list_directory {}`},
		{"write", `{"name":"fs_write_file"}`, `fs_write_file {}`},
		{"destructive", `{"name":"fs_list_directory"}`, `fs_list_directory {}`},
		{"destructive", `{"name":"fs_delete_file"}`, `fs_delete_file {}`},
		{"destructive", `{"n\u0061me":"fs_delete_file"}`, `fs_delete_file {}`},
		// refused
		{"read", `{"name":"fs_write_file"}`, `is none of them: call it with call_tool_write`},
		{"read", `{"name":"fs_delete_file"}`, `call it with call_tool_destructive`},
		{"write", `{"name":"fs_delete_file"}`, `call it with call_tool_destructive`},
		{"read", `{"name":"none"}`, `Unknown tool: none. find_tool returns the names`},
		{"read", `{"name":"find_tool"}`, `find_tool cannot be called by another tool`},
		{"read", `{"name":"call_tool_read"}`, `call_tool_read cannot be called by another tool`},
		{"read", `{}`, `\"name\" must be the name of a tool`},
		{"read", `{"name":1}`, `\"name\" must be the name of a tool`},
		{"read", `{"name":"fs_list_directory","Name":"fs_delete_file"}`, `\"Name\" is unknown`},
		{"read", `{"name":"fs_list_directory","n\u0061me":"fs_delete_file"}`, `occurs twice`},
		{"read", `{"name":"fs_list_directory","arguments":[]}`, `must be an object`},
		{"read", `{"name":"fs_list_directory","arguments":"x"}`, `must be an object`},
	} {
		in(t, both, func(t *testing.T, revision string) {
			k := speak(t, s, revision, `{}`)
			m := k.request("tools/call",
				`{"name":"call_tool_`+tt.caller+`","arguments":`+tt.arguments+`}`)
			calls := called()
			if strings.Contains(m.raw, `"isError":true`) {
				assert.Equal(t, len(calls), 0)
				assert.Assert(t, cmp.Contains(m.raw, tt.want))
				return
			}
			assert.Assert(t, len(calls) == 1, m.raw)
			assert.DeepEqual(t, calls, []string{tt.want})

		})
	}
	// by the public name, as a client does that remembers it
	k := speak(t, s, newest, `{}`)
	k.request("tools/call", `{"name":"fs_delete_file"}`)
	assert.DeepEqual(t, called(), []string{"fs_delete_file {}"})
}

// Middleware and interceptors see the inner call; what middleware replaces does not escape the
// check of the tool by which the client has called.
func TestCallToolIsTheInnerCall(t *testing.T) {
	var seen []string
	o := quiet
	o.Middleware = []rpc.Middleware{func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, r *rpc.Request) (any, error) {
			if r.Method == "tools/call" {
				seen = append(seen, string(r.Params))
				if strings.Contains(string(r.Params), `"swap"`) {
					changed := *r
					changed.Params = json.RawMessage(strings.Replace(string(r.Params),
						"fs_list_directory", "fs_delete_file", 1))
					r = &changed
				}
			}
			return next(ctx, r)
		}
	}}
	o.Interceptors = []dispatch.Interceptor{func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, c *dispatch.Invocation) (dispatch.Result, error) {
			seen = append(seen, fmt.Sprintf("%s %s", c.Name, c.Arguments))
			return next(ctx, c)
		}
	}}
	s, called := searched(t, o)
	k := connect(t, s)
	k.speak("2025-11-25", `{}`)
	k.request("tools/call", `{"name":"call_tool_read","arguments":{"name":"fs_list_directory"}}`)
	assert.DeepEqual(t, seen, []string{`{"name":"fs_list_directory","arguments":{}}`,
		`fs_list_directory {}`})
	assert.DeepEqual(t, called(), []string{"fs_list_directory {}"})
	m := k.request("tools/call",
		`{"name":"call_tool_read","arguments":{"name":"fs_list_directory","arguments":{"swap":1}}}`)
	assert.Assert(t, cmp.Contains(m.raw, "call it with call_tool_destructive"))
	assert.Equal(t, len(called()), 0)
}

// What the client may not see is neither found nor counted, and a changed list is found.
func TestToolSearchFollowsTheList(t *testing.T) {
	o := quiet
	o.Visible = func(_ context.Context, _ mcp.Kind, key string) bool {
		return !strings.HasPrefix(key, "git_")
	}
	s, _ := searched(t, o)
	find := func(query string) string {
		return speak(t, s, newest, `{}`).request("tools/call",
			`{"name":"find_tool","arguments":{"query":"`+query+`"}}`).raw
	}
	branches := find("branches")
	assert.Assert(t, !strings.Contains(branches, "git_list"))
	assert.Assert(t, cmp.Contains(branches, "No tool mentions"))
	assert.Assert(t, cmp.Contains(find("delete file"), "fs_delete_file"))
	assert.Equal(t, s.Remove(mcp.KindTool, "fs_delete_file"), 1)
	assert.Assert(t, !strings.Contains(find("delete file"), "fs_delete_file"))
}

// The view depends on the client and on what it may see.
func TestToolViewOfClients(t *testing.T) {
	o := quiet
	s, _ := searched(t, o)
	list := func(client string) []string {
		k := connect(t, s)
		k.speak("2025-11-25", `{}`)
		return names(t, k.request("tools/list",
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":"`+newest+
				`","io.modelcontextprotocol/clientCapabilities":{},`+
				`"io.modelcontextprotocol/clientInfo":{"name":"`+client+`","version":"1"}}}`))
	}
	assert.Equal(t, len(list("lister")), 5)
	assert.Equal(t, len(list("other")), 5)
	assert.Equal(t, list("other")[0], "call_tool_destructive")
	uses := s.Integration().ToolViews()
	assert.Equal(t, len(uses), 2)
	assert.DeepEqual(t, uses[0], server.ToolViewUse{Client: "lister", Version: "1", Tools: 5,
		Bytes: uses[0].Bytes, Listed: uses[0].Bytes})
	assert.Assert(t, uses[1].Client == "other" && uses[1].Search && uses[1].Tools == 5)
	for i := range 100 {
		list(fmt.Sprint(i))
	}
	assert.Equal(t, len(s.Integration().ToolViews()), 64)
	for _, principal := range []string{"ada", "bob", "ada"} {
		c := s.Integration().Stateless(principal, mcp.Latest)
		_, err := c.Handle(t.Context(), &rpc.Request{ID: rpc.IntID(1), Method: "tools/list",
			Params: json.RawMessage(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"` +
				newest + `","io.modelcontextprotocol/clientCapabilities":{}}}`)}, nil)
		assert.NilError(t, err)
	}
	uses = s.Integration().ToolViews()[62:]
	assert.Equal(t, uses[0].Principal+" "+uses[1].Principal, "bob ada")
}

// Search applies from a number of tools or of bytes.
func TestToolViewThresholds(t *testing.T) {
	for _, tt := range []struct {
		view   server.ToolView
		search bool
	}{
		{server.ToolView{Search: true}, true}, {server.ToolView{}, false},
		{server.ToolView{Search: true, MinTools: 1}, true},
		{server.ToolView{Search: true, MinTools: 2}, false},
		{server.ToolView{Search: true, MinBytes: 10}, true},
		{server.ToolView{Search: true, MinBytes: 1000}, false},
	} {
		o := quiet
		o.ToolView = func(string) server.ToolView { return tt.view }
		s := made(o, func(s *server.Server) {
			server.AddTool(s, mcp.Tool{Name: "only"}, func(context.Context, struct{}) (string, error) {
				return "", nil
			})
		})
		all := names(t, speak(t, s, newest, `{}`).request("tools/list", `{}`))
		assert.Equal(t, all[0] != "only", tt.search, "%+v", tt.view)
	}
}

// Names and descriptions fit the client, and calls may use either name.
func TestToolViewFits(t *testing.T) {
	o := quiet
	view := server.ToolView{MaxName: 20, NoDots: true, MaxDescription: 30}
	o.ToolView = func(client string) server.ToolView { return view }
	long := strings.Repeat("x", 30)
	s := made(o, func(s *server.Server) {
		for _, name := range []string{"short", "with.dot", "with_dot", long + "1", long + "2"} {
			must(t, s.Integration().AddItem(server.Item{Kind: mcp.KindTool,
				Definition: json.RawMessage(`{"name":"` + name + `","description":` +
					`"A description that is much too long for the client","inputSchema":` +
					`{"type":"object"}}`),
				Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`{"content":[{"type":"text","text":"` + name + `"}]}`), nil
				}}))
		}
	})
	in(t, both, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		list := k.request("tools/list", `{}`)
		assert.Assert(t, cmp.Contains(list.raw, `"description":"A description that is much…"`))
		seen := map[string]bool{}
		for _, name := range names(t, list) {
			assert.Assert(t, len(name) <= 20 && !strings.Contains(name, "."), name)
			m := k.request("tools/call", `{"name":"`+name+`"}`)
			assert.Assert(t, strings.Contains(m.raw, `"text":"`), m.raw)
			seen[string(m.Result)] = true
		}
		assert.Equal(t, len(seen), 5)
		for _, name := range []string{"short", "with.dot", "with_dot", long + "2"} {
			m := k.request("tools/call", `{"name":"`+name+`"}`)
			assert.Assert(t, strings.Contains(m.raw, `"text":"`+name+`"`), m.raw)
		}
		k.request("tools/call", `{"name":"none"}`).fails(-32602, "Unknown tool: none")
	})
	uses := s.Integration().ToolViews()
	assert.Equal(t, uses[0].Names, 3)
	assert.Equal(t, uses[0].Cut, 5)
}

// The server's own tool of a name that a tool for searches has is that of clients without Search.
func TestToolSearchLeavesNames(t *testing.T) {
	o := quiet
	o.ToolView = func(client string) server.ToolView {
		return server.ToolView{Search: client == "c"} // the legacy one
	}
	s := made(o, func(s *server.Server) {
		must(t, s.Integration().AddItem(server.Item{Kind: mcp.KindTool,
			Definition: json.RawMessage(`{"name":"find_tool","inputSchema":{"type":"object"}}`),
			Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`{"content":[{"type":"text","text":"own"}]}`), nil
			}}))
	})
	for revision, want := range map[string]string{newest: `"text":"own"`,
		"2025-11-25": "No tool mentions find"} {
		k := speak(t, s, revision, `{}`)
		m := k.request("tools/call", `{"name":"find_tool","arguments":{"query":"find"}}`)
		assert.Assert(t, cmp.Contains(m.raw, want), revision)
		own := strings.Contains(k.request("tools/list", `{}`).raw, `"description":"Finds tools`)
		assert.Equal(t, !own, revision == newest)
	}
	speak(t, s, newest, `{}`).request("tools/call", `{"name":"call_tool_read"}`)
}

// Another view is announced to the clients whose names are concerned, in both eras, and to no
// others.
func TestListsChangedForNames(t *testing.T) {
	const changed = "notifications/tools/list_changed"
	s, _ := searched(t, quiet)
	legacy, modern := speak(t, s, "2025-11-25", `{}`), speak(t, s, newest, `{}`)
	modern.meta += `,"io.modelcontextprotocol/clientInfo":{"name":"m","version":"1"}`
	modern.request("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`).
		expectMethod(acknowledged, "")
	legacy.request("ping", `{}`) // it has handled initialized
	for _, tt := range []struct {
		name             string
		concerned, other *lineClient
	}{{"c", legacy, modern}, {"m", modern, legacy}, {"c", legacy, modern}} {
		s.Integration().ListsChanged(
			func(_, client string) bool { return client == tt.name }, mcp.KindTool)
		tt.concerned.next().expectMethod(changed, "")
		assert.Equal(t, tt.other.request("tools/list", `{}`).Method, "")
	}
	s.Integration().ListsChanged(func(string, string) bool { panic("of the application") })
}

// While Search does not apply yet, the server's own tools have these names.
func TestToolSearchBelowItsThreshold(t *testing.T) {
	for least, want := range map[int]string{3: `"text":"own"`, 1: "No tool mentions find"} {
		o := quiet
		o.ToolView = func(string) server.ToolView {
			return server.ToolView{Search: true, MinTools: least}
		}
		s := made(o, func(s *server.Server) {
			for _, name := range []string{"find_tool", "call_tool_read", "more"} {
				must(t, s.Integration().AddItem(server.Item{Kind: mcp.KindTool,
					Definition: json.RawMessage(`{"name":"` + name +
						`","inputSchema":{"type":"object"}}`),
					Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
						return json.RawMessage(`{"content":[{"type":"text","text":"own"}]}`), nil
					}}))
			}
		})
		in(t, both, func(t *testing.T, revision string) {
			k := speak(t, s, revision, `{}`)
			own := len(names(t, k.request("tools/list", `{}`))) == 3
			assert.Equal(t, own, least == 3)
			m := k.request("tools/call", `{"name":"find_tool","arguments":{"query":"find"}}`)
			assert.Assert(t, cmp.Contains(m.raw, want))
		})
		assert.Equal(t, s.Integration().ToolViews()[0].Tools, map[int]int{3: 3, 1: 1}[least])
	}
}

// Headers are compared for a tool by the name that a view gives it, and, where there are some, for
// one that another tool calls.
func TestToolHeadersOfViews(t *testing.T) {
	o := quiet
	o.ToolView = func(client string) server.ToolView {
		return server.ToolView{Search: client == "s", MaxName: 20}
	}
	long := strings.Repeat("x", 30)
	s := made(o, func(s *server.Server) {
		must(t, s.Integration().AddItem(server.Item{Kind: mcp.KindTool,
			Definition: json.RawMessage(`{"name":"` + long + `","inputSchema":{"type":"object",` +
				`"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}`),
			Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return nil, nil
			}}))
	})
	short := names(t, speak(t, s, newest, `{}`).request("tools/list", `{}`))[0]
	assert.Assert(t, short != long)
	for _, tt := range []struct {
		name, arguments, header string
		refused                 bool
	}{
		{long, `{"region":"eu"}`, "eu", false},
		{short, `{"region":"eu"}`, "eu", false},
		{short, `{"region":"eu"}`, "us", true},
		{short, `{"region":"eu"}`, "", true},
		{"call_tool_destructive", `{"name":"` + long + `","arguments":{"region":"eu"}}`, "", false},
		{"call_tool_destructive", `{"name":"` + long + `","arguments":{"region":"eu"}}`, "eu", false},
		{"call_tool_destructive", `{"name":"` + long + `","arguments":{"region":"eu"}}`, "us", true},
		{"call_tool_destructive", `{"name":"` + short + `","arguments":{"region":"eu"}}`, "us", true},
		{"find_tool", `{"query":"x"}`, "us", false},
		{"none", `{}`, "us", false},
	} {
		err := s.Integration().CheckToolHeaders(t.Context(), tt.name, json.RawMessage(`{"name":"`+tt.name+
			`","arguments":`+tt.arguments+`,"_meta":{"io.modelcontextprotocol/clientInfo":`+
			`{"name":"s"}}}`), func(string) []string {
			if tt.header == "" {
				return nil
			}
			return []string{tt.header}
		})
		assert.Equal(t, err != nil, tt.refused, "%v: %v", tt, err)
	}
}

func TestToolBytes(t *testing.T) {
	s, _ := searched(t, quiet)
	bytes := s.Integration().ToolBytes()
	assert.Assert(t, len(bytes) == 2 && bytes["fs"] > bytes["git"] && bytes["git"] > 90, "%v", bytes)
}
