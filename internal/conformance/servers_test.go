//go:build linux

package conformance_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
)

// stdwire runs the binary, checks all its messages to the server, and asserts that nothing is left
// running.
func (b *bench) stdwire(args []string, server ...string) outcome {
	b.t.Helper()
	command := append([]string{binary(b.t)}, args...)
	o := b.run(append(append(command, "--"), b.tapped("record", server...)...)...)
	b.ended()
	return o
}

type listed struct {
	Name        string
	InputSchema json.RawMessage
}

// tools lists the tools of a server.
func (b *bench) tools(server ...string) (names []string) {
	b.t.Helper()
	o := b.stdwire([]string{"tools", "-o", "json"}, server...)
	assert.Equal(b.t, o.code, 0, "%v", o)
	var tools []listed
	assert.NilError(b.t, json.Unmarshal([]byte(o.stdout), &tools), "%v", o)
	for _, tool := range tools {
		assert.Assert(b.t, len(tool.InputSchema) > 0, "%s", tool.Name)
		names = append(names, tool.Name)
	}
	// As text, the list has the same names.
	o = b.stdwire([]string{"tools"}, server...)
	assert.Equal(b.t, o.code, 0, "%v", o)
	for _, name := range names {
		assert.Assert(b.t, strings.Contains("\n"+o.stdout, "\n"+name+"("), "%v", o)
	}
	b.checkClient("record")
	return names
}

// A call is a call of a real server, with its expected result.
type call struct {
	args           []string
	code           int
	stdout, stderr string // parts of the output
}

func (b *bench) calls(server []string, calls ...call) {
	b.t.Helper()
	for _, c := range calls {
		o := b.stdwire(append([]string{"call"}, c.args...), server...)
		assert.Equal(b.t, o.code, c.code, "%q: %v", c.args, o)
		assert.Assert(b.t, strings.Contains(o.stdout, c.stdout), "%q: %v", c.args, o)
		assert.Assert(b.t, strings.Contains(o.stderr, c.stderr), "%q: %v", c.args, o)
		if c.code == 0 {
			assert.Equal(b.t, o.stderr, "")
		} else {
			assert.Equal(b.t, o.stdout, "")
		}
	}
	b.checkClient("record")
}

// builtinTools returns the tools of stdwire serve, by its manifest.
func builtinTools(t *testing.T) (names []string) {
	t.Helper()
	text, err := exec.Command(binary(t), "manifest").Output()
	assert.NilError(t, err)
	var manifest struct{ Operations []struct{ Name string } }
	assert.NilError(t, json.Unmarshal(text, &manifest))
	for _, op := range manifest.Operations {
		names = append(names, strings.ReplaceAll(op.Name, ".", "_"))
	}
	assert.Assert(t, slices.Contains(names, "fs_read"))
	return names
}

// The client and the server of this module in both eras.
func TestOwnClientOnOwnServer(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy", "auto"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			assert.NilError(t, conformance.FillRoot(b.path("root")))
			server := []string{binary(t), "serve", "--root", "root"}
			assert.DeepEqual(t, b.tools(server...), builtinTools(t))
			b.calls(server,
				call{args: []string{"fs_read", "path=hello.txt", "--era", era},
					stdout: "Hello, world."},
				call{args: []string{"fs_read", "path=missing.txt", "--era", era}, code: 5,
					stderr: "missing.txt"},
				call{args: []string{"fs_read", "path:=5", "--no-validate", "--era", era}, code: 2,
					stderr: "path"},
				call{args: []string{"fs_search", "pattern=nowhere to be found", "--timeout",
					"200ms", "--era", era}, code: 6, stderr: "fs_search"},
			)
			b.checkServer("record")
			b.unanswered("record", "fs_search")
		})
	}
}

