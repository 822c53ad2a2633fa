//go:build unix

package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/framing"
	"gotest.tools/v3/assert"
)

func byLength(payloads ...string) string {
	var stream []byte
	for _, p := range payloads {
		stream, _ = framing.ContentLength(nil, framing.Limits{}).AppendFrame(stream, []byte(p))
	}
	return string(stream)
}

func TestBridge(t *testing.T) {
	t.Parallel()
	const pretty = "{\r\n  \"id\": 1,\n  \"text\": \"a b\\n\"\n}\n"
	for _, tt := range []struct {
		name           string
		flags, server  []string
		in, out, error string
		code           int
	}{
		{"a server with lengths", nil, []string{"cat"}, "{\"a\":1}\r\n[2]\n", "{\"a\":1}\n[2]\n",
			"", 0},
		{"a server with lines", nil, []string{"cat"}, byLength(`{"a":1}`, `[2]`),
			byLength(`{"a":1}`, `[2]`), "", 0},
		{"what the server gets by length", nil,
			[]string{"sh", "-c", `tr -d '\r\n' | sed 's/^.*$/["&"]/'`}, "{}\n",
			"[\"Content-Length: 2{}\"]\n", "", 0},
		{"line breaks", nil, []string{"cat"}, byLength(pretty), byLength(`{"id":1,"text":"a b\n"}`),
			"", 0},
		{"line breaks in what is no JSON", nil, []string{"cat"}, byLength("a\nb", `{}`),
			byLength(`{}`),
			"stdwire: bridge: a message of the client is skipped: framing: line break at byte 1 of a newline frame: remove or escape it\n",
			0},
		{"a log on stdout", nil, []string{"sh", "-c", "echo 'Starting \x1b[1m…'; cat; exit 5"},
			byLength(`{}`), byLength(`{}`), "Starting …\n", 5},
		{"the same on both sides", []string{"--framing", "newline"}, []string{"cat"}, "{}\nx\n",
			"{}\nx\n", "", 0},
		{"lines to lengths and back", []string{"--framing=content-length"}, []string{"cat"},
			byLength(pretty), byLength(pretty), "", 0},
		{"a client that loses count", nil, []string{"cat"}, byLength(`{}`) +
			"Content-Length: x\r\n\r\n", byLength(`{}`),
			"stdwire: bridge: further messages of the client cannot be forwarded: framing: lost the frame boundary: Content-Length \"x\" is not a number of bytes\n",
			0},
		{"a client that says nothing", nil, []string{"sh", "-c", "echo '{}'; read line; exit 3"},
			"", "{}\n", "", 3},
	} {
		cmd, stdout, stderr := stdwire(t,
			append(append(append([]string{"bridge"}, tt.flags...), "--"), tt.server...)...)
		cmd.Stdin = strings.NewReader(tt.in)
		assert.Equal(t, exitCode(cmd.Run()), tt.code, tt.name)
		assert.Equal(t, stdout.String(), tt.out, tt.name)
		assert.Equal(t, stderr.String(), tt.error, tt.name)
	}
	got := run(t, "bridge")
	assert.Equal(t, got.code, 2)
	got = run(t, "bridge", "--framing", "lines", "--", "cat")
	assert.Equal(t, got.code, 2)
	assert.Assert(t,
		strings.HasPrefix(got.stderr,
			"stdwire: bridge: --framing: \"lines\" is not one of newline, content-length"),
		got.stderr)
}

// A client and a server may have any two framings.
func TestBridgeOfEveryFraming(t *testing.T) {
	t.Parallel()
	for _, client := range framing.Formats() {
		c := client.Framing(nil, framing.Limits{})
		in, err := c.AppendFrame(nil, []byte(`{"a":1}`))
		assert.NilError(t, err)
		in, err = c.AppendFrame(in, []byte(`[2]`))
		assert.NilError(t, err)
		for _, server := range framing.Formats() {
			cmd, stdout, stderr := stdwire(t, "bridge", "--framing", server.Name, "--", "cat")
			cmd.Stdin = strings.NewReader(string(in))
			assert.NilError(t, cmd.Run(), "%s to %s: %s", client.Name, server.Name, stderr)
			assert.Equal(t, stdout.String(), string(in), "%s to %s", client.Name, server.Name)
		}
	}
}

// Each message is forwarded at once, and a client with Content-Length framing can use a server with
// newline framing.
func TestBridgeToAServer(t *testing.T) {
	p := pipe(t, append([]string{"bridge", "--framing", "newline"}, fixture("good")...)...)
	codec := framing.ContentLength(p.out, framing.Limits{})
	for range 3 {
		_, err := io.WriteString(p.in,
			byLength("{\n\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"refuse\"}}"))
		assert.NilError(t, err)
		answer, err := codec.ReadFrame(nil)
		assert.NilError(t, err)
		assert.Equal(t, string(answer),
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"not with \u001b[31mthese"}}`)
	}
	assert.NilError(t, p.in.Close())
	assert.NilError(t, p.Wait())
}
