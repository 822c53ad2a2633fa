//go:build linux

package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A configured is a server in the form of configuration files.
type configured struct {
	Command       string            `json:"command"`
	Args          []string          `json:"args,omitempty"`
	Env           map[string]string `json:"env,omitempty"`
	Era           string            `json:"era,omitempty"`
	CallTimeoutMs int               `json:"callTimeoutMs,omitempty"`
	PerSession    bool              `json:"perSession,omitempty"`
}

// gateway returns the command of the binary with these servers behind it. Tools may be added and
// changed: they are not pinned.
func (b *bench) gateway(servers map[string]configured, args ...string) []string {
	b.t.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	assert.NilError(b.t, err)
	b.write("gateway.json", string(text))
	return append([]string{binary(b.t), "serve", "--config", b.path("gateway.json"), "--pins",
		"off"}, args...)
}

// real are servers of other projects, and "modern", which is a server of this module.
func (b *bench) real() map[string]configured {
	b.t.Helper()
	own, err := everything()
	assert.NilError(b.t, err)
	b.write("root/hello.txt", "Hello, world.\n")
	return map[string]configured{
		"everything": {Command: "mcp-server-everything"},
		"files":      {Command: "mcp-server-filesystem", Args: []string{b.path("root")}},
		"memory": {Command: "mcp-server-memory",
			Env: map[string]string{"MEMORY_FILE_PATH": b.path("memory.json")}},
		"modern": {Command: own},
	}
}

// spawn starts a server with a client of this module.
func (b *bench) spawn(o client.Options, command []string) (*client.Client, error) {
	return o.Spawn(b.t.Context(), client.Command{
		Path: command[0], Args: command[1:], Dir: b.dir,
		Env: map[string]string{"PATH": b.getenv("PATH"), "HOME": b.dir},
	})
}

// Real servers are behind the gateway, and the client of this module is in front of it, in both
// eras and on both transports. The client can do everything that it can do without the gateway.
func TestClientOfGateway(t *testing.T) {
	const token = "a token that nobody guesses"
	for name, connect := range map[string]func(b *bench, o client.Options) (*client.Client, error){
		"stdio": func(b *bench, o client.Options) (*client.Client,
			error) {
			return b.spawn(o, b.gateway(b.real()))
		},
		"http": func(b *bench, o client.Options) (*client.Client, error) {
			b.env = append(b.env, "STDWIRE_TEST_TOKEN="+token)
			s := b.serving(b.gateway(b.real(), "--token-env", "STDWIRE_TEST_TOKEN", "--http")...)
			return o.Connect(b.t.Context(),
				streamable.Options{Header: http.Header{"Authorization": {"Bearer " + token}}}.Dial(
					s.direct))
		},
	} {
		for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
			t.Run(fmt.Sprint(name, " ", era), func(t *testing.T) {
				b := newNodeBench(t)
				checked, frame := b.checking()
				e := &everythingVisit{bench: b, name: name, prefix: "everything__",
					tools: make(chan []*mcp.Tool, 100), updated: make(chan string, 100)}
				c, err := connect(b, client.Options{
					Era:               era,
					Hooks:             rpc.Hooks{Frame: frame},
					OnElicit:          e.elicit,
					ElicitModes:       []string{mcp.ElicitForm, mcp.ElicitURL},
					OnSample:          e.sample,
					OnToolsChanged:    func(tools []*mcp.Tool, err error) { e.tools <- tools },
					OnResourceUpdated: func(uri string) { e.updated <- uri },
				})
				assert.NilError(t, err)
				t.Cleanup(func() { _ = c.Close() }) // whatever fails
				e.c = c
				assert.Equal(t, c.Era(), era)
				e.content()
				e.calls()
				e.questions()
				e.resources()
				e.notices()
				e.prefix = "files__"
				e.says("Hello, world.", "read_text_file",
					map[string]any{"path": b.path("root/hello.txt")})
				e.prefix = "memory__"
				e.says("Ada", "create_entities",
					map[string]any{"entities": json.RawMessage(
						`[{"name":"Ada","entityType":"person","observations":["counts"]}]`)})
				e.says("counts", "read_graph", nil)
				e.prefix = "modern__"
				e.modern()
				assert.NilError(t, c.Close())
				assert.NilError(t, c.Wait())
				checked()
			})
		}
	}
}

