//go:build linux

package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"gotest.tools/v3/assert"
)

var languageServer = built("languageserver", "../examples/languageserver")

// An editor may send shutdown and exit without waiting: all requests before exit are answered.
func TestLanguageServerExampleExits(t *testing.T) {
	t.Parallel()
	server, err := languageServer()
	assert.NilError(t, err)
	var input bytes.Buffer
	for _, message := range []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
		`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`, `{"jsonrpc":"2.0","method":"exit"}`} {
		fmt.Fprintf(&input, "Content-Length: %d\r\n\r\n%s", len(message), message)
	}
	for range 10 {
		cmd := exec.CommandContext(t.Context(), server, "--stdio")
		cmd.Stdin = bytes.NewReader(input.Bytes())
		out, err := cmd.Output()
		assert.NilError(t, err)
		for _, id := range []string{`"id":1,"result":{`, `"id":2,"result":null`} {
			assert.Assert(t, bytes.Contains(out, []byte(id)), "%s", out)
		}
	}
}

// The example language server with the client library of Visual Studio Code, on each stream that an
// editor may choose.
func TestLanguageServerExample(t *testing.T) {
	t.Parallel()
	server, err := languageServer()
	assert.NilError(t, err)
	script, err := os.ReadFile("node/lspclient.mjs")
	assert.NilError(t, err)
	for _, transport := range []string{"stdio", "pipe", "socket"} {
		t.Run(transport, func(t *testing.T) {
			b := newNodeBench(t)
			b.write("lspclient.mjs", string(script))
			argument, err := json.Marshal(map[string]string{"command": server,
				"transport": transport})
			assert.NilError(t, err)
			o := b.must("node", "lspclient.mjs", string(argument))

			var seen struct {
				Initialize struct {
					Capabilities struct{ HoverProvider bool }
				}
				Diagnostics struct {
					Diagnostics []struct {
						Range struct{ Start, End struct{ Line, Character int } }
					}
				}
				Hover                       struct{ Contents string }
				Unknown, Invalid, Cancelled failed
				Shutdown                    json.RawMessage
				Exit                        int
			}
			assert.NilError(t, json.Unmarshal([]byte(o.stdout), &seen), "%v", o)
			assert.Assert(t, seen.Initialize.Capabilities.HoverProvider)
			assert.Equal(t, len(seen.Diagnostics.Diagnostics), 1)
			found := seen.Diagnostics.Diagnostics[0].Range
			assert.Equal(t, found.Start.Line, 1)
			assert.Equal(t, found.Start.Character, 3) // in UTF-16
			assert.Equal(t, found.End.Character, 7)
			assert.Equal(t, seen.Hover.Contents, "waves has 5 letters")
			assert.Equal(t, seen.Unknown.Code, -32601.0)
			assert.Equal(t, seen.Invalid.Code, -32602.0)
			assert.Equal(t, seen.Invalid.Message,
				"params.textDocument.uri: want a string, not a number")
			assert.Equal(t, seen.Cancelled.Code, -32800.0)
			assert.Equal(t, string(seen.Shutdown), "null")
			assert.Equal(t, seen.Exit, 0)
			b.ended()
		})
	}
}
