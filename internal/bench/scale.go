package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A scale is a kind of thing. A server has up to max of them.
type scale struct {
	things string
	max    int
	start  func(n int) (*scaled, error)
}

// scaled is a server in this process that has n things.
type scaled struct {
	costs []scaledCost
	stop  func()
}

type scaledCost struct {
	what string
	do   func() error
}

// maxTimes limits the calls of which the p99 is taken, which are the last ones.
const maxTimes = 50_000

// A timedCost records the times of its last calls, without allocating.
type timedCost struct {
	do    func() error
	times [maxTimes]time.Duration // of call n at n % maxTimes
	calls int
}

func (c *timedCost) call() error {
	begin := time.Now()
	err := c.do()
	c.times[c.calls%maxTimes] = time.Since(begin)
	c.calls++
	return err
}

func (c *timedCost) p99() time.Duration {
	all := c.times[:min(c.calls, maxTimes)]
	slices.Sort(all)
	return all[(len(all)-1)*99/100]
}

var scales = []scale{
	{"tools", 20_000, scaleTools},
	{"resources", 10_000, scaleResources},
	{"templates", 10_000, scaleTemplates},
	{"subscriptions, legacy", 10_000, scaleSubscriptions},
	{"subscriptions, modern", 10_000, scaleListens},
	{"HTTP sessions", 10_000, scaleSessions},
	{"calls in flight", 10_000, scaleCalls},
	{"connections", 10_000, scaleConnections},
	{"upstreams", 1_000, scaleUpstreams},
	{"KiB of an argument", 16 << 10, scaleArguments},
}

// scaleSuite measures how costs grow with the number of things.
func scaleSuite(o options) ([]measure, error) { return measureScales(o.time, math.MaxInt) }

// measureScales measures each scale with 1, 10, 100 and so on up to limit things. The row "add one"
// is the time of the start divided by the number of things. A row "p99" is of the last single calls
// that were made for the row before it. "memory of each" is the memory of each thing that was added
// since the preceding number; other garbage can make it negative. The last column of each cost is
// the exponent of its growth since that number: 0 is constant, 1 linear.
func measureScales(d time.Duration, limit int) (all []measure, err error) {
	for _, s := range scales {
		last := min(s.max, limit)
		table := scaleTable{things: s.things}
		for n, nBefore, memoryBefore := 1, 0, 0.0; n > nBefore; n = min(10*n, last) {
			empty := memory()
			begin := time.Now()
			running, err := s.start(n)
			if err != nil {
				return nil, fmt.Errorf("%d %s: %w", n, s.things, err)
			}
			took := time.Since(begin)
			used := memory() - empty
			rows := []measure{{what: "add one", value: microseconds(took) / float64(n), unit: "µs"},
				{what: "memory of each", value: (used - memoryBefore) / float64(n-nBefore), unit: "B"}}
			for _, c := range running.costs {
				err := c.do() // the first call may be slower
				var m measure
				timed := timedCost{do: c.do}
				if err == nil {
					m, err = benchmark(d, 1, timed.call)
				}
				if err != nil {
					return nil, fmt.Errorf("%d %s: %s: %w", n, s.things, c.what, err)
				}
				m.what = c.what
				rows = append(rows, m, measure{what: c.what + ", p99", unit: "µs",
					value: microseconds(timed.p99())})
			}
			running.stop()
			table.add(n, rows)
			nBefore, memoryBefore = n, used
		}
		all = append(all, table.rows...)
	}
	return all, nil
}

// A scaleTable has the costs with growing numbers of one kind of things.
type scaleTable struct {
	things string
	rows   []measure
	before int       // the number that was added last; 0 for none
	costs  []float64 // with that number
}

