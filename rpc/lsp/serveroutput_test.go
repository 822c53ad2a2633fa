package lsp_test

import (
	"io"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/lsp"
)

// Text that a server prints before, between, inside and after its messages ends no call but that
// whose response it destroys.
func TestServerOutput(t *testing.T) {
	frame := func(payload string) string {
		framed, err := framing.ContentLength(nil, framing.Limits{}).AppendFrame(nil,
			[]byte(payload))
		assert.NilError(t, err)
		return string(framed)
	}
	responses := []string{
		"Server v1.0 started\n\r\n" + frame(`{"jsonrpc":"2.0","id":1,"result":"one"}`) + "\r\n",
		"Info: loading…" + frame(`{"jsonrpc":"2.0","id":2,"result":"two"}`),
		`{"level":"info"}` + "\nContent-Length: 4 bytes\n" +
			frame(`{"jsonrpc":"2.0","id":3,"result":"three"}`) + "bye",
	}
	for name, tt := range map[string]struct {
		framing framing.Framing
		log     string
	}{
		"with a log": {log: "Server v1.0 started|Info: loading…|{\"level\":\"info\"}|" +
			"Content-Length: 4 bytes|bye|"},
		"without": {framing: lsp.ServerOutput(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			framed := tt.framing
			if framed == nil {
				framed = lsp.ServerOutput(func(text []byte) { log.WriteString(string(text) + "|") })
			}
			in, server := io.Pipe()
			requests, out := io.Pipe()
			editor := rpc.Options{Framing: framed}.New(struct {
				io.Reader
				io.Writer
				io.Closer
			}{in, out, in})
			read := framing.ContentLength(requests, framing.Limits{})
			go func() {
				for _, response := range responses {
					_, err := read.ReadFrame(nil)
					assert.Check(t, err)
					_, _ = io.WriteString(server, response)
				}
				_ = server.Close()
			}()
			for _, want := range []string{"one", "two", "three"} {
				var got string
				assert.NilError(t, editor.Call(t.Context(), "m", nil, &got))
				assert.Equal(t, got, want)
			}
			assert.Equal(t, editor.Wait(), io.EOF)
			assert.Equal(t, log.String(), tt.log)
		})
	}
}
