package streamable_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

const budget = 32 << 20

// startWithin is start with a budget of memory, and a tool large, whose answer has so many bytes of
// text. It asks for what the text, its JSON and the answer take, as an operation has to that makes
// much of little.
func startWithin(t *testing.T, o streamable.Options) *site {
	t.Helper()
	s := startWorld(t, o, server.Options{Memory: dispatch.NewBudget(budget)})
	dispatch.Add(s.catalog,
		dispatch.Spec{Name: "large", Summary: "For tests.", Type: dispatch.Wait},
		func(ctx context.Context, in struct {
			Bytes int64 `json:"bytes"`
		}) (echoed, error) {
			if err := quota.FromContext(ctx).Wait(ctx, 3*in.Bytes); err != nil {
				return echoed{}, err
			}
			return echoed{strings.Repeat("x", int(in.Bytes))}, nil
		})
	return s
}

// dial returns a connection whose kernel keeps little of what nobody reads.
func (s *site) dial() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp"))
	assert.NilError(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	assert.NilError(s.t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	return conn
}

// A peak is the most memory that was in use.
type peak struct {
	t            testing.TB
	before, most int64
	stop         chan struct{}
	done         sync.WaitGroup
}

func (s *site) watchPeak() *peak {
	p := &peak{t: s.t, before: live(), stop: make(chan struct{})}
	p.done.Go(func() {
		for again := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-p.stop:
				again.Stop()
				return
			case <-again.C:
				p.most = max(p.most, live())
			}
		}
	})
	return p
}

// live is what is in use, without what is garbage.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// wants checks that no more was in use than before, and so many bytes.
func (p *peak) wants(most int64) {
	p.t.Helper()
	close(p.stop)
	p.done.Wait()
	grown := max(p.most, live()) - p.before
	p.t.Logf("%d MiB of a budget of %d", grown>>20, budget>>20)
	assert.Assert(p.t, grown <= most, "%d MiB are more than %d", grown>>20, most>>20)
}

const constant = 16 << 20 // for connections, and what is on its way

func TestIncompleteBodiesStayWithinMemory(t *testing.T) {
	const callers, size = 150, 4<<20 - 1
	half := []byte(`{"x":"` + strings.Repeat("x", size-100))
	for name, head := range map[string]string{
		"with a length": fmt.Sprintf("Content-Length: %d\r\n\r\n", size),
		"without":       fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", size),
	} {
		t.Run(name, func(t *testing.T) {
			s := startWithin(t, streamable.Options{})
			p := s.watchPeak()
			answers := make(chan *http.Response, callers)
			for range callers {
				conn := s.dial()
				go func() { // until it is refused, or the test ends
					if _, err := io.WriteString(conn,
						"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"+
							head); err == nil {
						_, _ = conn.Write(half)
					}
				}()
				go func() {
					if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
						answers <- res
					}
				}()
			}
			// As each has sent more than 2 MiB, no more than budget/2 MiB are not refused in the
			// end.
			for range callers - budget/(2<<20) {
				res := <-answers
				assert.Equal(t, res.StatusCode, 503)
				assert.Equal(t, res.Header.Get("Retry-After"), "1")
				assert.Assert(t, res.Close)
				text, err := io.ReadAll(res.Body)
				assert.NilError(t, err)
				assert.Assert(t,
					strings.Contains(string(text),
						`"code":-31999,"message":"there is no room for the body: `), string(text))
			}
			// small requests are served all the while
			assert.Equal(t, s.tool("echo", `{"text":"x"}`, "").StatusCode, 200)
			p.wants(2*budget + constant)
		})
	}
}

