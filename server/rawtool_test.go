package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// echo returns a tool that returns its arguments as text.
func echo(name, schema string) server.RawTool {
	return server.RawTool{
		Tool: mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)},
		Call: func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{
				Content: []mcp.Content{&mcp.TextContent{Text: string(arguments)}}}, nil
		},
	}
}

func returns(name string, result *mcp.CallToolResult) server.RawTool {
	t := echo(name, `{"type":"object"}`)
	t.Call = func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return result, nil
	}
	return t
}

// quoted returns the result with one text.
func quoted(text string) string {
	encoded, _ := json.Marshal(text)
	return `{"content":[{"type":"text","text":` + string(encoded) + `}]}`
}

// The result of a tool is sent completely, except content that the client's revision does not
// support. All calls may share the result, which is not modified.
func TestToolContent(t *testing.T) {
	result := &mcp.CallToolResult{
		Result: mcp.Result{Meta: mcp.Meta{"example.com/k": json.RawMessage(`1`)}},
		Content: []mcp.Content{
			&mcp.TextContent{Text: "t",
				Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleAssistant}}},
			&mcp.ImageContent{Data: []byte{1, 2, 3}, MIMEType: "image/png"},
			&mcp.AudioContent{Data: []byte{4, 5}, MIMEType: "audio/wav"},
			&mcp.ResourceLink{Resource: mcp.Resource{URI: "x:1", Name: "one"}},
			&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "x:2", Text: "two"}},
			&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "x:3", Blob: []byte{6}}},
		},
		StructuredContent: json.RawMessage(`{"n":9007199254740993}`),
	}
	s := made(quiet, func(s *server.Server) {
		must(t, s.AddRawTool(returns("all", result)))
		must(t, s.AddRawTool(
			returns("array", &mcp.CallToolResult{StructuredContent: json.RawMessage(` [1]`)})))
		must(t, s.AddRawTool(
			returns("object", &mcp.CallToolResult{StructuredContent: json.RawMessage(` {"a":1}`)})))
		must(t, s.AddRawTool(returns("failed", &mcp.CallToolResult{IsError: true})))
	})
	const (
		before = `{"_meta":{"example.com/k":1},"content":[{"type":"text","text":"t","annotations":{"audience":["assistant"]}},{"type":"image","data":"AQID","mimeType":"image/png"},`
		after  = `{"type":"resource","resource":{"uri":"x:2","text":"two"}},{"type":"resource","resource":{"uri":"x:3","blob":"Bg=="}}]`
		audio  = `{"type":"audio","data":"BAU=","mimeType":"audio/wav"},`
		link   = `{"type":"resource_link","uri":"x:1","name":"one"},`
		noLink = `{"type":"text","text":"[one](x:1)"},`
	)
	want := map[string][3]string{
		"2024-11-05": {before + `{"type":"text","text":"[sound, audio/wav, 2 bytes]"},` + noLink +
			after + `}`, quoted(" [1]"), quoted(` {"a":1}`)},
		"2025-03-26": {before + audio + noLink + after + `}`, quoted(" [1]"), quoted(` {"a":1}`)},
		"2025-06-18": {before + audio + link + after +
			`,"structuredContent":{"n":9007199254740993}}`, quoted(" [1]"),
			strings.TrimSuffix(quoted(` {"a":1}`), "}") + `,"structuredContent":{"a":1}}`},
		newest: {before + audio + link + after + `,"structuredContent":{"n":9007199254740993}}`,
			strings.TrimSuffix(quoted(" [1]"), "}") + `,"structuredContent":[1]}`,
			strings.TrimSuffix(quoted(` {"a":1}`), "}") + `,"structuredContent":{"a":1}}`},
	}
	want["2025-11-25"] = want["2025-06-18"]
	for range 2 {
		in(t, allRevisions, func(t *testing.T, revision string) {
			k := speak(t, s, revision, `{}`)
			k.want("tools/call", `{"name":"all"}`, want[revision][0])
			k.want("tools/call", `{"name":"array"}`, want[revision][1])
			k.want("tools/call", `{"name":"object"}`, want[revision][2])
			k.want("tools/call", `{"name":"failed"}`, `{"content":[],"isError":true}`)
		})
	}
	assert.Equal(t, len(result.Meta), 1)
}

