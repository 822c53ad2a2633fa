package streamable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store/storetest"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/streamable"
)

// A storeUse is a way to use servers with a store: its name in the page about replicas, and a
// function that does it once, the nth time.
type storeUse struct {
	name string
	use  func(c, elsewhere *client, n int)
}

var storeUses = []storeUse{
	{"a modern request", func(c, _ *client, _ int) {
		_ = c.tool("echo", `{"text":"x"}`, "").text()
	}},
	{"a request of a session", func(c, _ *client, _ int) { _ = ping(c).text() }},
	{"a call of a tool", func(c, _ *client, n int) {
		_ = c.call(strconv.Itoa(n), "echo", "x", "-Accept\nAccept: application/json").text()
	}},
	// The call, its question, the answer at this replica, that the question is forgotten, and the
	// two events of its stream, for which nothing waits.
	{"… that asks, and is answered", func(c, _ *client, n int) { answerAt(c, c, n) }},
	{"… at another server", answerAt},
	// A replica looks at its own notices too, and at those that come together once.
	{"a session, from begin to end", func(c, _ *client, _ int) {
		s := c.connect("2025-11-25", "")
		a := s.do(context.Background(), "DELETE", s.url, "", header("Mcp-Session-Id: "+s.id))
		_, _ = io.Copy(io.Discard, a.in)
	}},
	{"a task that ends at once", func(c, _ *client, _ int) {
		c.until(c.begin("quick"), "completed")
	}},
}

// A storeRow is what the page about replicas says of a use.
type storeRow struct {
	trips   int
	more    int     // that may be more, as the page says "some"
	in, out float64 // bytes, to the store and back
}

var storeRowText = regexp.MustCompile(
	`(?m)^  (\S.*?) {2,}(some )?(\d+)(?: +(\d+), (\d+))?(?: |$)`)

// storeRows returns the rows of the page about replicas.
func storeRows(t testing.TB) map[string]storeRow {
	text, err := os.ReadFile("../../cmd/stdwire/internal/topic/pages/replicas.txt")
	assert.NilError(t, err)
	_, table, found := strings.Cut(string(text), "\nWhat one store carries\n")
	assert.Assert(t, found)
	rows := map[string]storeRow{}
	for _, m := range storeRowText.FindAllStringSubmatch(table, -1) {
		var r storeRow
		r.trips, err = strconv.Atoi(m[3])
		assert.NilError(t, err)
		if m[2] != "" {
			r.more = 8
		}
		if m[4] != "" {
			r.in, err = strconv.ParseFloat(m[4], 64)
			assert.NilError(t, err)
			r.out, err = strconv.ParseFloat(m[5], 64)
			assert.NilError(t, err)
		}
		rows[m[1]] = r
	}
	return rows
}

