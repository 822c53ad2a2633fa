package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// serveLateTools is a legacy server that registers its tools after the first tools/list, with a
// notification for each, as servers of the official SDK do.
func serveLateTools(stream io.ReadWriteCloser) {
	tools := 0
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		switch m.Method {
		case mcp.MethodInitialize:
			fmt.Fprintf(stream,
				`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"r","version":"1"}}}`+
					"\n", m.ID)
		case mcp.MethodListTools:
			var all []string
			for i := range tools {
				all = append(all, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i))
			}
			fmt.Fprintf(stream, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`+"\n", m.ID,
				strings.Join(all, ","))
			for ; tools < 4; tools++ {
				time.Sleep(10 * time.Millisecond)
				fmt.Fprintln(stream,
					`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
		default:
			if m.ID != nil {
				fmt.Fprintf(stream,
					`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+
						"\n", m.ID)
			}
		}
	}
}

// A burst of list_changed notifications from a server becomes one for the gateway's clients.
func TestBurstOfChanges(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		clientEnd, serverEnd := net.Pipe()
		w.serving.Go(func() { _ = w.downstream.Serve(context.Background(), serverEnd) })
		heard := make(chan string, 100)
		w.serving.Go(func() {
			for lines := bufio.NewScanner(clientEnd); lines.Scan(); {
				heard <- lines.Text()
			}
		})
		_, err := io.WriteString(clientEnd,
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+
				"\n"+
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
		assert.NilError(t, err)
		<-heard
		assert.NilError(t,
			w.gateway.Add(gateway.Upstream{Server: host.Server{ID: "late",
				Options: client.Options{Era: mcp.Legacy, Logger: quiet},
				Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client,
					error) {
					near, far := net.Pipe()
					w.serving.Go(func() { serveLateTools(far) })
					return o.Connect(ctx, client.Stream(near))
				}}}))
		time.Sleep(time.Minute)
		assert.Equal(t, len(heard), 1)
		assert.Equal(t, <-heard, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		w.client(client.Options{}, func(c *client.Client) {
			assert.DeepEqual(t, w.names(c),
				[]string{"late__t0", "late__t1", "late__t2", "late__t3",
					"up__verbatim"})
		})
		assert.NilError(t, clientEnd.Close())
	})
}
