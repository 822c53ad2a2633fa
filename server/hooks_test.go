package server_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server"
)

type halves struct {
	io.Reader
	io.Writer
}

func (halves) Close() error { return nil }

// The context of the Frame hook contains the connection of a message, with the name of its client.
func TestHooksKnowTheConnection(t *testing.T) {
	var mu sync.Mutex
	seen := map[*server.Conn][]string{} // by connection, the client's name at each message
	o := server.Options{Hooks: rpc.Hooks{
		Frame: func(ctx context.Context, _ rpc.Direction, _ []byte) {
			mu.Lock()
			defer mu.Unlock()
			c := server.ConnFrom(ctx)
			seen[c] = append(seen[c], server.ClientFrom(ctx).Name)
		}}}
	s := o.New(server.Info{Name: "s", Version: "1"}, dispatch.NewCatalog())
	long := strings.Repeat("x", 200)
	for _, name := range []string{"a", long} {
		in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` +
			`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"` + name +
			`","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n")
		assert.NilError(t, s.Serve(t.Context(), halves{in, io.Discard}))
	}
	names := map[string]int{}
	for _, all := range seen {
		assert.Equal(t, len(all), 4)
		assert.Equal(t, all[0], "")
		names[all[3]]++
	}
	assert.DeepEqual(t, names, map[string]int{"a": 1, long[:128] + "…": 1})
}
