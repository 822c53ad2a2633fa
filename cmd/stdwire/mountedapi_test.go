//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// serveAPI starts stdwire serve with these servers and the HTTP API.
func serveAPI(t *testing.T, args ...string) (address string) {
	t.Helper()
	cmd, _, _ := stdwire(t,
		append([]string{"serve", "--http", "127.0.0.1:0", "--no-auth"}, args...)...)
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	assert.NilError(t, err)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // at the end of the test
	assert.NilError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Wait() // the error is that of the context
		assert.Check(t, cmd.ProcessState.ExitCode() == 0)
	})
	for lines := bufio.NewReader(stderr); ; {
		line, err := lines.ReadString('\n')
		assert.NilError(t, err)
		if _, after, ok := strings.Cut(strings.TrimSpace(line), "serving MCP at "); ok {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			address, _, _ = strings.Cut(after, "/mcp")
			return address
		}
	}
}

func post(ctx context.Context, t *testing.T, address, service, body string) (status int,
	answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/v1/"+service,
		strings.NewReader(body))
	assert.NilError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	return response.StatusCode, string(text)
}

// Tools of upstream servers are called over HTTP as by stdwire run, and MCP clients see them once.
func TestServeToolsByHTTP(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	config, dir, _ := someServers(t)
	audit := filepath.Join(dir, "audit.jsonl")
	address := serveAPI(t, "--root", dir, "--config", config, "--audit", audit)
	for _, tt := range []struct {
		service, body string
		status        int
		want          string
	}{
		{"files", `{"action":"fs_read","params":{"path":"a.txt"}}`, 200,
			`{"success":true,"data":{"path":"a.txt",`},
		{"old", `{"action":"fs_read","params":{"path":"a.txt"}}`, 200,
			`{"success":true,"data":{"path":"a.txt",`},
		{"fs", `{"action":"read","params":{"path":"a.txt"}}`, 200,
			`{"success":true,"data":{"path":"a.txt",`},
		// the server of that name
		{"fs", `{"action":"echo","params":{"text":"x"},"confirm":true}`, 200,
			`{"success":true,"data":[{"type":"text","text":"{\"text\":\"x\"}"}],`},
		{"host", `{"action":"status"}`, 200, `"server":"files"`},
		{"files", `{"action":"fs_read","params":{"path":"b.txt"}}`, 502,
			`"code":"upstream_error","message":"not_found: cannot read \"b.txt\": it does not exist","details":{"structuredContent":`},
		{"files", `{"action":"fs_read"}`, 400, `"code":"missing_param"`},
		{"files", `{"action":"fs_read","params":{"path":7}}`, 400, `"code":"invalid_input"`},
		{"files", `{"action":"fs_read","params":{"path":"a.txt"},"session":"x"}`, 400,
			`takes no session`},
		{"files", `{"action":"fs_list","params":{}}`, 404, `"code":"unknown_operation"`},
		{"fils", `{"action":"fs_read","params":{}}`, 404,
			`there is no operation \"fils.fs_read\"; did you mean files.fs_read?`},
		{"files", `{"action":"fs_delete","params":{"path":"a.txt"}}`, 428,
			`(\"confirm\":true in the body confirms the call)"`},
		{"files", `{"action":"fs_delete","params":{"path":"a.txt"},"confirm":true}`, 501,
			`"code":"not_implemented","message":"the server asks a question (elicitation/create), and nobody can answer it here`},
		{"old", `{"action":"fs_delete","params":{"path":"a.txt"},"confirm":true}`, 501,
			`"details":{"questions":["elicitation/create"],"result":{`},
		{"asks", `{"action":"t","confirm":true}`, 501, `(sampling/createMessage)`},
		{"my_hand", `{"action":"echo","params":{"text":"x"},"confirm":true}`, 200,
			`"_meta":{"original":{"content":[{"type":"text","text":"{\"text\":\"x\"}"}],"x-unknown": 1.0}}`},
		{"my_hand", `{"action":"fail","confirm":true}`, 502,
			`"code":"upstream_error","message":"disk full","details":{"content":[{"type":"text","text":"disk full"}],"isError":true}`},
		{"my_hand", `{"action":"refuse","confirm":true}`, 502, `"details":{"code":-32602}`},
		{"my_hand", `{"action":"die","confirm":true}`, 502,
			`server \"my.hand\": tool \"die\": exited with status 7`},
		{"small", `{"action":"big","confirm":true}`, 403, `"code":"blocked"`},
		{"gone", `{"action":"x"}`, 502, `server \"gone\" is not available`},
		{"off", `{"action":"x"}`, 409, `server \"off\": the server is disabled`},
	} {
		status, answer := post(t.Context(), t, address, tt.service, tt.body)
		assert.Equal(t, status, tt.status, "%s %s: %s", tt.service, tt.body, answer)
		assert.Assert(t, cmp.Contains(answer, tt.want), tt.body)
	}
	response, err := http.Get(address + "/v1/openapi.json")
	assert.NilError(t, err)
	defer response.Body.Close()
	var document struct {
		Paths      map[string]json.RawMessage
		Components struct{ Schemas map[string]json.RawMessage }
	}
	assert.NilError(t, json.NewDecoder(response.Body).Decode(&document))
	for _, service := range []string{"files", "old", "small", "library", "fs", "host"} {
		assert.Assert(t, document.Paths["/v1/"+service] != nil, service)
	}
	assert.Assert(t,
		cmp.Contains(string(document.Components.Schemas["files.fs_write.call"]),
			`"x-kind":"destructive"`))
	assert.Assert(t,
		cmp.Contains(string(document.Components.Schemas["files.fs_write.input"]), `"content"`))
	assert.Assert(t, document.Components.Schemas["files.fs_list.call"] == nil)

	got := run(t, "ls", "tools", "-o", "json", "--url", address+"/mcp")
	assert.Equal(t, got.code, 0, got.stderr)
	var tools []struct{ Name string }
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &tools))
	var reads []string
	for _, tool := range tools {
		if strings.Contains(tool.Name, "fs_read") {
			reads = append(reads, tool.Name)
		}
	}
	slices.Sort(reads)
	assert.DeepEqual(t, reads, []string{"files__fs_read", "fs_read", "old__fs_read"})
	text, err := os.ReadFile(audit)
	assert.NilError(t, err)
	assert.Assert(t, cmp.Contains(string(text), `"server":"my.hand","tool":"fail"`))
}

// A call that the HTTP client abandons is cancelled at the server.
func TestCallByHTTPIsCancelled(t *testing.T) {
	self, err := os.Executable()
	assert.NilError(t, err)
	ownHome(t)
	notes, config := newNotes(t), filepath.Join(t.TempDir(), "mcp.json")
	text, err := json.Marshal(
		map[string]any{"mcpServers": map[string]any{
			"hand": map[string]any{"command": self, "args": []string{"fixture:good", notes.path}}}})
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(config, text, 0o600))
	address := serveAPI(t, "--config", config)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan int, 1)
	go func() {
		status, _ := post(ctx, t, address, "hand", `{"action":"hang","confirm":true}`)
		done <- status
	}()
	assert.Equal(t, notes.Line(t), "working\n")
	cancel()
	assert.Equal(t, notes.Line(t), "cancelled\n")
	assert.Equal(t, <-done, 0)
}
