package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A kind is one of the lists of a server.
type kind struct {
	method, member, key string
	prefix              string // of the keys in messages
	add                 func(s *server.Server, key string) error
	remove              func(s *server.Server, keys ...string) int
}

var kinds = map[mcp.Kind]kind{
	mcp.KindTool: {"tools/list", "tools", "name", "", func(s *server.Server, key string) error {
		return s.AddRawTool(echo(key, `{"type":"object"}`))
	}, removes(mcp.KindTool)},
	mcp.KindPrompt: {"prompts/list", "prompts", "name", "",
		func(s *server.Server, key string) error {
			return s.AddPrompt(recites(key))
		}, removes(mcp.KindPrompt)},
	mcp.KindResource: {
		"resources/list", "resources", "uri", "r:", func(s *server.Server, key string) error {
			return s.AddResource(resource("r:" + key))
		},
		func(s *server.Server, keys ...string) int {
			for i := range keys {
				keys[i] = "r:" + keys[i]
			}
			return s.Remove(mcp.KindResource, keys...)
		},
	},
	mcp.KindResourceTemplate: {"resources/templates/list", "resourceTemplates", "uriTemplate", "",
		func(s *server.Server, key string) error {
			return s.AddResourceTemplate(echoes(key))
		}, removes(mcp.KindResourceTemplate)},
}

func removes(k mcp.Kind) func(s *server.Server, keys ...string) int {
	return func(s *server.Server, keys ...string) int { return s.Remove(k, keys...) }
}

// page requests a page and returns its keys and the next cursor, or "" if there is none.
func (d kind) page(k *lineClient, cursor string) (keys []string, next string) {
	k.t.Helper()
	params := `{}`
	if cursor != "" {
		params = fmt.Sprintf(`{"cursor":%q}`, cursor)
	}
	m := k.request(d.method, params)
	var result map[string]json.RawMessage
	assert.NilError(k.t, json.Unmarshal(m.Result, &result), m.raw)
	var items []map[string]any
	assert.NilError(k.t, json.Unmarshal(result[d.member], &items), m.raw)
	for _, i := range items {
		key, ok := strings.CutPrefix(i[d.key].(string), d.prefix)
		if ok || d.prefix == "" {
			keys = append(keys, key)
		}
	}
	if result["nextCursor"] != nil {
		assert.NilError(k.t, json.Unmarshal(result["nextCursor"], &next))
		assert.Assert(k.t, next != "", m.raw)
	}
	return keys, next
}

// pages returns the keys and the number of all pages. It calls between after each page.
func (d kind) pages(k *lineClient, between func(page int)) (keys []string, pages int) {
	k.t.Helper()
	for cursor := ""; ; {
		some, next := d.page(k, cursor)
		keys = append(keys, some...)
		if pages++; next == "" {
			return keys, pages
		}
		assert.Assert(k.t, pages < 100 && len(some) > 0)
		between(pages)
		cursor = next
	}
}

func allPages(int) {}

func TestPagesOfEveryKind(t *testing.T) {
	want := []string{"a.1", "a.10", "a.2", "b", "c"}
	for size := 1; size <= 6; size++ {
		o := quiet
		o.PageSize = size
		s := made(o)
		for _, d := range kinds {
			for _, key := range []string{"c", "a.2", "b", "a.10", "a.1"} {
				must(t, d.add(s, key))
			}
		}
		for _, revision := range []string{"2024-11-05", "2025-11-25", newest} {
			k := speak(t, s, revision, `{}`)
			for _, d := range kinds {
				keys, pages := d.pages(k, allPages)
				assert.DeepEqual(t, keys, want)
				assert.Equal(t, pages, (len(want)+size-1)/size)
			}
		}
	}
}