// answerAt makes a call that asks, and answers it there or elsewhere.
func answerAt(c, at *client, n int) {
	asking := c.post(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask"}}`, n), "")
	e, _ := asking.next()
	for e.data == "" {
		e, _ = asking.next()
	}
	var question struct{ ID json.Number }
	assert.NilError(c.t, json.Unmarshal([]byte(e.data), &question))
	_ = at.post(`{"jsonrpc":"2.0","id":`+question.ID.String()+
		`,"result":{"action":"accept","content":{"name":"Ada"}}}`, "").text()
	_ = asking.text()
}

// The page about replicas says what each kind of use costs at the store.
func TestRoundTrips(t *testing.T) {
	rows := storeRows(t)
	synctest.Test(t, func(t *testing.T) {
		of := storetest.New(1, storetest.Faults{})
		open := func() *site {
			b, end := openBubble(t, new(http.Server),
				streamable.Options{Store: streamable.StoreOf(of.Link())})
			t.Cleanup(end)
			b.offerJobs(t)
			t.Cleanup(func() { assert.Check(t, b.server.Close(context.Background()) == nil) })
			transport := &http.Transport{
				DialContext: func(context.Context, string, string) (net.Conn, error) {
					near, far := net.Pipe()
					b.pipes.conns <- far
					return near, nil
				}}
			t.Cleanup(transport.CloseIdleConnections)
			return &site{b.fixture, t, b.handler, "http://pipe/mcp", &http.Client{Transport: transport}}
		}
		c := open().connect("2025-11-25", "")
		elsewhere := c.at(open())
		_ = ping(elsewhere).text()
		costs := func(what string, use func()) {
			t.Helper()
			row, ok := rows[what]
			assert.Assert(t, ok, "the page does not have %q", what)
			synctest.Wait()
			before := of.Load().Operations
			use()
			synctest.Wait()
			got, least := of.Load().Operations-before, row.trips
			switch {
			case row.more > 0:
				least -= 2
			case least > 2:
				least-- // two events of a stream may go together
			}
			assert.Check(t, got >= least && got <= row.trips+row.more,
				"%s takes %d round trips, want %d to %d", what, got, least, row.trips+row.more)
		}
		for i, u := range storeUses {
			costs(u.name, func() { u.use(c, elsewhere, 100+i) })
		}
		costs("a change that two servers hear", func() {
			c.offer("another", func(context.Context) (*mcp.CallToolResult, error) { return nil, nil })
		})
	})
}

// The page says how many bytes each kind of use is, with two servers. On a slow machine it is more:
// an answer is looked at again and again until it is taken, and servers also do something by
// themselves, every few seconds. How often each asks the store is what TestRoundTrips knows.
func TestBytesToTheStore(t *testing.T) {
	of := redistest.Start(t)
	admin := of.Client()
	redistest.Available(t, admin)
	another := func() *site {
		return shareTasks(t, 1, streamable.Options{},
			func() *streamable.Store { return openStore(t, of) })[0]
	}
	c := another().connect("2025-11-25", "")
	elsewhere := c.at(another())
	_ = ping(elsewhere).text()
	idle := spent(t, admin)
	idle = spent(t, admin).minus(idle) // what it costs to ask
	const times = 30
	bytes := func(u storeUse, from int) spending {
		before := spent(t, admin)
		for n := range times {
			u.use(c, elsewhere, from+n)
		}
		got := spent(t, admin).minus(before).minus(idle)
		return spending{in: got.in / times, out: got.out / times}
	}
	atMost := func(got, want float64) bool { return got <= 3*want+500 }
	rows := storeRows(t)
	for i, u := range storeUses {
		got, want := bytes(u, 1000*(i+1)), rows[u.name]
		assert.Check(t, atMost(got.in, want.in) && atMost(got.out, want.out), "%s: %.0f, %.0f",
			u.name, got.in, got.out)
	}
}

// What a server has received and sent since it was started, in bytes, and how many microseconds of
// its processor it has used.
type spending struct{ in, out, processor float64 }

func (s spending) minus(o spending) spending {
	return spending{s.in - o.in, s.out - o.out, s.processor - o.processor}
}

func spent(t testing.TB, c *redis.Client) (s spending) {
	reply, err := c.Do(context.Background(), "INFO", "stats", "cpu")
	assert.NilError(t, err)
	text, err := reply.Bytes()
	assert.NilError(t, err)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		n, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "total_net_input_bytes":
			s.in = n
		case "total_net_output_bytes":
			s.out = n
		case "used_cpu_sys", "used_cpu_user":
			s.processor += n * 1e6
		}
	}
	return s
}

// BenchmarkStoreUses measures each kind of use without a store and with one on a server, by one
// client and by many at once, and what the server has received, sent and computed.
func BenchmarkStoreUses(b *testing.B) {
	of := redistest.Start(b)
	admin := of.Client()
	redistest.Available(b, admin)
	opened, err := streamable.StoreOptions{Secret: []byte(key)}.Open("unix://" + of.Options.Address)
	assert.NilError(b, err)
	b.Cleanup(opened.Close)
	for _, u := range storeUses {
		for name, store := range map[string]*streamable.Store{"alone": nil, "store": opened} {
			if u.name == "… at another server" {
				continue
			}
			measure := func(b *testing.B, use func(c *client)) {
				s := start(b, streamable.Options{Store: store})
				s.offerJobs(b)
				b.Cleanup(func() { assert.Check(b, s.server.Close(context.Background()) == nil) })
				before := spent(b, admin)
				use(s.connect("2025-11-25", ""))
				if store == nil {
					return
				}
				all := spent(b, admin).minus(before)
				for unit, n := range map[string]float64{"bytes-in": all.in, "bytes-out": all.out,
					"store-µs": all.processor} {
					b.ReportMetric(n/float64(b.N), unit+"/op")
				}
			}
			b.Run(u.name+"/"+name, func(b *testing.B) {
				measure(b, func(c *client) {
					for n := 0; b.Loop(); n++ {
						u.use(c, c, n)
					}
				})
			})
			if u.name == "a task that ends at once" {
				continue // of these, one principal may have few
			}
			b.Run(u.name+"/"+name+" at once", func(b *testing.B) {
				measure(b, func(c *client) {
					b.SetParallelism(32)
					b.RunParallel(func(p *testing.PB) {
						own := c.connect("2025-11-25", "")
						for n := 0; p.Next(); n++ {
							u.use(own, own, n)
						}
					})
				})
			})
		}
	}
}