// add adds the costs with n things, and to each the exponent of its growth since the number before.
func (t *scaleTable) add(n int, costs []measure) {
	before := t.costs
	t.costs = nil
	for i, m := range costs {
		t.costs = append(t.costs, m.value)
		if before != nil && before[i] > 0 && m.value > 0 {
			if m.extra != "" {
				m.extra += ", "
			}
			m.extra += fmt.Sprintf("n^%.2f", math.Log(m.value/before[i])/
				math.Log(float64(n)/float64(t.before)))
		}
		m.what, m.program = scaleRow(n, t.things, m.what), "stdwire"
		t.rows = append(t.rows, m)
	}
	t.before = n
}

// scaleRow returns the name of a row of a suite that grows.
func scaleRow(n int, things, cost string) string { return fmt.Sprintf("%d %s: %s", n, things, cost) }

// memory returns the bytes of the heap and of stacks in use.
func memory() float64 {
	runtime.GC()
	runtime.GC() // frees also the memory that the first collection has only removed from pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

var scaleInfo = server.Info{Name: "scale", Version: "1"}

func echo(_ context.Context, in echoText) (echoText, error) { return in, nil }

// connect connects a legacy client.
func connect(s *server.Server) (c lineClient, stop func(), err error) {
	c, stop = startPipe(func(stream io.ReadWriteCloser) {
		_ = s.Serve(context.Background(), stream)
	})
	return c, stop, c.open()
}

// request returns the cost of one request of a client.
func (c lineClient) request(what string, frame []byte) scaledCost {
	return scaledCost{what, func() error {
		_, err := c.exchange(frame)
		return err
	}}
}

func (c lineClient) call(tool string) scaledCost {
	return c.request("tools/call", callFrame(tool, 1, strings.Repeat("x", 64)))
}

// list returns the cost of all pages of tools/list. It counts the tools only once, because that
// takes as long as the server.
func (c lineClient) list(want int) scaledCost {
	counted := false
	return scaledCost{"tools/list, all pages", func() error {
		n := 0
		for params, more := "", true; more; {
			page, err := c.exchange(fmt.Appendf(nil,
				`{"jsonrpc":"2.0","id":1,"method":"tools/list"%s}`+"\n", params))
			if err != nil {
				return err
			}
			if !counted {
				n += bytes.Count(page, []byte(`"inputSchema":`))
			}
			var cursor []byte // the cursor is at the end of the page
			_, cursor, more = bytes.Cut(page[max(0, len(page)-200):], []byte(`"nextCursor":"`))
			cursor, _, _ = bytes.Cut(cursor, []byte(`"`))
			params = fmt.Sprintf(`,"params":{"cursor":"%s"}`, cursor)
		}
		if !counted && n != want {
			return fmt.Errorf("%d tools are listed rather than %d", n, want)
		}
		counted = true
		return nil
	}}
}

// after returns the cost of a change that lists show, and of the request that follows it.
func (c scaledCost) after(change func() error) scaledCost {
	return scaledCost{"change, then " + c.what, func() error {
		if err := change(); err != nil {
			return err
		}
		return c.do()
	}}
}

func scaleTools(n int) (*scaled, error) {
	catalog := dispatch.NewCatalog()
	var op *dispatch.Operation
	for i := range n {
		var err error
		if op, err = dispatch.NewOperation(
			dispatch.Spec{Name: fmt.Sprint("echo", i), Summary: "Echo.",
				Type: dispatch.Read}, echo); err != nil {
			return nil, err
		}
		if err := catalog.Register(op); err != nil {
			return nil, err
		}
	}
	c, stop, err := connect(server.New(scaleInfo, catalog))
	call := c.call(fmt.Sprint("echo", n-1))
	return &scaled{[]scaledCost{call, call.after(func() error { return catalog.Replace(op) }),
		c.list(n)}, stop}, err
}

func uri(i int) string { return fmt.Sprintf("file:///%d/a", i) }

func read(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: uri, Text: "a"}}}, nil
}

func readTemplate(ctx context.Context, uri string,
	_ map[string]string) (*mcp.ReadResourceResult, error) {
	return read(ctx, uri)
}