// While a client reads the pages, items are added and removed. Items that exist all the time are
// listed once, and no item is listed twice.
func TestPagesOfChangingLists(t *testing.T) {
	for size := 1; size <= 3; size++ {
		for name, d := range kinds {
			t.Run(fmt.Sprint(name, " by ", size), func(t *testing.T) {
				o := quiet
				o.PageSize = size
				s := made(o)
				for i := range 10 {
					must(t, d.add(s, fmt.Sprintf("k%d", i)))
				}
				k := speak(t, s, newest, `{}`)
				keys, _ := d.pages(k, func(page int) {
					switch page {
					case 1:
						// remove the item of the cursor, one before and one after it; add new ones
						// likewise
						assert.Equal(t, d.remove(s, fmt.Sprintf("k%d", size-1), "k0", "k5"),
							len(slices.Compact([]int{size - 1, 0}))+1)
						must(t, errors.Join(d.add(s, "a-before"), d.add(s, "k6x")))
					case 2:
						assert.Equal(t, d.remove(s, "k9"), 1)
						must(t, d.add(s, "k6x")) // add it again
					}
				})
				counts := map[string]int{}
				for _, key := range keys {
					counts[key]++
				}
				assert.Assert(t, slices.IsSorted(keys), keys)
				for _, key := range []string{"k6", "k6x", "k7", "k8"} {
					assert.Equal(t, counts[key], 1, key)
				}
				for key, n := range counts {
					assert.Assert(t, n == 1 && key != "a-before" && key != "k5" && key != "k9", key)
				}
			})
		}
	}
	// All remaining items are removed while the client reads the pages.
	o := quiet
	o.PageSize = 1
	s := made(o)
	d := kinds[mcp.KindPrompt]
	must(t, errors.Join(d.add(s, "a"), d.add(s, "b")))
	k := speak(t, s, "2025-11-25", `{}`)
	_, cursor := d.page(k, "")
	assert.Equal(t, d.remove(s, "a", "b"), 2)
	k.next().expectMethod("notifications/prompts/list_changed", "")
	keys, next := d.page(k, cursor)
	assert.Assert(t, keys == nil && next == "")
}

func TestForgedCursors(t *testing.T) {
	o := quiet
	o.PageSize = 1
	o.Visible = func(_ context.Context, _ mcp.Kind,
		key string) bool {
		return !strings.HasSuffix(key, "hidden")
	}
	s := made(o)
	for _, d := range kinds {
		must(t, errors.Join(d.add(s, "a"), d.add(s, "hidden"), d.add(s, "z")))
	}
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		for name, d := range kinds {
			for _, cursor := range []string{`""`, `"!"`, `"YQ=="`, `"Y Q"`, `"a"`, `"é"`} {
				k.expectError(d.method, `{"cursor":`+cursor+`}`, -32602, "not made by this server")
			}
			for _, cursor := range []string{`7`, `null`, `{}`, `["a"]`, `true`} {
				k.expectError(d.method, `{"cursor":`+cursor+`}`, -32602, "cursor must be a string")
			}
			// A cursor that a client has invented reveals no hidden item.
			for from, want := range map[string]string{"0": "a", "a": "z", "gone": "z",
				"hidden": "z", "z": "", "\xff\xfe": ""} {
				keys, _ := d.page(k, base64.RawURLEncoding.EncodeToString([]byte(d.prefix+from)))
				assert.Equal(t, strings.Join(keys, " "), want, "%s from %q", name, from)
			}
		}
	})
}

