//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	mcpgotransport "github.com/mark3labs/mcp-go/client/transport"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdwire/stdwire/internal/conformance"
)

func TestMain(m *testing.M) {
	conformance.PlayRole()
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		main() // a server process of a suite
		return
	}
	os.Exit(m.Run())
}

// A peer is a connected client of another library. Its calls return the text of the result.
type peer struct {
	server string // the server's name
	tools  func(ctx context.Context) ([]string, error)
	call   func(ctx context.Context, tool string, args map[string]any) (text string, isError bool,
		err error)
	watch    func(ctx context.Context, uri string) error // changes arrive on updated
	read     func(ctx context.Context, uri string) (text string, err error)
	prompt   func(ctx context.Context, name string, args map[string]string) (text string, err error)
	code     func(err error) int64 // of a JSON-RPC error
	progress chan float64
	changed  chan struct{} // signals tools/list_changed
	updated  chan struct{} // signals resources/updated
	close    func() error
}

var peers = map[string]func(ctx context.Context, revision, dir string, server []string) (*peer,
	error){
	"go-sdk": connectGoSDK,
	"mcp-go": connectMCPGo,
}

// notify sends without blocking. Signals that nobody receives are dropped.
func notify[T any](c chan T, v T) {
	select {
	case c <- v:
	default:
	}
}

func newPeer() *peer {
	return &peer{progress: make(chan float64, 1), changed: make(chan struct{}, 1),
		updated: make(chan struct{}, 1)}
}

func connectGoSDK(ctx context.Context, revision, dir string, server []string) (*peer, error) {
	cmd := exec.Command(server[0], server[1:]...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	return newGoSDK(ctx, revision, &gosdk.CommandTransport{Command: cmd})
}

func newGoSDK(ctx context.Context, revision string, transport gosdk.Transport) (*peer, error) {
	p := newPeer()
	c := gosdk.NewClient(&gosdk.Implementation{Name: "interop", Version: "1"}, &gosdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context,
			r *gosdk.ProgressNotificationClientRequest) {
			notify(p.progress, r.Params.Progress)
		},
		ToolListChangedHandler: func(context.Context,
			*gosdk.ToolListChangedRequest) {
			notify(p.changed, struct{}{})
		},
		ResourceUpdatedHandler: func(context.Context,
			*gosdk.ResourceUpdatedNotificationRequest) {
			notify(p.updated, struct{}{})
		},
		CreateMessageHandler: func(context.Context,
			*gosdk.CreateMessageRequest) (*gosdk.CreateMessageResult, error) {
			return &gosdk.CreateMessageResult{Role: "assistant", Model: "none",
				Content: &gosdk.TextContent{Text: "Paris"}}, nil
		},
		ElicitationHandler: func(context.Context, *gosdk.ElicitRequest) (*gosdk.ElicitResult,
			error) {
			return &gosdk.ElicitResult{Action: "accept", Content: asked}, nil
		},
	})
	c.AddRoots(&gosdk.Root{URI: "file:///a", Name: "a"}, &gosdk.Root{URI: "file:///b"})
	s, err := c.Connect(ctx, transport, &gosdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return nil, err
	}
	p.server, p.close = s.InitializeResult().ServerInfo.Name, s.Close
	p.tools = func(ctx context.Context) (names []string, err error) {
		for tool, err := range s.Tools(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, tool.Name)
		}
		return names, nil
	}
	p.call = func(ctx context.Context, tool string, args map[string]any) (string, bool, error) {
		params := &gosdk.CallToolParams{Name: tool, Arguments: args, Meta: gosdk.Meta{}}
		params.SetProgressToken(tool)
		r, err := s.CallTool(ctx, params)
		if err != nil {
			return "", false, err
		}
		return r.Content[0].(*gosdk.TextContent).Text, r.IsError, nil
	}
	p.watch = func(ctx context.Context, uri string) error {
		return s.Subscribe(ctx, &gosdk.SubscribeParams{URI: uri})
	}
	p.read = func(ctx context.Context, uri string) (string, error) {
		r, err := s.ReadResource(ctx, &gosdk.ReadResourceParams{URI: uri})
		if err != nil {
			return "", err
		}
		return r.Contents[0].Text, nil
	}
	p.prompt = func(ctx context.Context, name string, args map[string]string) (string, error) {
		r, err := s.GetPrompt(ctx, &gosdk.GetPromptParams{Name: name, Arguments: args})
		if err != nil {
			return "", err
		}
		return r.Messages[0].Content.(*gosdk.TextContent).Text, nil
	}
	p.code = func(err error) int64 {
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
			return e.Code
		}
		return 0
	}
	return p, nil
}

