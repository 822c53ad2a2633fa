package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

// transcriptStock has names and texts that are wide, long, hostile or combined.
const transcriptStock = `{"tools":[
{"name":"roll","description":"Rolls dice, as many as you say, and adds what they show; the sum is between the number of dice and six times as much.","inputSchema":{"type":"object","properties":{"dice":{"type":"integer","description":"How many dice are rolled; each of them has six sides and shows a number from one to six.","default":2},"名前":{"type":"string","description":"誰が振るか"},"e\u0301t\u00e9":{"type":"boolean"}},"required":["dice"]}},
{"name":"paint","description":"Sets \u001b[31mcolours\u001b[0m.","inputSchema":{"type":"object","properties":{"🎨":{"type":"string","enum":["red","green"]},"plain":{"type":"string","description":"no emoji"}}},"annotations":{"readOnlyHint":true}}],
"prompts":[{"name":"greet","description":"A greeting.","arguments":[{"name":"who","required":true},{"name":"how"}]}]}`

const transcriptRecording = `{"t":0,"at":"2026-01-02T03:04:05Z","kind":"start","version":1,"command":["server"]}
{"t":0.1,"n":1,"from":"client","kind":"request","id":1,"method":"tools/call","subject":"roll","size":80,"frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"roll"}}}
{"t":0.25,"n":2,"from":"server","kind":"response","id":1,"method":"tools/call","subject":"roll","request_frame":1,"ms":150,"size":90,"failed":"error -32602","frame":{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no dice"}}}
{"t":0.3,"n":3,"from":"server","kind":"junk","size":9,"text":"Starting…"}
{"t":0.4,"kind":"end","status":0,"seconds":0.4}
`

// The output of commands, piped and on terminals of several widths. Accept a difference with: go
// test ./cmd/stdwire -run Transcripts -update
func TestTranscripts(t *testing.T) {
	ownHome(t)
	stock := strings.ReplaceAll(transcriptStock, "\n", "") // a message is one line
	server, relist := listServer(t, stock)
	dir := t.TempDir()
	config := filepath.Join(dir, "mcp.json")
	text, err := json.MarshalIndent(obj{"mcpServers": obj{"stock": server,
		"asleep": obj{"command": "x", "disabled": true},
		"lost":   obj{"command": "x", "args": []string{"${env:STDWIRE_TEST_NOT_SET}"}}}}, "", " ")
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(config, text, 0o600))
	talk := filepath.Join(dir, "talk.jsonl")
	assert.NilError(t, os.WriteFile(talk, []byte(transcriptRecording), 0o600))
	page := filepath.Join(dir, "page.txt")
	assert.NilError(t, os.WriteFile(page, []byte("one 1\n二 2\n"), 0o600))
	assert.Equal(t, run(t, "pin", "accept", "-s", "stock", "--config", config).code, 0)
	relist(strings.Replace(strings.Replace(stock, "Rolls dice", "Obey", 1),
		`"default":2`, `"minimum":1`, 1))

	for name, capture := range map[string]func() termtest.Captured{
		"plain": func() termtest.Captured { return termtest.Capture(false) },
		"60":    func() termtest.Captured { return termtest.CaptureTerminal(60) },
		"80":    func() termtest.Captured { return termtest.CaptureTerminal(80) },
		"160":   func() termtest.Captured { return termtest.CaptureTerminal(160) },
	} {
		var b strings.Builder
		for _, args := range []string{
			"ls -s stock", "ls tools -s stock", "ls prompts -s stock -o json", "tools -s stock",
			"inspect roll -s stock", "inspect paint -s stock", "scan -s stock", "pin diff -s stock",
			"config check", "pin list", "call nothing -s stock", "tap show " + talk,
			"tap show -o json " + talk, "call fs_search pattern=[12] path=page.txt --root " + dir,
			"stop --help", "cal",
		} {
			c := capture()
			words := strings.Fields(args)
			if strings.Contains(args, "-s stock") || words[0] == "config" {
				words = append(words, "--config", config)
			}
			code := execute(t.Context(), words, c.Streams)
			assert.NilError(t, c.Out.Flush())
			b.WriteString("$ stdwire " + strings.Join(words, " ") + "\n" + c.Stdout.String())
			stderr := c.Stderr.String()
			if words[0] == "config" { // where it is wrapped depends on the path of the file
				stderr = strings.ReplaceAll(stderr, "\n  ", " ")
			}
			for line := range strings.Lines(stderr) {
				b.WriteString("2> " + line)
			}
			fmt.Fprintf(&b, "exit code %d\n\n", code)
		}
		shown := strings.NewReplacer(config, "CONFIG", talk, "TALK", dir, "DIR", "\x1b", "␛",
			"exit code 0\n", "").Replace(b.String())
		golden.Assert(t, shown, "transcript-"+name+".txt")
	}
}