// Numbers are sent byte by byte. A comparison of decoded JSON would not detect changes.
func TestToolNumbersPassAsTheyAre(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		must(t, s.AddRawTool(echo("echo", `{"type":"object","properties":{"d":{"default":1.50}}}`)))
	})
	m := speak(t, s, newest, `{}`).request("tools/call",
		`{"name":"echo","arguments":{"n":9007199254740993,"x":1e400}}`)
	assert.Assert(t, strings.Contains(m.raw, `{\"n\":9007199254740993,\"x\":1e400,\"d\":1.50}`),
		m.raw)
}

func TestToolArguments(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer","minimum":1},"d":{"type":"string","default":"x"}},"required":["n"],"additionalProperties":false}`
	s := made(quiet, func(s *server.Server) {
		must(t, s.AddRawTool(echo("checked", schema)))
		anything := echo("anything", "")
		anything.InputSchema = nil
		must(t, s.AddRawTool(anything))
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		call := func(name, arguments string) message {
			return k.request("tools/call", fmt.Sprintf(`{"name":%q%s}`, name, arguments))
		}
		call("checked", `,"arguments":{"n":1}`).is(k, quoted(`{"n":1,"d":"x"}`))
		call("checked", `,"arguments":{"d":"y","n":2}`).is(k, quoted(`{"d":"y","n":2}`))
		for arguments, where := range map[string]string{
			``: "n", `,"arguments":null`: "n", `,"arguments":{}`: "n",
			`,"arguments":{"n":0}`:       "n must be at least 1, not 0",
			`,"arguments":{"n":"1"}`:     `n must be an integer, not \"1\"`,
			`,"arguments":{"n":1,"e":1}`: "unknown property",
			`,"arguments":[]`:            "object", `,"arguments":"n"`: "object",
			`,"arguments":{"n":1,"n":2}`: "n",
		} {
			m := call("checked", arguments) // the model can correct its call
			assert.Assert(t, m.Error == nil && strings.Contains(m.raw, `"isError":true`) &&
				strings.Contains(m.raw, `Invalid arguments: `) &&
				strings.Contains(m.raw, where), m.raw)
		}
		call("anything", `,"arguments":{"e":{}}`).is(k, quoted(`{"e":{}}`))
		call("nope", ``).fails(-32602, "Unknown tool: nope")
	})
}

func TestToolFailures(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		for name, f := range failures {
			failing := echo(name, `{"type":"object"}`)
			failing.Call = func(context.Context, json.RawMessage) (*mcp.CallToolResult,
				error) {
				return nil, f.fail()
			}
			must(t, s.AddRawTool(failing))
		}
		must(t, s.AddRawTool(
			returns("broken", &mcp.CallToolResult{StructuredContent: json.RawMessage(`{secret`)})))
		must(t, s.AddRawTool(returns("hole", &mcp.CallToolResult{Content: []mcp.Content{nil}})))
	})
	in(t, allRevisions[2:], func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		for name, f := range failures {
			m := k.expectError("tools/call", fmt.Sprintf(`{"name":%q}`, name), f.code, f.text)
			assert.Assert(t, !strings.Contains(m.raw, "secret"), m.raw)
		}
		k.expectError("tools/call", `{"name":"hole"}`, -32603, "Internal error")
		if revision != "2025-06-18" && revision != "2025-11-25" {
			k.expectError("tools/call", `{"name":"broken"}`, -32603, "Internal error")
		}
		k.expectNothing()
	})
}

