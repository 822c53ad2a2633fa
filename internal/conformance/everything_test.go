//go:build linux

package conformance_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// The everything server of the MCP project on all its transports, with all features of the client.
// All messages of the client are checked.
func TestClientOfServerEverything(t *testing.T) {
	for name, connect := range map[string]func(b *bench, o client.Options) (*client.Client, error){
		"stdio": func(b *bench, o client.Options) (*client.Client, error) {
			return o.Spawn(b.t.Context(),
				client.Command{Path: "mcp-server-everything", Dir: b.dir,
					Env: map[string]string{"PATH": b.getenv("PATH")}})
		},
		"streamableHttp": func(b *bench, o client.Options) (*client.Client, error) {
			return o.Connect(b.t.Context(),
				streamable.Dial(b.everythingOn("streamableHttp")+"/mcp"))
		},
		"sse": func(b *bench, o client.Options) (*client.Client, error) {
			return o.Connect(b.t.Context(), streamable.Dial(b.everythingOn("sse")+"/sse"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newNodeBench(t)
			checked, frame := b.checking()
			e := &everythingVisit{bench: b, name: name, tools: make(chan []*mcp.Tool, 100),
				logs: make(chan string, 1000), updated: make(chan string, 100)}
			c, err := connect(b, client.Options{
				Hooks:             rpc.Hooks{Frame: frame},
				OnElicit:          e.elicit,
				ElicitModes:       []string{mcp.ElicitForm, mcp.ElicitURL},
				OnSample:          e.sample,
				Roots:             []mcp.Root{{URI: "file:///a", Name: "a"}, {URI: "file:///b"}},
				OnToolsChanged:    func(tools []*mcp.Tool, err error) { e.tools <- tools },
				OnResourceUpdated: func(uri string) { e.updated <- uri },
				OnLog: func(p mcp.LoggingMessageParams) {
					e.logs <- fmt.Sprintf("%s %s", p.Level, p.Data)
				},
				LogLevel: "debug",
			})
			assert.NilError(t, err)
			t.Cleanup(func() { _ = c.Close() }) // whatever fails
			e.c = c
			e.run()
			assert.NilError(t, c.Close())
			assert.NilError(t, c.Wait())
			checked()
		})
	}
}

func (b *bench) getenv(name string) (value string) {
	for _, v := range b.env {
		if text, ok := strings.CutPrefix(v, name+"="); ok {
			value = text
		}
	}
	return value
}

// checking returns a hook that checks the messages of a client, and a function that asserts that
// there were some.
func (b *bench) checking() (done func(), frame func(context.Context, rpc.Direction, []byte)) {
	talk := schemas(b.t).Client()
	var mu sync.Mutex // hooks are called concurrently
	return func() {
			mu.Lock()
			defer mu.Unlock()
			assert.Assert(b.t, talk.Checked["tools/call"] > 0, "%v", talk.Checked)
		}, func(_ context.Context, d rpc.Direction, frame []byte) {
			mu.Lock()
			defer mu.Unlock()
			if err := talk.Frame(d == rpc.Inbound, frame); err != nil {
				b.t.Error(err)
			}
		}
}

// everythingOn starts the server on a port, and returns its address.
func (b *bench) everythingOn(transport string) (address string) {
	b.t.Helper()
	address = freeAddress(b.t)
	cmd := exec.Command(b.path("node_modules/.bin/mcp-server-everything"), transport)
	cmd.Dir, cmd.Env = b.dir, append(b.env, "PORT="+address[strings.LastIndexByte(address, ':')+1:])
	stderr, err := cmd.StderrPipe()
	assert.NilError(b.t, err)
	assert.NilError(b.t, cmd.Start())
	b.t.Cleanup(func() {
		assert.Check(b.t, cmd.Process.Signal(syscall.SIGINT))
		_ = cmd.Wait() // by the signal
	})
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if strings.Contains(lines.Text(), " on port ") {
			go io.Copy(io.Discard, stderr)
			return "http://" + address
		}
	}
	b.t.Fatalf("the server does not listen")
	return ""
}

type everythingVisit struct {
	*bench
	c       *client.Client
	name    string // of the transport
	prefix  string // of the names, behind a gateway
	tools   chan []*mcp.Tool
	logs    chan string
	updated chan string
}