// modern uses the everything-server of this module.
func (e *everythingVisit) modern() {
	e.t.Helper()
	ctx := e.t.Context()
	var progress []float64
	e.says("Done", "test_tool_with_progress", nil, client.OnProgress(func(p mcp.ProgressParams) {
		progress = append(progress, p.Progress)
	}))
	e.reported(progress, 100)
	e.says("Hello, Ada!", "test_input_required_result_elicitation", nil)
	e.says("state-ok", "test_input_required_result_request_state", nil)
	e.says("I was told: ", "test_sampling", map[string]any{"prompt": "Capital?"})
	prompt, err := e.c.GetPrompt(ctx, e.prefix+"test_input_required_result_prompt", nil)
	assert.NilError(e.t, err)
	assert.Assert(e.t, strings.Contains(prompt.Messages[0].Content.(*mcp.TextContent).Text, "Ada"),
		"%v", prompt)
	read, err := e.c.ReadResource(ctx, "test://template/7/data")
	assert.NilError(e.t, err)
	assert.Assert(e.t, strings.Contains(read.Contents[0].Text, "Data for ID: 7"), "%v", read)
	completion, err := e.c.Complete(ctx,
		mcp.CompleteReference{Type: mcp.RefResource, URI: "test://template/{id}/data"}, "id", "12",
		nil)
	assert.NilError(e.t, err)
	assert.DeepEqual(e.t, completion.Values, []string{"123", "124"})
	const uri = "test://watched-resource"
	assert.NilError(e.t, e.c.Subscribe(ctx, uri))
	e.call("test_trigger_resource_update", nil)
	comes(e, e.updated, func(updated string) bool { return updated == uri })
	e.call("test_trigger_tool_change", nil)
	comes(e, e.tools, func(tools []*mcp.Tool) bool {
		return slices.ContainsFunc(tools,
			func(tool *mcp.Tool) bool { return tool.Name == e.prefix+"transient_tool" })
	})
	cancelled, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err = e.c.CallTool(cancelled, e.prefix+"test_tool_with_progress", nil,
		client.OnProgress(func(mcp.ProgressParams) { cancel() }))
	assert.ErrorIs(e.t, err, context.Canceled)
}

// The gateway forwards every byte that the server wrote.
func TestGatewayVerbatim(t *testing.T) {
	b := newNodeBench(t)
	servers := b.real()
	o := client.Options{Logger: slog.New(slog.DiscardHandler)}
	direct := map[string]*client.Client{}
	open := func(o client.Options, command []string) *client.Client {
		c, err := b.spawn(o, command)
		assert.NilError(t, err)
		t.Cleanup(func() {
			assert.Check(t, c.Close())
			assert.Check(t, c.Wait())
		})
		return c
	}
	for id, s := range servers {
		direct[id] = open(o, append([]string{s.Command}, s.Args...))
	}
	command := b.gateway(servers)
	hello := `{"path":"` + b.path("root/hello.txt") + `"}`
	calls := []struct{ id, tool, arguments string }{
		{"everything", "echo", `{"message":"h\u00e4ll\u00f6 \ud83d\udc4b \"\\"}`},
		{"everything", "echo", `{"message":5}`},
		{"everything", "get-sum", `{"a":1e2,"b":0.1}`},
		{"everything", "get-structured-content", `{"location":"Chicago"}`},
		{"everything", "get-tiny-image", `{}`},
		{"everything", "get-annotated-message", `{"messageType":"error","includeImage":true}`},
		{"everything", "get-resource-links", `{"count":3}`},
		{"files", "read_text_file", hello},
		{"files", "read_media_file", hello},
		{"files", "get_file_info", hello},
		{"files", "read_text_file", `{"path":"/etc/passwd"}`},
		{"memory", "read_graph", `{}`},
		{"memory", "search_nodes", `{"query":"nobody"}`},
		{"modern", "test_image_content", `{}`},
		{"modern", "test_audio_content", `{}`},
		{"modern", "test_multiple_content_types", `{}`},
		{"modern", "test_error_handling", `{}`},
		{"modern", "test_x_mcp_header", `{"region":"Z\u00fcrich\u2028"}`},
	}
	for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
		o.Era = era
		through := open(o, command)
		for _, c := range calls {
			want, err := direct[c.id].CallToolRaw(t.Context(), c.tool, json.RawMessage(c.arguments))
			assert.NilError(t, err)
			got, err := through.CallToolRaw(t.Context(), c.id+"__"+c.tool,
				json.RawMessage(c.arguments))
			assert.NilError(t, err, "%v", c)
			assert.Assert(t, len(jsonscan.Member(want, "content")) > 0, "%s", want)
			if direct[c.id].Era() == mcp.Legacy && era == mcp.Modern {
				// the modern era requires a resultType
				want = append(json.RawMessage(`{"resultType":"complete",`), want[1:]...)
			}
			assert.Equal(t, string(got), string(want), "%v %v", era, c)
		}
	}
}