func connectMCPGo(ctx context.Context, revision, dir string, server []string) (*peer, error) {
	c, err := mcpgo.NewStdioMCPClientWithOptions(server[0], nil, server[1:],
		mcpgotransport.WithCommandFunc(
			func(ctx context.Context, command string, env, args []string) (*exec.Cmd, error) {
				cmd := exec.CommandContext(ctx, command, args...)
				cmd.Dir, cmd.Env, cmd.Stderr = dir, env, nil
				return cmd, nil
			}))
	if err != nil {
		return nil, err
	}
	return newMCPGo(ctx, revision, c)
}

func newMCPGo(ctx context.Context, revision string, c *mcpgo.Client) (*peer, error) {
	p := newPeer()
	c.OnNotification(func(n mcpgotypes.JSONRPCNotification) {
		switch n.Method {
		case "notifications/progress":
			done, _ := n.Params.AdditionalFields["progress"].(float64)
			notify(p.progress, done)
		case "notifications/tools/list_changed":
			notify(p.changed, struct{}{})
		case "notifications/resources/updated":
			notify(p.updated, struct{}{})
		}
	})
	if err := c.Start(ctx); err != nil { // otherwise it receives no notifications
		return nil, errors.Join(err, c.Close())
	}
	var request mcpgotypes.InitializeRequest
	request.Params.ProtocolVersion = revision
	request.Params.ClientInfo = mcpgotypes.Implementation{Name: "interop", Version: "1"}
	r, err := c.Initialize(ctx, request)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	p.server, p.close = r.ServerInfo.Name, c.Close
	p.watch = func(ctx context.Context, uri string) error {
		var request mcpgotypes.SubscribeRequest
		request.Params.URI = uri
		return c.Subscribe(ctx, request)
	}
	if mcpgotypes.IsModernProtocol(revision) {
		stop, err := c.ListenAsync(ctx, mcpgotypes.SubscriptionFilter{ToolsListChanged: true}, nil)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		p.close = func() error { stop(); return c.Close() }
		p.watch = func(ctx context.Context, uri string) error {
			// A new subscription replaces the old one.
			both, err := c.ListenAsync(ctx,
				mcpgotypes.SubscriptionFilter{ToolsListChanged: true,
					ResourceSubscriptions: []string{uri}}, nil)
			p.close = func() error { stop(); both(); return c.Close() }
			return err
		}
	}
	p.tools = func(ctx context.Context) (names []string, err error) {
		r, err := c.ListTools(ctx, mcpgotypes.ListToolsRequest{})
		if err != nil {
			return nil, err
		}
		for _, tool := range r.Tools {
			names = append(names, tool.Name)
		}
		return names, nil
	}
	p.call = func(ctx context.Context, tool string, args map[string]any) (string, bool, error) {
		var request mcpgotypes.CallToolRequest
		request.Params.Name, request.Params.Arguments = tool, args
		request.Params.Meta = &mcpgotypes.Meta{ProgressToken: tool}
		r, err := c.CallTool(ctx, request)
		if err != nil {
			return "", false, err
		}
		return r.Content[0].(mcpgotypes.TextContent).Text, r.IsError, nil
	}
	p.read = func(ctx context.Context, uri string) (string, error) {
		var request mcpgotypes.ReadResourceRequest
		request.Params.URI = uri
		r, err := c.ReadResource(ctx, request)
		if err != nil {
			return "", err
		}
		return r.Contents[0].(mcpgotypes.TextResourceContents).Text, nil
	}
	p.prompt = func(ctx context.Context, name string, args map[string]string) (string, error) {
		var request mcpgotypes.GetPromptRequest
		request.Params.Name, request.Params.Arguments = name, args
		r, err := c.GetPrompt(ctx, request)
		if err != nil {
			return "", err
		}
		return r.Messages[0].Content.(mcpgotypes.TextContent).Text, nil
	}
	p.code = func(err error) int64 {
		if errors.Is(err, mcpgotypes.ErrInvalidParams) {
			return -32602
		}
		return 0
	}
	return p, nil
}

var buildBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "interop-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "stdwire")
	out, err := exec.Command("go", "build", "-o", path,
		"github.com/stdwire/stdwire/cmd/stdwire").CombinedOutput()
	if err != nil {
		err = errors.Join(err, errors.New(string(out)))
	}
	return path, err
})

// The clients of the other Go libraries with the binary and the fixture, in both eras.
func TestInterop(t *testing.T) {
	binary, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(filepath.Dir(binary))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, connect := range peers {
		for _, revision := range []string{"2025-06-18", "2026-07-28"} {
			t.Run(name+" "+revision+" binary", func(t *testing.T) {
				i := newInterop(t, connect, revision, func(dir string) []string {
					if err := conformance.FillRoot(filepath.Join(dir, "root")); err != nil {
						t.Fatal(err)
					}
					return []string{binary, "serve", "--root", "root"}
				})
				i.files()
			})
			t.Run(name+" "+revision+" fixture", func(t *testing.T) {
				i := newInterop(t, connect, revision,
					func(string) []string { return []string{self, conformance.RoleFixture} })
				i.fixture()
			})
			t.Run(name+" "+revision+" search", func(t *testing.T) {
				i := newInterop(t, connect, revision, func(dir string) []string {
					return searching(t, dir, binary, self)
				})
				i.finds()
			})
		}
	}
}

// searching returns a gateway of the fixture that lists the tools by which others are found.
func searching(t *testing.T, dir, binary, self string) []string {
	t.Helper()
	path := filepath.Join(dir, "mcp.json")
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"own": map[string]any{"command": self, "args": []string{conformance.RoleFixture}}}})
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return []string{"env", "HOME=" + dir, binary, "serve", "--config", path, "--pins", "off",
		"--discover", "search"}
}

type interop struct {
	t   *testing.T
	ctx context.Context
	*peer
}