func (e *everythingVisit) elicit(_ context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if p.Mode == mcp.ElicitURL && strings.Contains(p.URL, "modelcontextprotocol.io") {
		// the server refuses a call with this elicitation until the user has visited the page
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	if p.Mode == mcp.ElicitURL {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
	}
	// The server's default for the number is 3.14, which the revision's schema.json does not allow:
	// unlike its schema.ts, it allows only integers.
	return &mcp.ElicitResult{Action: mcp.ElicitAccept,
		Content: []byte(`{"name":"Ada","email":"ada@example.com","number":7,"ok":true}`)}, nil
}

func (e *everythingVisit) sample(_ context.Context,
	p mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	text := "I was told: " + p.SystemPrompt + " " + p.Messages[0].Content[0].(*mcp.TextContent).Text
	return &mcp.CreateMessageResult{Role: "assistant", Model: "none",
		Content: mcp.SamplingContent{&mcp.TextContent{Text: text}}}, nil
}

func (e *everythingVisit) call(tool string, args map[string]any,
	opts ...client.CallOption) *mcp.CallToolResult {
	e.t.Helper()
	result, err := e.c.CallTool(e.t.Context(), e.prefix+tool, args, opts...)
	assert.NilError(e.t, err)
	assert.Assert(e.t, !result.IsError, "%s: %v", tool, result.Content)
	return result
}

// says calls a tool, and asserts that the first text contains part.
func (e *everythingVisit) says(part, tool string, args map[string]any, opts ...client.CallOption) {
	e.t.Helper()
	result := e.call(tool, args, opts...)
	var all strings.Builder
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			all.WriteString(text.Text)
		}
	}
	assert.Assert(e.t, strings.Contains(all.String(), part), "%s: %s", tool, all.String())
}

// comes waits for a message that the server sends outside of calls.
func comes[T any](e *everythingVisit, from <-chan T, is func(T) bool) {
	e.t.Helper()
	patience := time.After(time.Minute)
	for {
		select {
		case got := <-from:
			if is(got) {
				return
			}
		case <-patience:
			e.t.Fatal("the server did not say it")
		}
	}
}

func (e *everythingVisit) run() {
	e.t.Helper()
	assert.Equal(e.t, e.c.Era(), mcp.Legacy)
	assert.Equal(e.t, e.c.ServerInfo().Name, "mcp-servers/everything")
	assert.Assert(e.t, e.c.Instructions() != "")
	// Some tools are added only when the server has received the client's capabilities: before the
	// first list, or after it.
	conditional := func(tools []*mcp.Tool) bool {
		return slices.ContainsFunc(tools,
			func(tool *mcp.Tool) bool { return tool.Name == "trigger-url-elicitation" })
	}
	var tools []*mcp.Tool
	for tool, err := range e.c.Tools(e.t.Context()) {
		assert.NilError(e.t, err)
		tools = append(tools, tool)
	}
	if !conditional(tools) {
		comes(e, e.tools, conditional)
	}
	e.content()
	e.calls()
	e.questions()
	e.resources()
	e.notices()
}

