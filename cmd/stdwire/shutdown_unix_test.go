//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// A request that runs when the gateway gets SIGTERM is answered with an error that says so.
func TestShutdownDuringCall(t *testing.T) {
	for method, params := range map[string]string{
		"tools/call":     `{"name":"hang__t"}`,
		"prompts/get":    `{"name":"hang__p"}`,
		"resources/read": `{"uri":"x:r"}`,
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			called := filepath.Join(t.TempDir(), "called")
			p := pipe(t, "serve", "--config", configWith(t, "hang", fixture("hang", called)[1:]))
			t.Cleanup(func() { _ = p.Process.Kill() })
			answers := bufio.NewReader(p.out)
			send := func(id int, method, params string) {
				_, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+
					"\n", id, method, params)
				assert.NilError(t, err)
			}
			send(1, "initialize",
				`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
			line := func() string {
				text, err := answers.ReadString('\n')
				assert.NilError(t, err, p.stderr)
				return text
			}
			_ = line()
			for id, list := range []string{"tools/list", "resources/list", "prompts/list"} {
				send(2+id, list, `{}`)
				for !strings.Contains(line(), fmt.Sprintf(`"id":%d`, 2+id)) {
				}
			}
			send(9, method, params)
			waitFor(t, func() string {
				if _, err := os.Stat(called); err != nil {
					return "the server has not got the request: " + err.Error()
				}
				return ""
			})
			assert.NilError(t, p.Process.Signal(syscall.SIGTERM))
			rest, err := io.ReadAll(answers)
			assert.NilError(t, err)
			assert.NilError(t, p.Wait())
			assert.Assert(t, cmp.Contains(string(rest),
				`"id":9,"error":{"code":-31999,"message":"the gateway is shutting down"}`))
			assert.Assert(t, cmp.Contains(p.stderr.String(), "shutting down"))
		})
	}
}

// configWith returns a configuration with a server of this command.
func configWith(t *testing.T, id string, words []string) string {
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		id: map[string]any{"command": words[0], "args": words[1:]}}})
	assert.NilError(t, err)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	return path
}
