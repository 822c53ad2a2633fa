package config

import (
	_ "embed"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

//go:embed testdata/codex.toml
var codexFile string

func parseTOML(text string) *File {
	return Parse(world(nil, nil),
		Source{Path: "config.toml", Workspace: native("/project"), Rename: true}, []byte(text))
}

func TestCodex(t *testing.T) {
	const want = `files {"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/home/ada"],"cwd":"/project","env":{"DEBUG":"mcp:*"},"inheritEnv":["HTTPS_PROXY","TOKEN"],"startTimeoutMs":20000,"callTimeoutMs":1500,"required":true,"tools":{"allow":["read_file"],"deny":["write_file"]}}
figma {"type":"http","url":"https://mcp.figma.com/mcp","headers":{"Authorization":"Bearer ${env:FIGMA_TOKEN}","X-Figma-Region":"us-east-1","X-Key":"${env:FIGMA_KEY}"},"disabled":true}
Brave-Search {"command":"brave","env":{"BRAVE_API_KEY":"k"}}
warning: config.toml:22:20: server "files": unknown field "tools"; it does nothing here
warning: config.toml:32:14: server "Brave-Search": it was called "Brave Search", which is not a valid id
`
	assert.Equal(t, shown(parseTOML(codexFile)), want)
	crlf := strings.ReplaceAll(codexFile, "\n", "\r\n")
	assert.Equal(t, shown(parseTOML("\xEF\xBB\xBF"+crlf)), want)
	// From standard input there is no extension.
	f := Parse(world(nil, nil), Source{Path: "stdin", Rename: true}, []byte(codexFile))
	assert.Equal(t, shown(f), strings.ReplaceAll(want, "config.toml", "stdin"))
}

func TestCodexErrors(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"", ""}, {"mcp_servers = {}", ""},
		{"model = 'x'", "warning: config.toml:1:1: the file has no servers: there is nothing under mcp_servers\n"},
		{"[mcp_server.a]\n",
			"warning: config.toml:1:2: the file has no servers under mcp_servers; \"mcp_server\" is none of these: did you mean mcp_servers?\n"},
		{"mcp_servers = 1",
			"error: config.toml:1:15: mcp_servers must be an object of servers by their ids, not a number\n"},
		{"[mcp_servers.a]\ncommand = 'x\n", "error: config.toml:2:11: a string has no end on its line\n"},
		{"é = 'secret'", "error: config.toml:1:1: a key is missing before 'é'; a key has letters, digits, '_' and '-', or quotation marks around it\n"},
		{"[mcp_servers.a]\nurl = 'https://x'\nbearer_token_env_var = 'sk-secret'",
			"a broken\nerror: config.toml:3:24: server \"a\": bearer_token_env_var: \"sk-secret\" cannot be the name of a variable\n"},
		{"[mcp_servers.a]\nurl = 'https://x'\nbearer_token_env_var = 'A'\nhttp_headers = { authorization = 'x' }",
			"a broken\nerror: config.toml:4:16: server \"a\": headers: \"Authorization\" and \"authorization\" are the same header; remove one of them\n"},
		{"[mcp_servers.a]\ncommand = 'x'\nenv_vars = [1]",
			"a broken\nerror: config.toml:3:13: server \"a\": env_vars must be an array of names of variables\n"},
		{"[mcp_servers.a]\ncommand = 'x'\nenv_vars = 1",
			"a broken\nerror: config.toml:3:12: server \"a\": env_vars must be an array of names, not a number\n"},
		{"[mcp_servers.a]\ncommand = 'x'\ntool_timeout_sec = -1",
			"a broken\nerror: config.toml:3:20: server \"a\": tool_timeout_sec must be a number of seconds, 30 days at most; 0 means no limit\n"},
		{"a = " + strings.Repeat("[", 99) + strings.Repeat("]", 99) + "\n[mcp_servers]",
			""},
	} {
		assert.Equal(t, shown(parseTOML(tt.file)), tt.want, "%.100s", tt.file)
	}
}