// A failure whose cause is not sent to the client is logged once.
func TestFailuresAreLogged(t *testing.T) {
	var log bytes.Buffer
	o := server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s := made(o, func(s *server.Server) {
		for name, f := range failures {
			failing := echo(name, `{"type":"object"}`)
			failing.Call = func(context.Context, json.RawMessage) (*mcp.CallToolResult,
				error) {
				return nil, f.fail()
			}
			must(t, s.AddRawTool(failing))
		}
	})
	k := speak(t, s, newest, `{}`)
	for name, lines := range map[string]int{"plain": 1, "chosen": 0, "wrapped": 0, "panic": 1,
		"nothing": 1} {
		log.Reset()
		k.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"password":"hunter2"}}`, name))
		assert.Equal(t, strings.Count(log.String(), "\n"), lines, "%s: %s", name, &log)
		assert.Assert(t, !strings.Contains(log.String(), "hunter2"))
	}
}

func TestInvalidTools(t *testing.T) {
	s := made(quiet)
	for want, tool := range map[string]server.RawTool{
		"a name is":               echo("a b", `{"type":"object"}`),
		"a name is 1 to 128":      echo(strings.Repeat("x", 129), `{"type":"object"}`),
		"needs Call":              {Tool: mcp.Tool{Name: "n"}},
		"JSON":                    echo("n", `{`),
		"type":                    echo("n", `{"type":"nonsense"}`),
		`must say "type":"obj`:    echo("n", `{"type":"string"}`),
		`say "type":"object"`:     echo("n", `{}`),
		`its input schema must`:   echo("n", `true`),
		`its input schema must s`: echo("n", `{"type":["object"]}`),
	} {
		assert.ErrorContains(t, s.AddRawTool(tool), want)
		assert.ErrorContains(t, s.AddRawTool(tool), "server: tool")
	}
	speak(t, s, "2025-11-25", `{}`).want("tools/list", "", `{"tools":[]}`)
}

// The name of an operation takes precedence over an added tool, in whatever order they were added.
// When the operation is removed, the tool gets the name back.
func TestOperationGoesBeforeTool(t *testing.T) {
	var log bytes.Buffer
	c := dispatch.NewCatalog()
	s := server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}.New(
		server.Info{Name: "test", Version: "1.2"}, c)
	must(t, s.AddRawTool(echo("new_one", `{"type":"object"}`)))
	k := speak(t, s, newest, `{}`)
	call := func() string { return k.request("tools/call", `{"name":"new_one"}`).raw }
	assert.Assert(t, strings.Contains(call(), `"text":"{}"`))
	addTool(c, "new.one")
	assert.Assert(t, strings.Contains(call(), `"structuredContent":{"success":true`))
	assert.Equal(t, strings.Count(k.request("tools/list", "").raw, `"name":"new_one"`), 1)
	assert.Equal(t, strings.Count(log.String(), "two tools have the same name"), 1)
	c.Remove("new.one")
	assert.Assert(t, strings.Contains(call(), `"text":"{}"`))
	assert.Equal(t, s.Remove(mcp.KindTool, "new_one", "new_one", "other"), 1)
	k.expectError("tools/call", `{"name":"new_one"}`, -32602, "Unknown tool: new_one")
	assert.Equal(t, s.Remove(mcp.KindTool, "new_one"), 0)
}

func TestToolDefinitionPassesWhole(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		tool := echo("full", `{"type":"object","properties":{"a":{"x-foreign":[1.0]}}}`)
		tool.Title, tool.Description = "Full", "All of it."
		tool.OutputSchema = json.RawMessage(`{"type":"object"}`)
		tool.Annotations = &mcp.ToolAnnotations{Title: "F", ReadOnlyHint: new(true)}
		tool.Icons = []mcp.Icon{
			{Src: "https://example.com/i.png", MIMEType: "image/png", Theme: "dark"}}
		tool.Meta = mcp.Meta{"example.com/k": json.RawMessage(`"v"`)}
		tool.Extra = mcp.Extra{"futureField": json.RawMessage(`{"a":1}`)}
		must(t, s.AddRawTool(tool))
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		k.want("tools/list", "",
			cacheable(k, `{"tools":[{"name":"full","title":"Full","description":"All of it.","inputSchema":{"type":"object","properties":{"a":{"x-foreign":[1]}}},
			"outputSchema":{"type":"object"},"annotations":{"title":"F","readOnlyHint":true},"icons":[{"src":"https://example.com/i.png","mimeType":"image/png","theme":"dark"}],
			"_meta":{"example.com/k":"v"},"futureField":{"a":1}}]}`))
	})
}

