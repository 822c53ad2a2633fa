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
	"time"

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

// benchGateway connects a gateway to servers in memory with 30 tools each, which offers them at
// downstreams. A client "searcher" finds them by a search.
func benchGateway(b testing.TB, servers, downstreams int) (g *gateway.Gateway, all []*server.Server,
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
	for i := range servers {
		ids = append(ids, fmt.Sprint("server", i))
	}
	for range downstreams {
		o := server.Options{Logger: quiet, ToolView: func(name string) server.ToolView {
			return server.ToolView{Search: name == "searcher"}
		}}
		all = append(all, o.New(server.Info{Name: "gateway", Version: "1"}, nil))
	}
	g = gateway.Options{Logger: quiet}.New(all[0])
	for _, s := range all[1:] {
		s.Integration().Declare()
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
				g, all, stop := benchGateway(b, benchServers, downstreams)
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

// A benchClient is a client of a server that sees the lines themselves.
type benchClient struct {
	t    testing.TB
	meta string // the member _meta of params, and a comma before it
	conn net.Conn
	from *bufio.Reader
	line []byte
}

func newBenchClient(t testing.TB, s *server.Server, era mcp.Era, name string) *benchClient {
	near, far := net.Pipe()
	go func() { _ = s.Serve(context.Background(), far) }()
	t.Cleanup(func() { _ = near.Close() })
	c := &benchClient{t: t, conn: near, from: bufio.NewReaderSize(near, 1<<16)}
	info := `{"name":"` + name + `","version":"1"}`
	if era == mcp.Modern {
		c.meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":` + info + `,` +
			`"io.modelcontextprotocol/clientCapabilities":{}}`
		return c
	}
	c.request("initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":`+info)
	_, err := io.WriteString(near,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	assert.NilError(t, err)
	return c
}

// request returns the line of the response, until the next request. params are members.
func (c *benchClient) request(method, params string) []byte {
	_, err := io.WriteString(c.conn,
		`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+c.meta+"}}\n")
	assert.NilError(c.t, err)
	c.line = c.line[:0]
	for {
		part, err := c.from.ReadSlice('\n')
		c.line = append(c.line, part...)
		if err == nil {
			return c.line
		}
		assert.Equal(c.t, err, bufio.ErrBufferFull)
	}
}

// list reads all pages of the tools, and returns the number of bytes and of tools.
func (c *benchClient) list() (size, tools int) {
	cursor := ""
	for first := true; first || cursor != ""; first = false {
		params := `"x":1`
		if cursor != "" {
			params = `"cursor":"` + cursor + `"`
		}
		line := c.request("tools/list", params)
		size += len(line)
		tools += bytes.Count(line, []byte(`"inputSchema"`))
		cursor, _ = jsonscan.Text(jsonscan.Member(jsonscan.Member(line, "result"), "nextCursor"))
	}
	return size, tools
}

// BenchmarkGatewayList reads all pages of the 6,000 tools.
func BenchmarkGatewayList(b *testing.B) {
	_, all, stop := benchGateway(b, benchServers, 1)
	defer stop()
	for _, era := range eras {
		b.Run(fmt.Sprint(era), func(b *testing.B) {
			c := newBenchClient(b, all[0], era, "lister")
			b.ReportAllocs()
			for b.Loop() {
				_, tools := c.list()
				assert.Equal(b, tools, benchServers*benchTools)
			}
		})
	}
}

// BenchmarkGatewayFind finds a tool among the 6,000, with words that all of them have and with one
// that 200 have.
func BenchmarkGatewayFind(b *testing.B) {
	_, all, stop := benchGateway(b, benchServers, 1)
	defer stop()
	for _, query := range []string{"what tools of servers do", "tool17 option"} {
		b.Run(query, func(b *testing.B) {
			c := newBenchClient(b, all[0], mcp.Modern, "searcher")
			c.find(query) // makes the index
			for b.Loop() {
				assert.Assert(b, bytes.Contains(c.find(query), []byte(`"call_tool_read"`)))
			}
		})
	}
}

func (c *benchClient) find(query string) []byte {
	return c.request("tools/call", `"name":"find_tool","arguments":{"query":"`+query+`"}`)
}

// What a model gets of 6,000 tools before the first word of its user: the list has megabytes, and
// with a search there are the four tools that find and call them, whatever the servers have.
func TestListedBytes(t *testing.T) {
	_, all, stop := benchGateway(t, benchServers, 1)
	defer stop()
	for _, era := range eras {
		list, tools := newBenchClient(t, all[0], era, "lister").list()
		assert.Equal(t, tools, benchServers*benchTools)
		searcher := newBenchClient(t, all[0], era, "searcher")
		found, tools := searcher.list()
		assert.Equal(t, tools, 4)
		answer := len(searcher.find("what tools of servers do"))
		t.Logf("%v: a list has %d bytes, about %d tokens; with a search it has %d, about %d, and "+
			"an answer %d, about %d", era, list, list/4, found, found/4, answer, answer/4)
		assert.Assert(t, list > 4_800_000)
		assert.Assert(t, found < 3_500)
		assert.Assert(t, answer < 12_000)
	}
	for _, use := range all[0].Integration().ToolViews() {
		assert.Equal(t, use.Tools, benchServers*benchTools)
		assert.Assert(t, use.Bytes > 4_800_000)
		assert.Equal(t, use.Search, use.Listed < 3_500)
	}
}

// A server that is idle takes few goroutines, whatever it may announce.
func TestGoroutinesOfServers(t *testing.T) {
	const servers = 20
	before := lastingGoroutines(t)
	_, _, stop := benchGateway(t, servers, 1)
	defer stop()
	// Those of the server, which is in this process, are among them, and those of the gateway.
	const each, gateway = 9, 10
	all := lastingGoroutines(t) - before
	assert.Assert(t, all <= each*servers+gateway, "%d goroutines for %d servers", all, servers)
}

// lastingGoroutines waits until the number of goroutines remains the same, and returns it.
func lastingGoroutines(t *testing.T) (n int) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for same := 0; same < 30; same++ {
		assert.Assert(t, time.Now().Before(end), "the goroutines do not come to rest")
		time.Sleep(10 * time.Millisecond)
		if now := runtime.NumGoroutine(); now != n {
			n, same = now, 0
		}
	}
	return n
}