func TestUnreadResponsesStayWithinMemory(t *testing.T) {
	const callers = 30
	modern := func(*site) (head, body string) {
		return "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: large\r\n",
			modernCall("tools/call", `"name":"large","arguments":{"bytes":10000000},`)
	}
	legacy := func(s *site) (head, body string) {
		return "Mcp-Session-Id: " + s.connect("2025-06-18", "").id + "\r\n",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"large","arguments":{"bytes":10000000}}}`
	}
	for _, test := range []struct {
		name, accept string
		call         func(s *site) (head, body string)
	}{
		{"modern", bothKinds, modern},
		{"modern, streams", "text/event-stream", modern},
		{"legacy", bothKinds, legacy},
		{"legacy, streams", "text/event-stream", legacy},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := startWithin(t, streamable.Options{})
			p := s.watchPeak()
			first := make(chan struct{}, callers)
			for range callers {
				conn := s.dial()
				head, body := test.call(s)
				_, err := fmt.Fprintf(conn,
					"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: %s\r\n%sContent-Length: %d\r\n\r\n%s",
					test.accept, head, len(body), body)
				assert.NilError(t, err)
				go func() {
					if _, err := conn.Read(make([]byte, 1)); err == nil { // and nothing more
						first <- struct{}{}
					}
				}()
			}
			// The others wait for memory meanwhile: all of it is needed for one answer.
			<-first
			assert.Equal(t, s.tool("echo", `{"text":"x"}`, "").StatusCode, 200)
			held := (*quota.Pool)(s.server.Integration().Options().Memory).Used()
			assert.Assert(t, held > 20_000_000, "%d bytes", held)
			p.wants(2*budget + constant)
		})
	}
}

// One principal with its share of the memory leaves the rest to others, and small requests are
// served all the same.
func TestBodiesAreRefusedByPrincipal(t *testing.T) {
	budget := dispatch.NewBudget(1 << 20)
	pool := (*quota.Pool)(budget)
	s := startWorld(t, byHeader(streamable.Options{}), server.Options{Memory: budget})
	large := `{"text":"` + strings.Repeat("x", 100_000) + `"}`
	assert.NilError(t, pool.Take("ada", 512<<10))
	a := s.tool("echo", large, ada)
	a.wants(429, `{"jsonrpc":"2.0","error":{"code":-31999,"message":"there is no room for the body: your other requests and answers hold 524288 bytes, which leaves room for 0; read them first, or try again with less at a time"}}`)
	assert.Equal(t, a.Header.Get("Retry-After"), "1")
	assert.Equal(t, s.tool("echo", `{"text":"x"}`, ada).StatusCode, 200)
	assert.Equal(t, s.tool("echo", large, ben).StatusCode, 200)
	s = startWorld(t, byHeader(streamable.Options{}),
		server.Options{Memory: dispatch.NewBudget(100_000)})
	s.tool("echo", large, ben).wants(413,
		`{"jsonrpc":"2.0","error":{"code":-32600,"message":"the body is larger than the 50000 bytes that one caller may have in the server's memory"}}`)
}

func TestResponsesWithoutMemoryAreRefused(t *testing.T) {
	const size = 100_000
	text := strings.Repeat("x", size)
	for _, test := range []struct {
		name     string
		total    int64
		taken    int64
		by       string
		status   int
		code     string
		contains string
	}{
		{"nothing is left", 1 << 20, 1<<20 - 250_000, "", 503, "-31999",
			"other callers leave room for 125000; try again in a moment, or with less at a time"},
		{"the caller has its share", 1 << 20, 400_000, "ada", 429, "-31999",
			"your other requests and answers hold 400000 bytes, which leaves room for 124288"},
		{"never", 400_000, 1, "", 500, "-32603",
			"one caller may have 200000 in the server's memory; ask for less at a time"},
	} {
		for _, revision := range []string{"2026-07-28", "2025-06-18"} {
			t.Run(test.name+", "+revision, func(t *testing.T) {
				budget := dispatch.NewBudget(test.total)
				pool := (*quota.Pool)(budget)
				s := startWorld(t, byHeader(streamable.Options{}), server.Options{Memory: budget})
				var a *answer
				if revision == "2026-07-28" {
					assert.NilError(t, pool.Take(test.by, test.taken))
					a = s.tool("echo", `{"text":"`+text+`"}`, ada)
				} else {
					c := s.connect(revision, ada)
					assert.NilError(t, pool.Take(test.by, test.taken))
					a = c.call("1", "echo", text, ada)
				}
				got := a.text()
				assert.Equal(t, a.StatusCode, test.status, got)
				assert.Equal(t, a.Header.Get("Retry-After") != "", test.code == "-31999")
				assert.Assert(t,
					strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"error":{"code":`+test.code+
						`,"message":"the call has run, but there is no room for its answer of 200`),
					got)
				assert.Assert(t, strings.Contains(got, test.contains), got)
				pool.Give(test.by, test.taken)
				assert.Equal(t, s.tool("echo", `{"text":"y"}`, ada).StatusCode, 200)
				s.idle(pool)
			})
		}
	}
}

// Of a batch, those answers are refused that find no room.
func TestBatchResponsesWithoutMemoryAreRefused(t *testing.T) {
	budget := dispatch.NewBudget(1 << 20)
	pool := (*quota.Pool)(budget)
	s := startWorld(t, streamable.Options{}, server.Options{Memory: budget})
	c := s.connect("2025-03-26", "")
	assert.NilError(t, pool.Take("", 1<<20-150_000))
	got := c.post(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`+
		strings.Repeat("x", 100_000)+`"}}},{"jsonrpc":"2.0","id":3,"method":"ping"}]`, "").text()
	assert.Assert(t,
		strings.HasPrefix(got,
			`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"error":{"code":-31999,"message":"the call has run, `),
		got)
	assert.Assert(t, strings.HasSuffix(got, `},{"jsonrpc":"2.0","id":3,"result":{}}]`), got)
	pool.Give("", 1<<20-150_000)
	s.idle(pool)
}

// What a client that has gone could come back for is counted, and given back with its session.
func TestEventsAreCounted(t *testing.T) {
	budget := dispatch.NewBudget(1 << 20)
	pool := (*quota.Pool)(budget)
	s := startWorld(t, streamable.Options{}, server.Options{Memory: budget})
	c := s.connect("2025-11-25", "")
	// A response has the text twice, in a buffer of less than 64 KiB however it has grown.
	text := strings.Repeat("x", 20_000)
	for i := range 3 {
		a := c.call(fmt.Sprint(i+1), "echo", text, "-Accept\nAccept: text/event-stream").isStream()
		a.next()
		a.event("result")
		a.ends()
	}
	held := pool.Used()
	assert.Assert(t, held > 3*40_000-4096 && held < 4*40_000, "%d", held)
	assert.NilError(t, pool.Take("", 1<<20-held)) // others want it: the oldest go
	a := c.call("4", "echo", text, "-Accept\nAccept: text/event-stream").isStream()
	first, _ := a.next()
	a.event("result")
	a.ends()
	assert.Assert(t, pool.Held("") <= 1<<20)
	assert.Equal(t, c.get(header("Last-Event-Id: 1-0")).StatusCode, 400)
	c.get(header("Last-Event-Id: " + first.id)).isStream().event("result")
	pool.Give("", 1<<20-held)
	assert.Equal(t, s.do(t.Context(), "DELETE", s.url, "",
		header("Mcp-Session-Id: "+c.id)).StatusCode, 204)
	s.idle(pool)
}

// idle waits until nothing is held, which is when requests have ended that were answered before.
func (s *site) idle(pool *quota.Pool) {
	s.t.Helper()
	s.handler.Close()
	assert.Equal(s.t, pool.Used(), int64(0))
}