// Handlers of tools, prompts and resources report progress and log to their client, as operations
// do.
func TestProgressAndLogOfHandlers(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		busy := func(ctx context.Context) {
			server.Logger(ctx).Debug("not wanted")
			server.Logger(ctx).Warn("wanted", "n", 1)
			server.Progress(ctx, 1, 2, "half")
			server.Progress(ctx, 1, 2, "does not grow")
		}
		tool := echo("tool", `{"type":"object"}`)
		tool.Call = func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			busy(ctx)
			return &mcp.CallToolResult{}, nil
		}
		must(t, s.AddRawTool(tool))
		r := resource("x:1")
		r.Read = func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
			busy(ctx)
			return text(uri, ""), nil
		}
		must(t, s.AddResource(r))
		must(t, s.AddPrompt(
			server.Prompt{Prompt: mcp.Prompt{Name: "prompt"},
				Get: func(ctx context.Context, _ map[string]string) (*mcp.GetPromptResult, error) {
					busy(ctx)
					return &mcp.GetPromptResult{}, nil
				}}))
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		for method, params := range map[string]string{"tools/call": `{"name":"tool"`,
			"resources/read": `{"uri":"x:1"`, "prompts/get": `{"name":"prompt"`} {
			// a client gets nothing unless it asks
			assert.Assert(t, k.request(method, params+"}").Result != nil)
			if k.modern() {
				meta := k.meta
				k.meta += `,"progressToken":7,"io.modelcontextprotocol/logLevel":"info"`
				k.start(method, params+"}")
				k.meta = meta
			} else {
				k.want("logging/setLevel", `{"level":"info"}`, `{}`)
				k.start(method, params+`,"_meta":{"progressToken":7}}`)
			}
			k.next().expectMethod("notifications/message",
				`{"level":"warning","data":{"message":"wanted","n":1}}`)
			k.next().expectMethod("notifications/progress",
				`{"progressToken":7,"progress":1,"total":2,"message":"half"}`)
			assert.Assert(t, k.next().Result != nil)
			if !k.modern() {
				k.want("logging/setLevel", `{"level":"emergency"}`, `{}`)
			}
		}
	})
	server.Progress(t.Context(), 1, 1, "to nobody")
}

// The arguments and results of another server's tool are forwarded byte by byte, except where the
// client's era requires a change.
func TestForward(t *testing.T) {
	const result = `{ "x-new":[1.50,9007199254740993], "content":[{"x-new":1.0,"type":"text","text":"\u00e9"}],"structuredContent":{"b":1,"a":2},"_meta":{"k":"v"} }`
	var arguments string
	answers := map[string]string{
		"plain": result, "empty": `{"content":[]}`,
		"typed": `{"resultType":"complete","content":[]}`, "array": `[]`, "broken": `{"a":`,
		"none": "",
	}
	s := made(quiet, func(s *server.Server) {
		for name, answer := range answers {
			must(t, s.Integration().AddItem(forwarded(mcp.Tool{Name: name,
				InputSchema: json.RawMessage(`{"type":"object","required":["n"]}`)},
				func(_ context.Context, a json.RawMessage) (json.RawMessage, error) {
					arguments = string(a)
					return json.RawMessage(answer), nil
				})))
		}
	})
	in(t, []string{"2024-11-05", "2025-11-25", newest}, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		typed := ""
		if revision == newest {
			typed = `"resultType":"complete"`
		}
		call := func(name, arguments string) message {
			return k.request("tools/call", fmt.Sprintf(`{"name":%q%s}`, name, arguments))
		}
		const odd = `{"e":[ 1.0 ],"e":"\u0041"}`
		m := call("plain", `,"arguments":`+odd)
		assert.Equal(t, arguments, odd)
		want := result
		if typed != "" {
			want = `{` + typed + `,` + result[1:]
		}
		assert.Assert(t, strings.Contains(m.raw, `"result":`+want+`}`), m.raw)
		assert.Assert(t,
			strings.Contains(call("empty", ``).raw, `"result":{`+
				strings.TrimPrefix(typed+`,"content":[]}`, ",")))
		assert.Equal(t, arguments, `{}`)
		assert.Assert(t, strings.Contains(call("typed", ``).raw, `"result":`+answers["typed"]+`}`))
		for _, name := range []string{"array", "broken", "none"} {
			call(name, ``).fails(-32603, "Internal error")
		}
	})
}

