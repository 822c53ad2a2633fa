//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Over HTTP each legacy session has its own process of an unshared server, with its own roots and
// logs. The process ends with the session or the gateway. Modern clients and those of the HTTP API
// have no session: they get an error that says why, and no process.
func TestServeOwnProcesses(t *testing.T) {
	ownRuntime(t)
	notes := newNotes(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	program, err := os.Executable()
	assert.NilError(t, err)
	text, err := json.Marshal(
		map[string]any{"mcpServers": map[string]any{
			"own": map[string]any{"command": program,
				"args": []string{"fixture:roots", notes.path}, "perSession": true}}})
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	cmd, _, _ := stdwire(t, "serve", "--config", path, "--http", "127.0.0.1:0", "--no-auth")
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	line := ""
	for !strings.Contains(line, "MCP at ") { // servers may start before
		line, err = lines.ReadString('\n')
		assert.NilError(t, err)
	}
	_, address, _ := strings.Cut(line, "MCP at ")
	address, _, ok := strings.Cut(address, ",")
	assert.Assert(t, ok, line)
	go func() { _, _ = io.Copy(io.Discard, lines) }()

	logs := make(chan string, 100)
	connect := func(era mcp.Era, roots ...mcp.Root) *client.Client {
		o := client.Options{Era: era, Roots: roots, LogLevel: mcp.LevelDebug,
			OnLog: func(m mcp.LoggingMessageParams) {
				logs <- m.Logger + " " + string(m.Data)
			}}
		c, err := o.Connect(t.Context(), streamable.Dial(address))
		assert.NilError(t, err)
		return c
	}
	call := func(c *client.Client, tool string) string {
		t.Helper()
		result, err := c.CallTool(t.Context(), tool, nil)
		assert.NilError(t, err)
		return result.Content[0].(*mcp.TextContent).Text
	}
	me := func(c *client.Client) string {
		t.Helper()
		pid := call(c, "own__me")
		assert.Equal(t, <-logs, "own/l "+pid)
		return pid
	}
	a, b := connect(mcp.Legacy, mcp.Root{URI: "file:///a"}),
		connect(mcp.Legacy, mcp.Root{URI: "file:///b"})
	c, d := connect(mcp.Modern), connect(mcp.Modern)
	assert.Equal(t, call(a, "own__roots"), `[{"uri":"file:///a"}]`)
	assert.Equal(t, call(b, "own__roots"), `[{"uri":"file:///b"}]`)
	pids := map[string]bool{me(a): true, me(b): true}
	assert.Equal(t, len(pids), 2)
	const why = `server "own" has a process for each client, and the request has no session: use it on stdio or, over HTTP, in a session`
	for _, modern := range []*client.Client{c, d} {
		_, err := modern.CallTool(t.Context(), "own__me", nil)
		assert.ErrorContains(t, err, why)
		for tool, err := range modern.Tools(t.Context()) {
			assert.NilError(t, err)
			assert.Assert(t, !strings.HasPrefix(tool.Name, "own__"), tool.Name)
		}
	}
	status, answer := post(t.Context(), t, strings.TrimSuffix(address, "/mcp"), "own",
		`{"action":"me","params":{},"confirm":true}`)
	assert.Equal(t, status, 409, answer)
	assert.Assert(t, strings.Contains(answer, `"code":"state_error"`) &&
		strings.Contains(answer, "the request has no session"), answer)
	ends := "ended " + me(a) + "\n"
	assert.NilError(t, a.Close())
	assert.Equal(t, notes.Line(t), ends)
	assert.Assert(t, pids[me(b)])

	assert.NilError(t, cmd.Process.Signal(os.Interrupt))
	assert.Equal(t, exitCode(cmd.Wait()), 0)
	assert.Equal(t, strings.Count(notes.all(t), "ended "), 2, "one more, and the gateway's own")
	for _, c := range []*client.Client{b, c, d} {
		_ = c.Close()
	}
}
