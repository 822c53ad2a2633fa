package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const (
	benchServers = 200
	benchTools   = 30
)

// benchTool returns the definition of a tool of about 750 bytes.
func benchTool(i int) json.RawMessage {
	var properties []string
	for p := range 6 {
		properties = append(properties, fmt.Sprintf(
			`"option%d":{"type":"string","description":"What this option of tool %d says."}`, p, i))
	}
	return fmt.Appendf(nil, `{"name":"tool%d","description":"Does what tools of servers do: %s",`+
		`"inputSchema":{"type":"object","properties":{%s},"required":["option0"]},`+
		`"annotations":{"readOnlyHint":true}}`, i, strings.Repeat("it works. ", 15),
		strings.Join(properties, ","))
}

// benchGateway connects a gateway to 200 servers in memory with 30 tools each, which offers them at
// downstreams.
func benchGateway(b *testing.B, downstreams int) (g *gateway.Gateway, all []*server.Server,
	stop func()) {
	up := server.Options{Logger: quiet}.New(server.Info{Name: "up", Version: "1"}, nil)
	for i := range benchTools {
		assert.NilError(b, up.Integration().AddItem(server.Item{Kind: mcp.KindTool,
			Definition: benchTool(i), Use: func(context.Context, string, json.RawMessage) (
				json.RawMessage, error) {
				return json.RawMessage(`{"content":[]}`), nil
			}}))
	}
	ctx, cancel := context.WithCancel(b.Context())
	var ids []string
	for i := range benchServers {
		ids = append(ids, fmt.Sprint("server", i))
	}
	for range downstreams {
		all = append(all, server.Options{Logger: quiet}.New(server.Info{Name: "gateway",
			Version: "1"}, nil))
	}
	g = gateway.Options{Logger: quiet}.New(all[0])
	for _, s := range all[1:] {
		gateway.DeclareOffers(s)
		g.Offer(s, ids...)
	}
	for _, id := range ids {
		assert.NilError(b, g.Add(gateway.Upstream{Server: host.Server{ID: id,
			Connect: func(ctx2 context.Context, _ string, o client.Options) (*client.Client,
				error) {
				near, far := net.Pipe()
				go func() { _ = up.Serve(ctx, far) }()
				return o.Connect(ctx2, client.Stream(near))
			}}}))
	}
	g.Settle(b.Context())
	return g, all, func() {
		g.Close()
		cancel()
	}
}

// heapAfterGC returns the bytes of reachable memory.
func heapAfterGC() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkGatewayStart connects a gateway to 200 servers with 30 tools each. It reports the memory
// that remains in use, for one downstream server and for four.
func BenchmarkGatewayStart(b *testing.B) {
	for _, downstreams := range []int{1, 4} {
		b.Run(fmt.Sprint(downstreams), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				before := heapAfterGC()
				g, all, stop := benchGateway(b, downstreams)
				b.StopTimer()
				b.ReportMetric(float64(heapAfterGC()-before)/(1<<20), "MiB-in-use")
				runtime.KeepAlive(g)
				runtime.KeepAlive(all)
				stop()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkGatewayList reads all pages of the 6,000 tools.
func BenchmarkGatewayList(b *testing.B) {
	_, all, stop := benchGateway(b, 1)
	defer stop()
	for _, era := range eras {
		b.Run(fmt.Sprint(era), func(b *testing.B) {
			near, far := net.Pipe()
			go func() { _ = all[0].Serve(b.Context(), far) }()
			defer near.Close()
			from := bufio.NewReaderSize(near, 1<<16)
			meta := ""
			if era == mcp.Modern {
				meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
					`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` +
					`"io.modelcontextprotocol/clientCapabilities":{}}`
			} else {
				_, err := io.WriteString(near, `{"jsonrpc":"2.0","id":0,"method":"initialize",`+
					`"params":{"protocolVersion":"2025-11-25","capabilities":{},`+
					`"clientInfo":{"name":"c","version":"1"}}}`+"\n"+
					`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
				assert.NilError(b, err)
				_, err = from.ReadBytes('\n')
				assert.NilError(b, err)
			}
			b.ReportAllocs()
			var line []byte
			for b.Loop() {
				cursor, tools := "", 0
				for first := true; first || cursor != ""; first = false {
					params := `{"x":1` + meta
					if cursor != "" {
						params = `{"cursor":"` + cursor + `"` + meta
					}
					_, err := io.WriteString(near,
						`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`+params+"}}\n")
					assert.NilError(b, err)
					line = line[:0]
					for {
						part, err := from.ReadSlice('\n')
						line = append(line, part...)
						if err == nil {
							break
						}
						assert.Equal(b, err, bufio.ErrBufferFull)
					}
					tools += bytes.Count(line, []byte(`"inputSchema"`))
					cursor, _ = jsonscan.Text(jsonscan.Member(
						jsonscan.Member(line, "result"), "nextCursor"))
				}
				assert.Equal(b, tools, benchServers*benchTools)
			}
		})
	}
}