// Values that models send in place of others, in both eras: refused by default, and otherwise read
// and logged at the level debug, without the values.
func TestLenientValues(t *testing.T) {
	type input struct {
		N    int      `json:"n"`
		On   *bool    `json:"on"`
		Tags []string `json:"tags,omitempty"`
	}
	const inputSchema = `{"type":"object","properties":{"n":{"type":"integer"},` +
		`"on":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}}}}`
	for _, lenient := range []bool{false, true} {
		var log strings.Builder
		o := server.Options{Logger: slog.New(slog.NewTextHandler(&log,
			&slog.HandlerOptions{Level: slog.LevelDebug}))}
		o.Dispatch.Lenient = lenient
		s := made(o)
		must(t, s.AddRawTool(echo("raw", inputSchema)))
		server.AddTool(s, mcp.Tool{Name: "typed"},
			func(_ context.Context, in input) (json.RawMessage, error) {
				return json.Marshal(in)
			})
		in(t, []string{"2025-11-25", newest}, func(t *testing.T, revision string) {
			k := speak(t, s, revision, `{}`)
			for _, tool := range []string{"raw", "typed"} {
				log.Reset()
				m := k.request("tools/call", fmt.Sprintf(
					`{"name":%q,"arguments":{"n":"2","on":"true","tags":"hush"}}`, tool))
				want := `{\"n\":2,\"on\":true,\"tags\":[\"hush\"]}`
				assert.Equal(t, strings.Contains(m.raw, want), lenient, m.raw)
				assert.Equal(t, strings.Contains(m.raw, `"isError":true`), !lenient, m.raw)
				assert.Equal(t, strings.Contains(log.String(), "level=DEBUG") && strings.Contains(
					log.String(), "/tags: a single value was put into an array"), lenient, &log)
				assert.Assert(t, !strings.Contains(log.String(), "hush"), &log)
			}
		})
	}
}

// Dispatch.Lenient also applies to raw and typed tools.
func TestLenientTools(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		o := quiet
		o.Dispatch.Lenient = lenient
		s := o.New(server.Info{Name: "s", Version: "1"}, nil)
		assert.NilError(t, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "raw",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},` +
				`"additionalProperties":false}`)},
			Call: func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(string(arguments))}}, nil
			}}))
		server.AddTool(s, mcp.Tool{Name: "typed"}, func(_ context.Context, in struct {
			A string `json:"a,omitempty"`
		}) (string, error) {
			return "{" + in.A + "}", nil
		})
		c := mcptest.Connect(t, s, client.Options{})
		for _, tool := range []string{"raw", "typed"} {
			result, err := c.CallTool(t.Context(), tool, json.RawMessage(`{"a":null,"b":1}`))
			assert.NilError(t, err)
			assert.Equal(t, result.IsError, !lenient)
			if lenient {
				assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, "{}")
			}
		}
	}
}
