//go:build linux

package conformance_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// searching returns a gateway of the binary itself that shows its tools as mode says.
func (b *bench) searching(mode string) []string {
	b.t.Helper()
	b.write("root/hello.txt", "Hello, world.\n")
	own := configured{Command: binary(b.t), Args: []string{"serve", "--root", "root", "--write"}}
	return b.gateway(map[string]configured{"files": own}, "--discover", mode)
}

// searchTools are what is listed in place of all tools.
var searchTools = []string{"call_tool_destructive", "call_tool_read", "call_tool_write",
	"find_tool"}

// The clients of the official SDKs find tools, call them by what calls others and by their names,
// and get the lists that the mode says.
func TestSDKClientsFindTools(t *testing.T) {
	script, err := os.ReadFile("node/toolsearch.mjs")
	assert.NilError(t, err)
	for i, mode := range []string{"search", "auto:3", "search", "auto:1000"} {
		c := sdkClients[i]
		t.Run(c.name+" "+mode, func(t *testing.T) {
			t.Parallel()
			b := newNodeBench(t)
			b.write("toolsearch.mjs", string(script))
			what, err := json.Marshal(map[string]any{"sdk": c.sdk, "era": c.era,
				"command": b.tapped("record", b.searching(mode)...)})
			assert.NilError(t, err)
			o := b.must("node", "toolsearch.mjs", string(what))
			var got struct {
				Tools                         []string
				Found                         []struct{ Name, Call string }
				Read, Failed, Refused, Direct toolResult
			}
			assert.NilError(t, json.Unmarshal([]byte(o.stdout), &got), "%v", o)
			b.checkServer("record")
			assert.Equal(t, got.Direct.result(t).Data.Content, "Hello, world.\n")
			if mode == "auto:1000" {
				assert.Assert(t, slices.Contains(got.Tools, "files__fs_read"), "%v", got.Tools)
				assert.Assert(t, !slices.Contains(got.Tools, "find_tool"))
				return
			}
			assert.DeepEqual(t, got.Tools, searchTools)
			assert.Equal(t, got.Found[0].Name+" "+got.Found[0].Call,
				"files__fs_read call_tool_read")
			assert.Equal(t, got.Read.result(t).Data.Content, "Hello, world.\n")
			assert.Equal(t, got.Failed.result(t).Error.Code, "not_found")
			assert.Assert(t, got.Refused.IsError)
			assert.Assert(t, cmp.Contains(got.Refused.Content[0].Text,
				"call it with call_tool_destructive"))
		})
	}
}

// So does the inspector's command line, whose checks of schemas take those of the tools that find
// and call others.
func TestInspectorFindsTools(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			b := newNodeBench(t)
			command := b.searching("search")
			for _, c := range []struct {
				args []string
				code int
				want string
			}{
				{[]string{"tools/list", "--strict"}, 0, `"name":"find_tool"`},
				{[]string{"tools/call", "--tool-name", "find_tool", "--tool-arg",
					"query=read a file"}, 0, `"call":"call_tool_read"`},
				{[]string{"tools/call", "--tool-name", "call_tool_read", "--tool-arg",
					"name=files__fs_read", `arguments={"path":"hello.txt"}`}, 0, "Hello, world."},
			} {
				o := b.run(slices.Concat([]string{"mcp-inspector", "--cli", "--format", "json",
					"--protocol-era", era, "--method"}, c.args, []string{"--"},
					b.tapped("record", command...))...)
				assert.Equal(t, o.code, c.code, "%v: %v", c.args, o)
				assert.Assert(t, strings.Contains(o.stdout, c.want), "%v: %v", c.args, o)
			}
			b.checkServer("record")
		})
	}
}