func TestServerEverything(t *testing.T) {
	b := newNodeBench(t)
	server := []string{"mcp-server-everything"}
	assert.Assert(t, slices.Contains(b.tools(server...), "get-structured-content"))
	b.calls(server,
		call{args: []string{"echo", "message=hi"}, stdout: "Echo: hi"},
		call{args: []string{"get-sum", "a=2", "b:=3", "-o", "json"},
			stdout: "The sum of 2 and 3 is 5."},
		call{args: []string{"get-structured-content", "location=Chicago", "-o", "json"},
			stdout: `"structuredContent":{`},
		call{args: []string{"get-tiny-image"}, stdout: "[image image/png"},
		call{args: []string{"trigger-long-running-operation", "duration=0.2", "steps=2"},
			stdout: "completed"},
		call{args: []string{"trigger-long-running-operation", "duration=60", "steps=2", "--timeout",
			"1s"}, code: 6, stderr: "no answer after 1s"},
		call{args: []string{"get-sum", "a=x", "b=3"}, code: 2, stderr: "a must be a number, not \"x\""},
		call{args: []string{"get-sum", "a=x", "b=3", "--no-validate"}, code: 5,
			stderr: "expected number"},
		call{args: []string{"nothing"}, code: 5, stderr: "no such tool"},
	)
}

func TestServerFilesystem(t *testing.T) {
	b := newNodeBench(t)
	b.write("root/hello.txt", "Hello, world.\n")
	server := []string{"mcp-server-filesystem", b.path("root")}
	assert.Assert(t, slices.Contains(b.tools(server...), "read_text_file"))
	b.calls(server,
		call{args: []string{"read_text_file", "path=" + b.path("root/hello.txt")},
			stdout: "Hello, world."},
		call{args: []string{"list_directory", "path=" + b.path("root")},
			stdout: "[FILE] hello.txt"},
		call{args: []string{"write_file", "path=" + b.path("root/new.txt"), "content=012"}},
		call{args: []string{"read_text_file", "path=/etc/passwd"}, code: 5, stderr: "denied"},
	)
	written, err := os.ReadFile(b.path("root/new.txt"))
	assert.NilError(t, err)
	assert.Equal(t, string(written), "012")
}

func TestServerMemory(t *testing.T) {
	b := newNodeBench(t)
	server := []string{"env", "MEMORY_FILE_PATH=" + b.path("memory.json"), "mcp-server-memory"}
	assert.Assert(t, slices.Contains(b.tools(server...), "read_graph"))
	b.calls(server,
		call{args: []string{"create_entities",
			`entities:=[{"name":"Ada","entityType":"person","observations":["counts"]}]`},
			stdout: "Ada"},
		call{args: []string{"read_graph", "-o", "json"}, stdout: "counts"},
	)
}

func TestServerSequentialThinking(t *testing.T) {
	b := newNodeBench(t)
	server := []string{"mcp-server-sequential-thinking"}
	assert.DeepEqual(t, b.tools(server...), []string{"sequentialthinking"})
	b.calls(server, call{
		args: []string{"sequentialthinking", "thought=so", "nextThoughtNeeded=false",
			"thoughtNumber=1", "totalThoughts=1"},
		stdout: `"thoughtHistoryLength": 1`,
	})
}

// Without a browser, this server can only list its tools.
func TestServerChromeDevTools(t *testing.T) {
	b := newNodeBench(t)
	// It starts two processes in sessions of their own, which nobody can end and which exit later:
	// not here.
	names := b.tools("env", "CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS=1", "chrome-devtools-mcp",
		"--no-usage-statistics")
	assert.Assert(t, slices.Contains(names, "navigate_page"), "%v", names)
}

// npx starts the server as a grandchild, through a shell.
func TestServerThroughNpx(t *testing.T) {
	b := newNodeBench(t)
	server := []string{"npx", "-y", "@modelcontextprotocol/server-everything@2026.8.31"}
	assert.Assert(t, slices.Contains(b.tools(server...), "echo"))
	b.calls(server, call{args: []string{"echo", "message=hi"}, stdout: "Echo: hi"})
}