// A client cannot use an item that it may not see, whatever it sends.
func TestVisible(t *testing.T) {
	o := quiet
	o.PublicLists = true // has no effect
	o.MaxWatched = 10
	asked := map[mcp.Kind]bool{}
	o.Visible = func(ctx context.Context, kind mcp.Kind, key string) bool {
		asked[kind] = true
		if dispatch.PrincipalFrom(ctx) != "" {
			panic("a stream has no principal")
		}
		return !strings.Contains(key, "hidden")
	}
	s := made(o, completes, func(s *server.Server) {
		for _, d := range kinds {
			must(t, errors.Join(d.add(s, "hidden"), d.add(s, "seen")))
		}
		must(t, s.AddResourceTemplate(echoes("hidden:{x}")))
		must(t, s.AddResourceTemplate(echoes("any:{x}")))
		must(t, s.AddResourceTemplate(echoes("only:{hidden}")))
		hidden := recites("hidden")
		hidden.Complete = suggests
		must(t, s.AddPrompt(hidden))
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		for name, d := range kinds {
			keys, _ := d.pages(k, allPages)
			assert.Assert(t, slices.Contains(keys, "seen") && !slices.Contains(keys, "hidden") &&
				!slices.Contains(keys, "hidden:{x}"), "%s %s", name, keys)
			m := k.request(d.method, "")
			assert.Assert(t, !strings.Contains(m.raw, "public"), m.raw)
			assert.Equal(t, strings.Contains(m.raw, `"cacheScope":"private"`), k.modern())
		}
		missing := -32002
		if k.modern() {
			missing = -32602
		}
		k.expectError("tools/call", `{"name":"hidden"}`, -32602, "Unknown tool: hidden")
		k.expectError("prompts/get", `{"name":"hidden"}`, -32602, "Unknown prompt: hidden")
		for _, uri := range []string{"r:hidden", "hidden:1", "any:hidden", "only:1"} {
			k.expectError("resources/read", fmt.Sprintf(`{"uri":%q}`, uri), missing,
				"Resource not found")
			if !k.modern() {
				k.expectError("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri), missing,
					"Resource not found")
			}
		}
		for _, ref := range []string{`{"type":"ref/prompt","name":"hidden"}`,
			`{"type":"ref/resource","uri":"r:hidden"}`,
			`{"type":"ref/resource","uri":"hidden:{x}"}`} {
			k.expectError("completion/complete", `{"ref":`+ref+`,"argument":{"name":"x","value":""}}`,
				-32602, "Unknown ")
		}
		assert.Assert(t, k.request("tools/call", `{"name":"seen"}`).Result != nil)
		assert.Assert(t, k.request("resources/read", `{"uri":"any:seen"}`).Result != nil)
		if k.modern() {
			k.start("subscriptions/listen",
				`{"notifications":{"resourceSubscriptions":["r:hidden","r:seen","any:hidden","hidden:1"]}}`)
			m := k.next().expectMethod("notifications/subscriptions/acknowledged", "")
			assert.Assert(t, strings.Contains(m.raw, `"resourceSubscriptions":["r:seen"]`), m.raw)
			assert.Assert(t,
				strings.Contains(k.request("server/discover", "").raw, `"cacheScope":"private"`))
		}
	})
	assert.Equal(t, len(asked), 4)
}

// What a client is told of follows its latest request: who was a member of a group when he
// subscribed, and is none any more, is told nothing of what only the group sees.
func TestVisibleToLatestCaller(t *testing.T) {
	type memberKey struct{}
	o := quiet
	o.MaxWatched = 10
	var member atomic.Bool
	member.Store(true)
	o.Middleware = []rpc.Middleware{func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			return next(context.WithValue(ctx, memberKey{}, member.Load()), req)
		}
	}}
	o.Visible = func(ctx context.Context, kind mcp.Kind, key string) bool {
		is, _ := ctx.Value(memberKey{}).(bool)
		return is || key != "r:secret"
	}
	s := made(o, func(s *server.Server) {
		for _, name := range []string{"secret", "open"} {
			must(t, kinds[mcp.KindResource].add(s, name))
		}
	})
	in(t, legacyRevisions, func(t *testing.T, revision string) {
		member.Store(true)
		k := speak(t, s, revision, `{}`)
		for _, uri := range []string{"r:secret", "r:open"} {
			k.want("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri), `{}`)
		}
		s.ResourceUpdated("r:secret")
		k.next().expectMethod("notifications/resources/updated", `{"uri":"r:secret"}`)
		member.Store(false)
		k.want("ping", "", `{}`)
		s.ResourceUpdated("r:secret")
		s.ResourceUpdated("r:open")
		k.next().expectMethod("notifications/resources/updated", `{"uri":"r:open"}`)
	})
}