// newInterop connects a client to a server through the tap. When the test ends, it checks the
// recorded messages of the server.
func newInterop(t *testing.T,
	connect func(context.Context, string, string, []string) (*peer, error), revision string,
	server func(dir string) []string) *interop {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range conformance.KillIn(dir) {
			t.Errorf("still running: %v", p)
		}
		schemas := conformance.OpenSchemas()
		if schemas == nil {
			return
		}
		checked, err := schemas.CheckServer(filepath.Join(dir, "record"))
		if err != nil || checked["tools/list result"] == 0 {
			t.Errorf("%v\n%v", checked, err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p, err := connect(ctx, revision, dir,
		append([]string{"env", "GORACE=atexit_sleep_ms=0", self, conformance.RoleTap,
			filepath.Join(dir, "record")}, server(dir)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &interop{t, ctx, p}
}

func (i *interop) list(want ...string) {
	i.t.Helper()
	names, err := i.tools(i.ctx)
	slices.Sort(names)
	if err != nil || !slices.Equal(names, want) {
		i.t.Fatalf("%v, %v; want %v", names, err, want)
	}
}

// wants calls a tool, and requires that the result is the text, or JSON that contains it.
func (i *interop) wants(part string, isError bool, tool string, args map[string]any) {
	i.t.Helper()
	text, failed, err := i.peer.call(i.ctx, tool, args)
	found := text == part || strings.Contains(text, part) && json.Valid([]byte(text))
	if err != nil || failed != isError || !found {
		i.t.Fatalf("%s: %q, %v, %v; want %q", tool, text, failed, err, part)
	}
}

func (i *interop) unknown() {
	i.t.Helper()
	if _, _, err := i.peer.call(i.ctx, "nothing", nil); err == nil || i.code(err) != -32602 {
		i.t.Fatalf("%v", err)
	}
}

// cancelled calls a slow tool, waits for progress, and cancels the call.
func (i *interop) cancelled(tool string, args map[string]any) {
	i.t.Helper()
	ctx, cancel := context.WithCancel(i.ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, _, err := i.peer.call(ctx, tool, args)
		ended <- err
	}()
	select {
	case <-i.progress:
	case err := <-ended:
		i.t.Fatalf("it ended without progress: %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		i.t.Fatalf("%v", err)
	}
}

func (i *interop) files() {
	i.t.Helper()
	if i.server != "stdwire" {
		i.t.Errorf("server %q", i.server)
	}
	i.list("fs_list", "fs_read", "fs_search", "fs_stat")
	hello := map[string]any{"path": "hello.txt"}
	i.wants("Hello, world.\n", false, "fs_read", hello)
	i.wants(`"code":"not_found"`, true, "fs_read", map[string]any{"path": "missing.txt"})
	i.unknown()
	i.cancelled("fs_search", map[string]any{"pattern": "nowhere to be found", "literal": true})
	i.wants("Hello, world.\n", false, "fs_read", hello)
}

// finds uses the fixture by the tools that find and call others.
func (i *interop) finds() {
	i.t.Helper()
	i.list("call_tool_destructive", "call_tool_read", "call_tool_write", "find_tool")
	text, _, err := i.peer.call(i.ctx, "find_tool", map[string]any{"query": "add two numbers"})
	if best, _, _ := strings.Cut(text, "\n"); err != nil || !json.Valid([]byte(best)) ||
		!strings.HasPrefix(best, `{"name":"own__add","call":"call_tool_read"`) {
		i.t.Fatalf("%q, %v", text, err)
	}
	i.wants(`"n":3`, false, "call_tool_read",
		map[string]any{"name": "own__add", "arguments": map[string]any{"a": 1, "b": 2}})
	text, failed, err := i.peer.call(i.ctx, "call_tool_read", map[string]any{"name": "own__grow"})
	if err != nil || !failed || !strings.Contains(text, "call it with call_tool_write") {
		i.t.Fatalf("%q, %v, %v", text, failed, err)
	}
	i.wants(`"n":3`, false, "own__add", map[string]any{"a": 1, "b": 2})
	i.unknown()
}

func (i *interop) fixture() {
	i.t.Helper()
	i.list("add", "block", "ended", "fail", "grow", "panic", "steps")
	i.wants(`"n":3`, false, "add", map[string]any{"a": 1, "b": 2})
	i.wants(`"code":"not_found"`, true, "fail", nil)
	i.wants(`"code":"internal_error"`, true, "panic", nil)
	i.unknown()
	i.cancelled("block", nil)
	for {
		text, _, err := i.peer.call(i.ctx, "ended", nil)
		if err != nil {
			i.t.Fatal(err)
		}
		if strings.Contains(text, `"n":1`) {
			break
		}
	}
	i.wants(`"n":1`, false, "grow", nil)
	select {
	case <-i.changed:
	case <-i.ctx.Done():
		i.t.Fatal("nobody said that the list of tools changed")
	}
	i.list("add", "block", "ended", "fail", "grow", "grown_1", "panic", "steps")
}
