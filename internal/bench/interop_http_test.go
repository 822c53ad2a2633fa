//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	mcpgotransport "github.com/mark3labs/mcp-go/client/transport"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdwire/stdwire/internal/conformance"
)

var httpPeers = map[string]func(ctx context.Context, revision, url string) (*peer, error){
	"go-sdk": func(ctx context.Context, revision, url string) (*peer, error) {
		return newGoSDK(ctx, revision, &gosdk.StreamableClientTransport{Endpoint: url})
	},
	"mcp-go": func(ctx context.Context, revision, url string) (*peer, error) {
		// The modern era has no GET stream: a subscription selects the notifications.
		options := []mcpgotransport.StreamableHTTPCOption{
			mcpgotransport.WithHTTPLogger(slog.New(slog.DiscardHandler))}
		if !mcpgotypes.IsModernProtocol(revision) {
			options = append(options, mcpgotransport.WithContinuousListening())
		}
		t, err := mcpgotransport.NewStreamableHTTP(url, options...)
		if err != nil {
			return nil, err
		}
		h := mcpGoHandlers{}
		return newMCPGo(ctx, revision,
			mcpgo.NewClient(t, mcpgo.WithSamplingHandler(h), mcpgo.WithElicitationHandler(h),
				mcpgo.WithRootsHandler(h)))
	},
}

// asked is the user's response to every elicitation.
var asked = map[string]any{"name": "Ada", "username": "ada", "email": "ada@example.com",
	"color": "red"}

type mcpGoHandlers struct{}

func (mcpGoHandlers) CreateMessage(context.Context,
	mcpgotypes.CreateMessageRequest) (*mcpgotypes.CreateMessageResult, error) {
	return &mcpgotypes.CreateMessageResult{
		SamplingMessage: mcpgotypes.SamplingMessage{Role: "assistant",
			Content: mcpgotypes.NewTextContent("Paris")}, Model: "none",
	}, nil
}

func (mcpGoHandlers) Elicit(context.Context,
	mcpgotypes.ElicitationRequest) (*mcpgotypes.ElicitationResult, error) {
	return &mcpgotypes.ElicitationResult{
		ElicitationResponse: mcpgotypes.ElicitationResponse{Action: "accept", Content: asked}}, nil
}

func (mcpGoHandlers) ListRoots(context.Context,
	mcpgotypes.ListRootsRequest) (*mcpgotypes.ListRootsResult, error) {
	return &mcpgotypes.ListRootsResult{
		Roots: []mcpgotypes.Root{{URI: "file:///a", Name: "a"}, {URI: "file:///b"}}}, nil
}