// Visible treats operations like other tools.
func TestVisibleOperations(t *testing.T) {
	o := quiet
	o.Visible = func(_ context.Context, kind mcp.Kind, key string) bool {
		return kind == mcp.KindTool && key == "work"
	}
	l := dial(t, o, catalog())
	l.initialize("2025-11-25")
	got := l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	assert.Assert(t, strings.Contains(got, `"name":"work"`) &&
		!strings.Contains(got, "weather"), got)
	assert.Equal(t, l.ask(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather_get","arguments":{"city":"Oslo"}}}`),
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: weather_get"}}`)
}

func TestPublicLists(t *testing.T) {
	o := quiet
	o.PublicLists, o.ListTTL = true, 1500e6
	s := made(o, completes)
	k := speak(t, s, newest, `{}`)
	for _, d := range kinds {
		m := k.request(d.method, "")
		assert.Assert(t, strings.Contains(m.raw, `"ttlMs":1500,"cacheScope":"public"`), m.raw)
	}
	// The lists are still private.
	assert.Assert(t,
		strings.Contains(k.request("resources/read", `{"uri":"x:r"}`).raw,
			`"cacheScope":"private"`))
}

// A server declares the kinds of items that were added to it, and has no methods for the others.
func TestCapabilitiesAreWhatThereIs(t *testing.T) {
	completing := recites("p")
	completing.Complete = suggests
	template := echoes("x:{a}")
	completingTemplate := template
	completingTemplate.Complete = suggests
	const tools = `"logging":{},"tools":{"listChanged":true}`
	for name, tc := range map[string]struct {
		add  func(s *server.Server) error
		want string
		has  []string // methods
	}{
		"nothing": {func(*server.Server) error { return nil }, `{` + tools + `}`, nil},
		"tool": {func(s *server.Server) error {
			return s.AddRawTool(echo("t", `{"type":"object"}`))
		}, `{` + tools + `}`, nil},
		"prompt": {func(s *server.Server) error {
			return s.AddPrompt(recites("p"))
		}, `{` + tools + `,"prompts":{"listChanged":true}}`, []string{"prompts/"}},
		"completed": {func(s *server.Server) error {
			return s.AddPrompt(completing)
		}, `{` + tools + `,"prompts":{"listChanged":true},"completions":{}}`,
			[]string{"prompts/", "completion/"}},
		"resource": {func(s *server.Server) error {
			return s.AddResource(resource("x:1"))
		}, `{` + tools + `,"resources":{"listChanged":true,"subscribe":true}}`,
			[]string{"resources/"}},
		"template": {func(s *server.Server) error {
			return s.AddResourceTemplate(template)
		}, `{` + tools + `,"resources":{"listChanged":true,"subscribe":true}}`,
			[]string{"resources/"}},
		"completed template": {func(s *server.Server) error {
			return s.AddResourceTemplate(completingTemplate)
		},
			`{` + tools + `,"resources":{"listChanged":true,"subscribe":true},"completions":{}}`,
			[]string{"resources/", "completion/"}},
		"gone": {func(s *server.Server) error {
			err := s.AddPrompt(recites("p"))
			s.Remove(mcp.KindPrompt, "p")
			return err
		}, `{` + tools + `,"prompts":{"listChanged":true}}`, []string{"prompts/"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := made(quiet, func(s *server.Server) { must(t, tc.add(s)) })
			in(t, allRevisions, func(t *testing.T, revision string) {
				k := connect(t, s)
				m := k.speak(revision, `{}`)
				if k.modern() {
					m = k.request("server/discover", "")
				}
				var result struct{ Capabilities any }
				assert.NilError(t, json.Unmarshal(m.Result, &result))
				var want any
				assert.NilError(t, json.Unmarshal([]byte(tc.want), &want))
				assert.DeepEqual(t, result.Capabilities, want)
				for _, method := range []string{"resources/list", "resources/templates/list",
					"resources/read", "prompts/list", "prompts/get", "completion/complete",
					"resources/subscribe", "resources/unsubscribe"} {
					there := slices.ContainsFunc(tc.has, func(prefix string) bool {
						return strings.HasPrefix(method, prefix)
					}) && !(k.modern() && strings.HasSuffix(method, "subscribe"))
					m := k.request(method, `{}`)
					assert.Equal(t, m.Error != nil && m.Error.Code == -32601, !there, m.raw)
				}
			})
		})
	}
}

// Declared kinds appear in the capabilities of both eras before the first item is added.
func TestDeclare(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		s.Integration().Declare(mcp.KindResource, mcp.KindResourceTemplate, mcp.KindPrompt)
	})
	in(t, []string{"2025-11-25", newest}, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		for method, list := range map[string]string{"resources/list": "resources",
			"resources/templates/list": "resourceTemplates", "prompts/list": "prompts"} {
			assert.Assert(t, strings.Contains(k.request(method, `{}`).raw, `"`+list+`":[]`))
		}
	})
	plain := made(quiet, func(*server.Server) {})
	for declares, s := range map[bool]*server.Server{true: s, false: plain} {
		m := speak(t, s, newest, `{}`).request("server/discover", `{}`)
		for _, capability := range []string{`"resources":`, `"prompts":`, `"completions":`} {
			assert.Equal(t, strings.Contains(m.raw, capability), declares, m.raw)
		}
	}
}

