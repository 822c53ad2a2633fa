package streamable_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/streamable"
)

func TestBatchWithADuplicateAndACancellation(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-03-26", "")
	answers := make(chan *answer, 1)
	go func() {
		answers <- c.post(
			`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold","arguments":{"text":"x"}}},{"jsonrpc":"2.0","id":"held","method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
			"")
	}()
	<-s.begun
	go func() { answers <- c.call(`"held"`, "hold", "x", "") }()
	<-s.begun
	c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "")
	(<-answers).wants(200,
		`[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a request with the id \"held\" is in flight already"}},{"jsonrpc":"2.0","id":2,"result":{}}]`)
	s.release <- struct{}{}
	assert.Equal(t, (<-answers).StatusCode, 200)
	assert.Equal(t, c.post(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"Mcp-Protocol-Version: x").StatusCode, 400)
	assert.Equal(t, s.do(t.Context(), "POST", s.url, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"").StatusCode, 400)
}
