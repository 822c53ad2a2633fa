// Package snippet writes a call of a tool as a command line, in Go, in TypeScript and for curl.
package snippet

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/paramheader"
	"github.com/stdwire/stdwire/internal/shellwords"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Call is a call of a tool.
type Call struct {
	Selector  string // the words that select the server on a command line
	URL       string // of the server; "" for a process
	Era       string // of the connection; "" without one
	Revision  mcp.Revision
	Tool      string
	Arguments string // JSON; another text is written as it is
}

// Of returns the text of a call by language: stdwire, curl, Go and TypeScript.
func Of(c Call) map[string]string {
	if compact, err := jsonscan.AppendCompact(nil, []byte(c.Arguments)); err == nil {
		c.Arguments = string(compact)
	}
	return map[string]string{"stdwire": c.command(), "curl": c.curl(), "Go": c.inGo(),
		"TypeScript": c.typeScript()}
}

func (c *Call) command() string {
	tool, data := shellwords.Quote(c.Tool), " -d "+shellwords.Quote(c.Arguments)
	if strings.HasPrefix(c.Selector, "@") {
		return "stdwire call " + c.Selector + " " + tool + data
	}
	return "stdwire call " + tool + data + " " + c.Selector
}

func (c *Call) curl() string {
	meta := ""
	headers := []string{"Mcp-Session-Id: SESSION"}
	if c.Era == mcp.Modern.String() {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":` + quote(string(c.Revision)) +
			`,"io.modelcontextprotocol/clientInfo":{"name":"curl","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}}`
		headers = []string{"Mcp-Method: tools/call", "Mcp-Name: " + paramheader.Encode(c.Tool)}
	}
	if c.Revision != "" {
		headers = append(headers, "MCP-Protocol-Version: "+string(c.Revision))
	}
	request := shellwords.Quote(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` +
		quote(c.Tool) + `,"arguments":` + c.Arguments + meta + `}}`)
	if c.URL == "" {
		return `printf '%s\n' ` + request + "   # a server on stdio reads this line, after the handshake"
	}
	lines := []string{"curl -sN " + shellwords.Quote(c.URL) + " -H 'Content-Type: application/json'",
		"-H 'Accept: application/json, text/event-stream'"}
	for _, h := range headers {
		lines = append(lines, "-H "+shellwords.Quote(h))
	}
	return strings.Join(append(lines, "-d "+request), " \\\n  ")
}

func (c *Call) inGo() string {
	arguments, connect := "`"+c.Arguments+"`", `client.Spawn(ctx, "SERVER-COMMAND")`
	if strings.Contains(c.Arguments, "`") {
		arguments = strconv.Quote(c.Arguments)
	}
	if c.URL != "" {
		connect = "client.Connect(ctx, streamable.Dial(" + strconv.Quote(c.URL) + "))"
	}
	return "c, err := " + connect + "\nif err != nil {\n\treturn err\n}\ndefer c.Close()\n" +
		"result, err := c.CallTool(ctx, " + strconv.Quote(c.Tool) + ", json.RawMessage(" + arguments + "))"
}

func (c *Call) typeScript() string {
	transport := "new StdioClientTransport({ command: 'SERVER-COMMAND', args: [] })"
	if c.URL != "" {
		transport = "new StreamableHTTPClientTransport(new URL(" + quote(c.URL) + "))"
	}
	return "const client = new Client({ name: 'example', version: '1.0.0' });\nawait client.connect(" +
		transport + ");\nconst result = await client.callTool({ name: " + quote(c.Tool) +
		", arguments: " + c.Arguments + " });"
}

// quote returns a text as JSON, which is also a text of JavaScript.
func quote(text string) string {
	quoted, _ := json.Marshal(text) // of a text there is no error
	return string(quoted)
}