// forwarded returns the tool of another server.
func forwarded(tool mcp.Tool,
	forward func(context.Context, json.RawMessage) (json.RawMessage, error)) server.Item {
	if tool.InputSchema == nil {
		tool.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	definition, err := mcp.Marshal(tool)
	server.Must(err)
	return server.Item{Kind: mcp.KindTool, Definition: definition,
		Use: func(ctx context.Context, _ string, arguments json.RawMessage) (json.RawMessage,
			error) {
			return forward(ctx, arguments)
		}}
}

// unused is the function of an item that no test uses.
func unused(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil }

// Lists contain the definition of another server unchanged.
func TestDefinition(t *testing.T) {
	const odd = `{ "x":1.0,"name":"n/1", "title":"\u0041","inputSchema":{"type":"object"},"uri":"x:1","uriTemplate":"x:{y}"}`
	s := made(quiet, func(s *server.Server) {
		for _, kind := range []mcp.Kind{mcp.KindTool, mcp.KindPrompt, mcp.KindResource,
			mcp.KindResourceTemplate} {
			must(t, s.Integration().AddItem(server.Item{Kind: kind,
				Definition: json.RawMessage(odd[:6] + "\n" + odd[6:]), Use: unused}))
			for _, broken := range []string{``, `[]`, `{`, `{"a":1}}`, `{}`, `{"name":1}`} {
				assert.ErrorContains(t, s.Integration().AddItem(server.Item{Kind: kind,
					Definition: json.RawMessage(broken), Use: unused}),
					`server: `+string(kind)+` "": `)
			}
			assert.ErrorContains(t, s.Integration().AddItem(server.Item{Kind: kind,
				Definition: json.RawMessage(odd)}), "it needs Use")
		}
		for _, kind := range []mcp.Kind{mcp.KindApp, "other", ""} {
			assert.ErrorContains(t, s.Integration().AddItem(server.Item{Kind: kind,
				Definition: json.RawMessage(odd), Use: unused}), "items of this kind")
		}
		assert.ErrorContains(t,
			s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "n/1"},
				Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
					return nil, nil
				}}), "a name is 1 to 128")
	})
	in(t, []string{"2025-11-25", newest}, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		for method, list := range map[string]string{"tools/list": "tools",
			"resources/list": "resources", "resources/templates/list": "resourceTemplates",
			"prompts/list": "prompts"} {
			assert.Assert(t, strings.Contains(k.request(method, `{}`).raw, `"`+list+`":[`+odd+`]`),
				method)
		}
	})
}