func (e *everythingVisit) content() {
	e.t.Helper()
	e.says("Echo: hällo", "echo", map[string]any{"message": "hällo"})
	assert.Assert(e.t,
		bytes.Contains(e.call("get-structured-content",
			map[string]any{"location": "Chicago"}).StructuredContent, []byte(`"conditions"`)))
	content := e.call("get-tiny-image", nil).Content
	// the rest of it is broken
	_, err := png.DecodeConfig(bytes.NewReader(content[1].(*mcp.ImageContent).Data))
	assert.NilError(e.t, err)
	annotated := e.call("get-annotated-message",
		map[string]any{"messageType": "error"}).Content[0].(*mcp.TextContent)
	assert.DeepEqual(e.t, annotated.Annotations.Audience, []mcp.Role{"user", "assistant"})
	links := e.call("get-resource-links", map[string]any{"count": 2}).Content
	linked, err := e.c.ReadResource(e.t.Context(), links[1].(*mcp.ResourceLink).URI)
	assert.NilError(e.t, err)
	assert.Equal(e.t, linked.Contents[0].URI, links[1].(*mcp.ResourceLink).URI)
	embedded := e.call("get-resource-reference",
		map[string]any{"resourceType": "Text", "resourceId": 1}).Content
	assert.Assert(e.t, slices.ContainsFunc(embedded, func(c mcp.Content) bool {
		_, ok := c.(*mcp.EmbeddedResource)
		return ok
	}))
	link := e.call("gzip-file-as-resource",
		map[string]any{"name": "x.gz", "data": "data:text/plain,hello"}).Content[0].(*mcp.ResourceLink)
	packed, err := e.c.ReadResource(e.t.Context(), link.URI)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(time.Minute)
	for ; err != nil && e.prefix != "" && time.Now().Before(end); <-tick.C {
		// a gateway gets new items slightly later
		packed, err = e.c.ReadResource(e.t.Context(), link.URI)
	}
	assert.NilError(e.t, err)
	unpacked, err := gzip.NewReader(bytes.NewReader(packed.Contents[0].Blob))
	assert.NilError(e.t, err)
	text, err := io.ReadAll(unpacked)
	assert.NilError(e.t, err)
	assert.Equal(e.t, string(text), "hello")
}

func (e *everythingVisit) calls() {
	e.t.Helper()
	result, err := e.c.CallTool(e.t.Context(), e.prefix+"get-sum", map[string]any{"a": "x", "b": 3})
	assert.NilError(e.t, err)
	assert.Assert(e.t, result.IsError)
	result, err = e.c.CallTool(e.t.Context(), e.prefix+"nothing", nil)
	if e.prefix == "" {
		assert.NilError(e.t, err)
		assert.Assert(e.t, result.IsError)
	} else {
		assert.ErrorContains(e.t, err, "Unknown tool: "+e.prefix+"nothing")
	}
	var progress []float64
	seen := client.OnProgress(func(p mcp.ProgressParams) {
		progress = append(progress, p.Progress)
	})
	e.says("completed", "trigger-long-running-operation", map[string]any{"duration": 0.2, "steps": 4}, seen)
	e.reported(progress, 4)
	ctx, cancel := context.WithCancel(e.t.Context())
	defer cancel()
	// This server ignores cancellations, and continues to report progress.
	_, err = e.c.CallTool(ctx, e.prefix+"trigger-long-running-operation", map[string]any{"duration": 2, "steps": 20},
		client.OnProgress(func(mcp.ProgressParams) { cancel() }))
	assert.ErrorIs(e.t, err, context.Canceled)
	_, err = e.c.CallTool(e.t.Context(), e.prefix+"trigger-long-running-operation",
		map[string]any{"duration": 2, "steps": 20}, client.Timeout(100*time.Millisecond))
	assert.ErrorIs(e.t, err, context.DeadlineExceeded)
	e.says("Echo: on", "echo", map[string]any{"message": "on"})
}

// reported asserts that the progress of a call is in order, up to the last. If progress arrives too
// fast, only the newest is reported.
func (e *everythingVisit) reported(progress []float64, last float64) {
	e.t.Helper()
	assert.Assert(e.t, len(progress) > 0 && progress[len(progress)-1] == last &&
		slices.IsSorted(progress), "%v", progress)
}

func (e *everythingVisit) questions() {
	e.t.Helper()
	if e.prefix == "" { // a gateway has no roots
		e.says("URI: file:///b", "get-roots-list", nil)
	}
	e.says("I was told: You are a helpful test server. Resource trigger-sampling-request context: Capital?",
		"trigger-sampling-request", map[string]any{"prompt": "Capital?", "maxTokens": 10})
	// the client fills in this default
	e.says(`"firstLine": "It was a dark and stormy night."`, "trigger-elicitation-request", nil)
	ask := map[string]any{"url": "https://example.com/", "elicitationId": "1"}
	e.says("User completed the URL elicitation flow", "trigger-url-elicitation", ask)
	if e.c.Era() == mcp.Modern {
		return // behind a gateway; a modern client does not get this error
	}
	ask["errorPath"] = true
	_, err := e.c.CallTool(e.t.Context(), e.prefix+"trigger-url-elicitation", ask)
	refusal, ok := errors.AsType[*rpc.Error](err)
	assert.Assert(e.t, ok && refusal.Code == mcp.CodeURLElicitationRequired, "%v", err)
	assert.Assert(e.t, bytes.Contains(refusal.Data, []byte("https://modelcontextprotocol.io")), "%s", refusal.Data)
	e.says("User completed the URL elicitation flow", "trigger-url-elicitation", ask)
}