// The clients of the other Go libraries over Streamable HTTP, in both eras, on one endpoint.
func TestInteropHTTP(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := serveEverything(t, dir)
	for name, connect := range httpPeers {
		for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			t.Run(name+" "+revision, func(t *testing.T) {
				record := filepath.Join(t.TempDir(), "record")
				tap, err := conformance.NewHTTPTap(record, server)
				if err != nil {
					t.Fatal(err)
				}
				s := httptest.NewServer(tap)
				t.Cleanup(func() {
					s.CloseClientConnections()
					s.Close()
					if err := tap.Close(); err != nil {
						t.Error(err)
					}
					checkRecord(t, record)
				})
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				t.Cleanup(cancel)
				p, err := connect(ctx, revision, s.URL+"/mcp")
				if err != nil {
					t.Fatal(err)
				}
				i := &interop{t, ctx, p}
				i.everything(record)
				if err := p.close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
	}
}

// serveEverything runs the everything-server, and returns its endpoint.
func serveEverything(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "everything-server")
	build := exec.Command("go", "build", "-o", path,
		"github.com/stdwire/stdwire/internal/conformance/everything-server")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(path, "-http", "127.0.0.1:0")
	cmd.Dir = dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(stderr)
	line, err := in.ReadString('\n')
	said := make(chan string, 1)
	go func() {
		rest, _ := io.ReadAll(in)
		said <- string(rest)
	}()
	t.Cleanup(func() {
		err := cmd.Process.Signal(syscall.SIGTERM)
		rest := <-said
		if err := errors.Join(err, cmd.Wait()); err != nil || rest != "" {
			t.Errorf("%v; the server said: %s", err, rest)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// checkRecord checks both sides of a recording.
func checkRecord(t *testing.T, record string) {
	schemas := conformance.OpenSchemas()
	if schemas == nil {
		return
	}
	checked, err := schemas.CheckServer(record)
	if err != nil || checked["tools/list result"] == 0 {
		t.Errorf("server: %v\n%v", checked, err)
	}
	if checked, err = schemas.CheckClient(record); err != nil || checked["tools/list"] == 0 {
		t.Errorf("client: %v\n%v", checked, err)
	}
}

func (i *interop) everything(record string) {
	i.t.Helper()
	if i.server != "everything-server" {
		i.t.Errorf("server %q", i.server)
	}
	names, err := i.tools(i.ctx)
	if err != nil || !slices.Contains(names, "test_simple_text") {
		i.t.Fatalf("%v, %v", names, err)
	}
	if _, _, err := i.peer.call(i.ctx, "nothing", map[string]any{}); err == nil ||
		i.code(err) != -32602 {
		i.t.Errorf("%v", err)
	}
	none := map[string]any{} // nil would be sent as null, which no revision allows
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"test_simple_text", none, "This is a simple text response for testing."},
		{"test_error_handling", none, "This tool intentionally returns an error for testing"},
		{"test_x_mcp_header", map[string]any{"region": "Zürich ", "level": 1}, "region Zürich "},
		{"test_tool_with_progress", none, "Done"},
		{"test_tool_with_logging", none, "Tool with logging executed successfully"},
		{"test_reconnection", none, "Reconnection test completed successfully"},
		{"test_input_required_result_elicitation", none, "Hello, Ada!"},
		{"test_input_required_result_multi_round", none, "Both steps are done"},
		{"test_input_required_result_list_roots", none, "2 roots"},
		{"test_input_required_result_multiple_inputs", none, "Paris, Ada, 2 roots"},
		{"test_sampling", map[string]any{"prompt": "Capital?"}, "LLM response: Paris"},
	} {
		text, failed, err := i.peer.call(i.ctx, c.tool, c.args)
		if err != nil || text != c.want || failed != (c.tool == "test_error_handling") {
			i.t.Errorf("%s: %q, %v, %v; want %q", c.tool, text, failed, err, c.want)
		}
	}
	if text, err := i.read(i.ctx, "test://template/7/data"); err != nil ||
		!json.Valid([]byte(text)) || !strings.Contains(text, "Data for ID: 7") {
		i.t.Errorf("%q, %v", text, err)
	}
	text, err := i.prompt(i.ctx, "test_prompt_with_arguments",
		map[string]string{"arg1": "a", "arg2": "b"})
	if err != nil || !strings.Contains(text, "arg1='a'") {
		i.t.Errorf("%q, %v", text, err)
	}
	if err := i.watch(i.ctx, "test://watched-resource"); err != nil {
		i.t.Fatal(err)
	}
	i.callUntilNotified(i.updated, "test_trigger_resource_update")
	i.callUntilNotified(i.changed, "test_trigger_tool_change")
	i.cancelledHTTP(record)
	if text, _, err := i.peer.call(i.ctx, "greet", map[string]any{"name": "Ada"}); err != nil ||
		text != "Hello, Ada!" {
		i.t.Errorf("%q, %v", text, err)
	}
}

// callUntilNotified calls a tool until its notification arrives: not all of these clients report
// when their stream is open.
func (i *interop) callUntilNotified(what chan struct{}, tool string) {
	i.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, _, err := i.peer.call(i.ctx, tool, map[string]any{}); err != nil {
			i.t.Fatalf("%s: %v", tool, err)
		}
		select {
		case <-what:
			return
		case <-tick.C:
		}
	}
}

// cancelledHTTP calls a slow tool, and cancels the call once it has started.
func (i *interop) cancelledHTTP(record string) {
	i.t.Helper()
	ctx, cancel := context.WithCancel(i.ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, _, err := i.peer.call(ctx, "slow_compute", map[string]any{"seconds": 600})
		ended <- err
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !recorded(i.t, record, `"slow_compute"`) {
		select {
		case err := <-ended:
			i.t.Fatalf("it ended before it began: %v", err)
		case <-tick.C:
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		i.t.Fatalf("%v", err)
	}
}

// recorded reports whether the client has sent a message that contains part.
func recorded(t *testing.T, record, part string) bool {
	t.Helper()
	talks, err := conformance.ReadRecords(record)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, lines := range talks {
		for _, line := range lines {
			if line[0] == '>' && strings.Contains(string(line), part) {
				return true
			}
		}
	}
	return false
}