func uriFrame(id int, method, uri string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"uri":%q}}`+"\n", id,
		method, uri)
}

func scaleResources(n int) (*scaled, error) {
	s := server.New(scaleInfo, nil)
	add := func(i int) error {
		return s.AddResource(server.Resource{Resource: mcp.Resource{URI: uri(i), Name: "a"},
			Read: read})
	}
	return scaleReads(s, n, add)
}

// scaleReads measures reading the last item that add has added.
func scaleReads(s *server.Server, n int, add func(i int) error) (*scaled, error) {
	for i := range n {
		if err := add(i); err != nil {
			return nil, err
		}
	}
	c, stop, err := connect(s)
	read := c.request("resources/read", uriFrame(1, "resources/read", uri(n-1)))
	return &scaled{[]scaledCost{read, read.after(func() error { return add(n - 1) })}, stop}, err
}

func scaleTemplates(n int) (*scaled, error) {
	s := server.New(scaleInfo, nil)
	return scaleReads(s, n, func(i int) error {
		return s.AddResourceTemplate(server.ResourceTemplate{ResourceTemplate: mcp.ResourceTemplate{
			URITemplate: fmt.Sprintf("file:///%d/{name}", i), Name: "a"}, Read: readTemplate})
	})
}

// newWatched returns a server with all resources that uri returns.
func newWatched(n int) *server.Server {
	s := server.Options{MaxWatched: n, MaxSubscriptions: n,
		Limits: rpc.Limits{MaxRunning: n + 1}}.New(scaleInfo, nil)
	server.Must(s.AddResourceTemplate(server.ResourceTemplate{
		ResourceTemplate: mcp.ResourceTemplate{URITemplate: "file:///{i}/{name}", Name: "a"},
		Read:             readTemplate}))
	return s
}

// update returns the cost of a change of a resource to which one client subscribes.
func (c lineClient) update(s *server.Server, uri string) scaledCost {
	return scaledCost{"notifications/resources/updated", func() error {
		s.ResourceUpdated(uri)
		return c.waitFor("notifications/resources/updated")
	}}
}

// waitFor reads a notification.
func (c lineClient) waitFor(method string) error {
	line, err := c.in.ReadSlice('\n')
	if err == nil && !bytes.Contains(line, []byte(method)) {
		err = fmt.Errorf("the server says %.300s rather than %s", line, method)
	}
	return err
}

func scaleSubscriptions(n int) (*scaled, error) {
	s := newWatched(n)
	c, stop, err := connect(s)
	for i := 0; i < n && err == nil; i++ {
		_, err = c.exchange(uriFrame(1, "resources/subscribe", uri(i)))
	}
	return &scaled{[]scaledCost{c.update(s, uri(n-1))}, stop}, err
}

func scaleListens(n int) (*scaled, error) {
	s := newWatched(n)
	c, stop, err := connect(s)
	for i := 0; i < n && err == nil; i++ {
		if _, err = fmt.Fprintf(c.out,
			`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{%s,"notifications":{"resourceSubscriptions":[%q]}}}`+
				"\n", i+1, modernMeta, uri(i)); err == nil {
			err = c.waitFor("notifications/subscriptions/acknowledged")
		}
	}
	return &scaled{[]scaledCost{c.update(s, uri(n-1))}, stop}, err
}

// scaleSessions calls the HTTP handler without a network.
func scaleSessions(n int) (*scaled, error) {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "echo", Summary: "Echo.", Type: dispatch.Read}, echo)
	h := streamable.Options{MaxSessions: n}.New(server.New(scaleInfo, catalog))
	id := ""
	post := func(body string, status int) error {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if id != "" {
			r.Header.Set("Mcp-Session-Id", id)
			r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if id == "" {
			id = w.Header().Get("Mcp-Session-Id")
		}
		if w.Code != status || strings.Contains(w.Body.String(), `"error":{`) {
			return fmt.Errorf("status %d: %s", w.Code, w.Body)
		}
		return nil
	}
	for range n {
		id = ""
		if err := post(initializeFrame, http.StatusOK); err != nil {
			return nil, err
		}
		if err := post(initializedFrame, http.StatusAccepted); err != nil {
			return nil, err
		}
	}
	call := string(callFrame("echo", 1, strings.Repeat("x", 64)))
	return &scaled{[]scaledCost{{"tools/call", func() error {
		return post(call, http.StatusOK)
	}}}, h.Close}, nil
}

func scaleCalls(n int) (*scaled, error) {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "echo", Summary: "Echo.", Type: dispatch.Read}, echo)
	var begun sync.WaitGroup
	dispatch.Add(catalog, dispatch.Spec{Name: "wait", Summary: "Wait.", Type: dispatch.Read},
		func(ctx context.Context, in echoText) (echoText, error) {
			begun.Done()
			<-ctx.Done()
			return in, ctx.Err()
		})
	c, stop, err := connect(
		server.Options{Limits: rpc.Limits{MaxRunning: n + 1}}.New(scaleInfo, catalog))
	begun.Add(n)
	for i := 0; i < n && err == nil; i++ {
		_, err = c.out.Write(callFrame("wait", i+2, ""))
	}
	if err == nil {
		begun.Wait()
	}
	return &scaled{[]scaledCost{c.call("echo")}, stop}, err
}

// scaleConnections connects clients. Each of them subscribes to its own resource.
func scaleConnections(n int) (*scaled, error) {
	s := newWatched(n)
	server.AddTool(s, mcp.Tool{Name: "echo", Description: "Echo."}, echo)
	var stops []func()
	stopAll := func() {
		for _, stop := range stops {
			stop()
		}
	}
	var c lineClient // the others need not be retained
	for i := range n {
		var stop func()
		var err error
		if c, stop, err = connect(s); err != nil {
			return nil, err
		}
		stops = append(stops, stop)
		if _, err = c.exchange(uriFrame(1, "resources/subscribe", uri(i))); err != nil {
			return nil, err
		}
	}
	return &scaled{[]scaledCost{c.call("echo"), c.update(s, uri(n-1))}, stopAll}, nil
}

// scaleUpstreams connects a gateway to servers in memory, whose memory is counted too.
func scaleUpstreams(n int) (*scaled, error) {
	s := server.New(scaleInfo, nil)
	g := gateway.Options{Logger: slog.New(slog.DiscardHandler)}.New(s)
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "echo", Summary: "Echo.", Type: dispatch.Read}, echo)
	upstream := server.New(scaleInfo, catalog)
	for i := range n {
		connect := func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
			near, far := net.Pipe()
			go func() { _ = upstream.Serve(context.Background(), far) }()
			return o.Connect(ctx, client.Stream(near))
		}
		err := g.Add(gateway.Upstream{
			Server: host.Server{ID: fmt.Sprint("up", i), Connect: connect}})
		if err != nil {
			return nil, err
		}
	}
	g.Settle(context.Background())
	c, stop, err := connect(s)
	return &scaled{[]scaledCost{c.call(fmt.Sprintf("up%d__echo", n-1)), c.list(n)}, func() {
		stop()
		g.Close()
	}}, err
}

// scaleArguments calls a tool with a text of n KiB, which comes back.
func scaleArguments(n int) (*scaled, error) {
	s := server.Options{
		Limits: rpc.Limits{Limits: framing.Limits{MaxAppend: 64 << 20}}}.New(scaleInfo, nil)
	server.AddTool(s, mcp.Tool{Name: "echo", Description: "Echo."}, echo)
	c, stop, err := connect(s)
	return &scaled{[]scaledCost{c.request("tools/call",
		callFrame("echo", 1, strings.Repeat("x", n<<10)))}, stop}, err
}