func (e *everythingVisit) resources() {
	e.t.Helper()
	ctx := e.t.Context()
	count := 0
	for resource, err := range e.c.Resources(ctx) {
		assert.NilError(e.t, err)
		assert.Assert(e.t, resource.URI != "")
		count++
	}
	assert.Assert(e.t, count >= 7, "%d resources", count)
	var templates []string
	for template, err := range e.c.ResourceTemplates(ctx) {
		assert.NilError(e.t, err)
		templates = append(templates, template.URITemplate)
	}
	for _, template := range []string{"demo://resource/dynamic/text/{resourceId}", "demo://resource/dynamic/blob/{resourceId}"} {
		assert.Assert(e.t, slices.Contains(templates, template), "%v", templates)
	}
	text, err := e.c.ReadResource(ctx, "demo://resource/dynamic/text/7")
	assert.NilError(e.t, err)
	assert.Assert(e.t, strings.HasPrefix(text.Contents[0].Text, "Resource 7:"), "%q", text.Contents[0].Text)
	blob, err := e.c.ReadResource(ctx, "demo://resource/dynamic/blob/7")
	assert.NilError(e.t, err)
	assert.Assert(e.t, bytes.HasPrefix(blob.Contents[0].Blob, []byte("Resource 7:")), "%q", blob.Contents[0].Blob)
	_, err = e.c.ReadResource(ctx, "demo://nothing")
	refusal, ok := errors.AsType[*rpc.Error](err)
	unknown := ok && (refusal.Code == rpc.CodeInvalidParams ||
		refusal.Code == mcp.CodeResourceNotFound)
	assert.Assert(e.t, unknown, "%v", err)

	prompt, err := e.c.GetPrompt(ctx, e.prefix+"args-prompt", map[string]string{"city": "Oslo"})
	assert.NilError(e.t, err)
	assert.Equal(e.t, prompt.Messages[0].Content.(*mcp.TextContent).Text, "What's weather in Oslo?")
	ref := mcp.CompleteReference{Type: mcp.RefPrompt, Name: e.prefix + "completable-prompt"}
	completion, err := e.c.Complete(ctx, ref, "department", "S", nil)
	assert.NilError(e.t, err)
	assert.DeepEqual(e.t, completion.Values, []string{"Sales", "Support"})
	completion, err = e.c.Complete(ctx, ref, "name", "", map[string]string{"department": "Sales"})
	assert.NilError(e.t, err)
	assert.DeepEqual(e.t, completion.Values, []string{"David", "Eve", "Frank"})
}

func (e *everythingVisit) notices() {
	e.t.Helper()
	const uri = "demo://resource/dynamic/text/1"
	assert.NilError(e.t, e.c.Subscribe(e.t.Context(), uri))
	e.call("toggle-subscriber-updates", nil)
	comes(e, e.updated, func(updated string) bool { return updated == uri })
	assert.NilError(e.t, e.c.Unsubscribe(e.t.Context(), uri))
	if e.prefix != "" {
		return // a gateway does not forward the logs of servers
	}
	e.call("toggle-simulated-logging", nil)
	comes(e, e.logs, func(message string) bool { return strings.Contains(message, "level") })
	// From here on only the most severe messages; the server logs the requested ones at the level
	// info.
	assert.NilError(e.t, e.c.SetLogLevel(e.t.Context(), "emergency"))
	for len(e.logs) > 0 {
		<-e.logs
	}
	assert.NilError(e.t, e.c.Subscribe(e.t.Context(), uri))
	e.says("Echo: quiet", "echo", map[string]any{"message": "quiet"})
	for len(e.logs) > 0 {
		assert.Assert(e.t, !strings.HasPrefix(<-e.logs, "info"))
	}
}
