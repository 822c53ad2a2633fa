package streamable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store/storetest"
	"github.com/stdwire/stdwire/server/streamable"
)

// storeUses are the ways to use a server with a store, the round trips to the store that each
// takes, and a function that does it once, the nth time.
var storeUses = []struct {
	name  string
	trips int
	use   func(c *client, n int)
}{
	{"modern call", 0, func(c *client, _ int) {
		_ = c.tool("echo", `{"text":"x"}`, "").text()
	}},
	{"legacy request", 1, func(c *client, _ int) { _ = ping(c).text() }},
	{"legacy call", 2, func(c *client, n int) {
		_ = c.call(strconv.Itoa(n), "echo", "x", "-Accept\nAccept: application/json").text()
	}},
	// The call, its question, the answer at this replica, that the question is forgotten, and the
	// two events of its stream, for which nothing waits.
	{"legacy question", 7, func(c *client, n int) { answerAt(c, c, n) }},
	// A replica looks at its own notices too, and at those that come together once: there are some
	// more.
	{"legacy session", 9, func(c *client, n int) {
		s := c.connect("2025-11-25", "")
		a := s.do(context.Background(), "DELETE", s.url, "", header("Mcp-Session-Id: "+s.id))
		_, _ = io.Copy(io.Discard, a.in)
	}},
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

// What each kind of use costs at the store.
func TestRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := storetest.New(1, storetest.Faults{})
		open := func() *site {
			b, end := openBubble(t, new(http.Server),
				streamable.Options{Store: streamable.StoreOf(of.Link())})
			t.Cleanup(end)
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
		costs := func(what string, trips, more int, use func()) {
			t.Helper()
			synctest.Wait()
			before := of.Load().Operations
			use()
			synctest.Wait()
			got := of.Load().Operations - before
			assert.Check(t, got >= trips && got <= trips+more, "%s takes %d round trips, want %d to %d",
				what, got, trips, trips+more)
		}
		for i, u := range storeUses {
			more := 0
			if u.name == "legacy session" {
				more = 6
			}
			costs(u.name, u.trips, more, func() { u.use(c, 100+i) })
		}
		costs("a question that is answered elsewhere", 10, 0, func() { answerAt(c, elsewhere, 200) })
	})
}

// spent returns the bytes that a server has received and sent since it was started, and the
// microseconds of its processor that commands have taken.
func spent(b *testing.B, c *redis.Client) (all [3]float64) {
	reply, err := c.Do(context.Background(), "INFO", "everything")
	assert.NilError(b, err)
	text, err := reply.Bytes()
	assert.NilError(b, err)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		n := 0.0
		switch name {
		case "total_net_input_bytes":
			all[0], err = strconv.ParseFloat(value, 64)
		case "total_net_output_bytes":
			all[1], err = strconv.ParseFloat(value, 64)
		case "cmdstat_evalsha", "cmdstat_get", "cmdstat_set", "cmdstat_publish":
			_, value, _ = strings.Cut(value, "usec=")
			value, _, _ = strings.Cut(value, ",")
			n, err = strconv.ParseFloat(value, 64)
			all[2] += n
		}
		assert.NilError(b, err)
	}
	return all
}

// BenchmarkStoreUses measures each kind of use without a store and with one on a server, and what
// that has received, sent and computed.
func BenchmarkStoreUses(b *testing.B) {
	of := redistest.Start(b)
	admin := of.Client()
	redistest.Available(b, admin)
	opened, err := streamable.OpenStore("unix://"+of.Options.Address,
		streamable.StoreOptions{Secret: []byte(key)})
	assert.NilError(b, err)
	b.Cleanup(opened.Close)
	for _, u := range storeUses {
		for name, store := range map[string]*streamable.Store{"alone": nil, "store": opened} {
			b.Run(u.name+"/"+name, func(b *testing.B) {
				s := start(b, streamable.Options{Store: store})
				c := s.connect("2025-11-25", "")
				before, n := spent(b, admin), 0
				for b.Loop() {
					n++
					u.use(c, n)
				}
				if store == nil {
					return
				}
				after := spent(b, admin)
				for i, unit := range []string{"bytes-in/op", "bytes-out/op", "store-µs/op"} {
					b.ReportMetric((after[i]-before[i])/float64(n), unit)
				}
			})
		}
	}
}
