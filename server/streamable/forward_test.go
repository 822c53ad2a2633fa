package streamable_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// An owner is a replica that owns sessions.
type owner struct {
	*site
	front atomic.Pointer[http.HandlerFunc] // in place of the handler; nil: the handler
}

// own starts replicas that own their sessions.
func own(t *testing.T, n int, o streamable.Options, open func() *streamable.Store) []*owner {
	t.Helper()
	all := make([]*owner, n)
	for i := range all {
		s := httptest.NewUnstartedServer(nil)
		var forward streamable.Forward
		if o.Forward != nil {
			forward = *o.Forward
		}
		forward.URL = "http://" + s.Listener.Addr().String()
		if forward.TLS != nil {
			forward.URL = "https://" + s.Listener.Addr().String()
		}
		o := o
		o.Store, o.Forward, o.Logger = open(), &forward, slog.New(slog.DiscardHandler)
		w := newFixture(server.Options{StateKey: []byte(key)})
		w.offer("where", func(context.Context) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{
				&mcp.TextContent{Text: fmt.Sprint("at ", i)}}}, nil
		})
		h := o.New(w.server)
		at := new(owner)
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if front := at.front.Load(); front != nil {
				(*front)(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
		transport := &http.Transport{MaxIdleConnsPerHost: 100, TLSClientConfig: forward.TLS}
		if forward.TLS == nil {
			s.Start()
		} else {
			s.StartTLS()
			forward.TLS.RootCAs.AddCert(s.Certificate())
		}
		t.Cleanup(func() {
			h.Close()
			transport.CloseIdleConnections()
			s.Close()
		})
		at.site = &site{w, t, h, s.URL + "/mcp", &http.Client{Transport: transport}}
		all[i] = at
	}
	return all
}

const onlyJSON = "-Accept\nAccept: application/json"

// Whatever replica a request reaches, it runs at the one that owns the session: calls and batches
// with progress, questions, answers and cancellations, streams that are resumed, large bodies and
// results, and the end.
func TestForwarding(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := own(t, 3, streamable.Options{MaxBody: 10 << 20}, open)
		c := sites[0].connect("2025-11-25", "")
		b, d := c.at(sites[1].site), c.at(sites[2].site)
		for i, at := range []*client{c, b, d, b, c} {
			got := at.call(fmt.Sprint(10+i), "where", "", onlyJSON)
			assert.Assert(t, strings.Contains(got.text(), "at 0"))
		}
		assert.Equal(t, sites[1].handler.Stats(), streamable.Stats{Forwarded: 2})

		steps := b.call("20", "steps", "x", "").isStream()
		steps.until("one")
		begun := steps.event("two")
		<-sites[0].begun
		sites[0].release <- struct{}{}
		steps.event("three")
		steps.event(`"id":20,"result"`)
		steps.ends()
		resumed := d.get(header("Last-Event-ID: " + begun.id)).isStream()
		resumed.event("three")
		resumed.event(`"id":20,"result"`)
		resumed.ends()

		asking := b.post(`{"jsonrpc":"2.0","id":21,"method":"tools/call","params":{"name":"ask"}}`,
			"").isStream()
		var question struct{ ID json.Number }
		for question.ID == "" {
			e, ok := asking.next()
			assert.Assert(t, ok)
			if strings.Contains(e.data, "Who?") {
				assert.NilError(t, json.Unmarshal([]byte(e.data), &question))
			}
		}
		assert.Equal(t, d.post(`{"jsonrpc":"2.0","id":`+question.ID.String()+
			`,"result":{"action":"accept","content":{"name":"Ada"}}}`, "").StatusCode, 202)
		asking.event(`accept{\"name\":\"Ada\"}`)
		asking.ends()

		held := make(chan *answer, 1)
		go func() { held <- b.call("22", "hold", "x", "") }()
		<-sites[0].begun
		assert.Equal(t, d.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":22,"reason":"enough"}}`,
			"").StatusCode, 202)
		assert.ErrorContains(t, <-sites[0].ended, "enough")
		for stream, open := (<-held).isStream(), true; open; {
			_, open = stream.next()
		}
		// A client that leaves does not end its call, which goes on and can be resumed.
		ctx, leave := context.WithCancel(t.Context())
		left := b.do(ctx, "POST", b.url, `{"jsonrpc":"2.0","id":23,"method":"tools/call","params":{"name":"steps","arguments":{"text":"x"},"_meta":{"progressToken":1}}}`,
			header("Mcp-Session-Id: "+c.id)).isStream()
		left.until("one")
		begun = left.event("two")
		<-sites[0].begun
		leave()
		sites[0].release <- struct{}{}
		d.get(header("Last-Event-ID: " + begun.id)).isStream().until(`"id":23,"result"`)
		again := d.call("23", "steps", "x", "")
		assert.Equal(t, again.StatusCode, 409, again.text())

		large := strings.Repeat("0123456789abcdef", 8<<20/16)
		got := b.call("30", "echo", large, onlyJSON).text()
		assert.Assert(t, len(got) > 8<<20 && strings.Contains(got, large), "%d bytes", len(got))

		stream := d.get("").isStream()
		sites[0].changeTools("new")
		stream.until("tools/list_changed")
		for _, s := range sites[1:] {
			assert.Equal(t, s.handler.Stats().Sessions, 0)
		}
		ended := b.do(t.Context(), "DELETE", b.url, "", header("Mcp-Session-Id: "+c.id))
		assert.Equal(t, ended.StatusCode, 204)
		for open := true; open; {
			_, open = stream.next()
		}
		for _, s := range sites {
			assert.Equal(t, ping(c.at(s.site)).StatusCode, 404)
		}
		old := sites[2].connect("2025-03-26", "").at(sites[1].site).post(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"where"}},
			{"jsonrpc":"2.0","id":2,"method":"ping"}]`, onlyJSON).text()
		assert.Assert(t, strings.Contains(old, "at 2") && strings.Contains(old, `"id":2,"result"`), old)
	})
}

// A call whose id was used runs at no replica, however many are asked at once.
func TestForwardedCallsRunOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := own(t, 3, streamable.Options{}, open)
		ran := make(chan int, 100)
		for i, s := range sites {
			s.offer("count", func(context.Context) (*mcp.CallToolResult, error) {
				ran <- i
				return &mcp.CallToolResult{}, nil
			})
		}
		c := sites[0].connect("2025-06-18", "")
		for round := range 5 {
			var group sync.WaitGroup
			for i := range 20 {
				group.Go(func() {
					got := c.at(sites[i%3].site).call(fmt.Sprint(round), "count", "", "")
					assert.Check(t, got.StatusCode == 200 || got.StatusCode == 409 ||
						got.StatusCode == 400, "%d", got.StatusCode)
				})
			}
			group.Wait()
			assert.Equal(t, len(ran), 1)
			assert.Equal(t, <-ran, 0)
		}
	})
}

// Over TLS, another replica must have a certificate of a trusted authority.
func TestForwardingOverTLS(t *testing.T) {
	one := openStore(t, nil)
	trusting := &tls.Config{RootCAs: x509.NewCertPool()}
	sites := own(t, 2, streamable.Options{Forward: &streamable.Forward{TLS: trusting}},
		func() *streamable.Store { return one })
	c := sites[0].connect("2025-06-18", "")
	got := c.at(sites[1].site).call("1", "where", "", onlyJSON).text()
	assert.Assert(t, strings.Contains(got, "at 0"), got)

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	forward := &streamable.Forward{URL: "https://127.0.0.1:1",
		TLS: &tls.Config{RootCAs: x509.NewCertPool()}}
	var dials atomic.Int32
	streamable.DialBy(forward, func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials.Add(1) == 2 { // it has failed once
			leave()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	})
	var log bytes.Buffer
	strict := streamable.Options{Store: one, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Forward: forward}.New(sites[1].server)
	defer strict.Close()
	r := httptest.NewRequestWithContext(ctx, "POST", "http://localhost/mcp",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Mcp-Session-Id", c.id)
	w := httptest.NewRecorder()
	strict.ServeHTTP(w, r)
	assert.Equal(t, w.Code, 503)
	strict.Close()
	text := log.String()
	assert.Assert(t, strings.Contains(text, "certificate signed by unknown authority") &&
		strings.Contains(text, strings.TrimSuffix(sites[0].url, "/mcp")), text)
}

// What is passed on counts as what is served, except that an answer reaches the call that waits for
// it.
func TestForwardingIsBounded(t *testing.T) {
	one := openStore(t, nil)
	sites := own(t, 2, streamable.Options{MaxRequests: 1, MaxStreams: 1},
		func() *streamable.Store { return one })
	c := sites[0].connect("2025-06-18", "").at(sites[1].site)
	stream := c.get("").isStream()
	full := c.get("")
	assert.Equal(t, full.StatusCode, 503, full.text())
	asking := c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`, "").
		isStream()
	var question struct{ ID json.Number }
	assert.NilError(t, json.Unmarshal([]byte(asking.event("Who?").data), &question))
	full = ping(c)
	assert.Equal(t, full.StatusCode, 503)
	text := full.text()
	assert.Assert(t, strings.Contains(text, `"id":1`) && strings.Contains(text, "which is the limit"),
		text)
	assert.Equal(t, c.post(`{"jsonrpc":"2.0","id":`+question.ID.String()+
		`,"result":{"action":"decline"}}`, "").StatusCode, 202)
	asking.event("decline")
	asking.ends()
	eventually.True(t, "the slot is free", func() bool { return ping(c).StatusCode == 200 })
	assert.NilError(t, stream.Body.Close())
	eventually.True(t, "the stream has ended", func() bool {
		return sites[0].handler.Stats().Streams == 0 && sites[1].handler.Stats().Streams == 0
	})
}

// Handlers know of the caller at the owner what they know where the request arrived, and nobody
// reaches the session of another principal.
func TestForwardingPassesTheCallerOn(t *testing.T) {
	type groupKey struct{}
	o := streamable.Options{
		Authorize: func(r *http.Request) (streamable.Caller, error) {
			name := r.Header.Get("Authorization")
			if name == "" {
				return streamable.Caller{}, &streamable.Refusal{}
			}
			return streamable.Caller{Principal: name,
				Context: context.WithValue(r.Context(), groupKey{}, "group of "+name)}, nil
		},
		Forward: &streamable.Forward{
			Values: func(ctx context.Context) ([]byte, error) {
				group, _ := ctx.Value(groupKey{}).(string)
				return []byte(group), nil
			},
			WithValues: func(ctx context.Context, values []byte) (context.Context, error) {
				return context.WithValue(ctx, groupKey{}, string(values)), nil
			}}}
	one := openStore(t, nil)
	sites := own(t, 2, o, func() *streamable.Store { return one })
	for _, s := range sites {
		s.offer("group", func(ctx context.Context) (*mcp.CallToolResult, error) {
			group, _ := ctx.Value(groupKey{}).(string)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: group}}}, nil
		})
	}
	c := sites[0].connect("2025-11-25", "Authorization: ada")
	for i, s := range sites {
		got := c.at(s.site).call(fmt.Sprint(i), "group", "", "Authorization: ada\n"+onlyJSON).text()
		assert.Assert(t, strings.Contains(got, "group of ada"), got)
		for j, who := range []header{"Authorization: bob", "Authorization: bob", ""} {
			refused := c.at(s.site).call(fmt.Sprint(10*i+j), "group", "", who).StatusCode
			assert.Equal(t, refused, map[bool]int{true: 401, false: 404}[who == ""])
		}
	}
}

// Only a request that another replica has sealed for this one is accepted in the name of somebody,
// once, as it was, and is never passed on again.
func TestForgedForwarding(t *testing.T) {
	one := openStore(t, nil)
	authorize := func(r *http.Request) (streamable.Caller, error) {
		if r.Header.Get("Authorization") == "" {
			return streamable.Caller{}, &streamable.Refusal{}
		}
		return streamable.Caller{Principal: "ada"}, nil
	}
	sites := own(t, 3, streamable.Options{Authorize: authorize},
		func() *streamable.Store { return one })
	c := sites[0].connect("2025-11-25", "Authorization: ada")
	// A proxy between two replicas shows what they send.
	sent := make(chan *http.Request, 10)
	bodies := make(chan string, 10)
	var through sync.Once
	target := sites[0].handler
	front := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Stdwire-Forwarded") != "" {
			through.Do(func() {
				text, err := io.ReadAll(r.Body)
				assert.Check(t, err)
				bodies <- string(text)
				sent <- r.Clone(context.Background())
				r.Body = io.NopCloser(strings.NewReader(string(text)))
			})
		}
		target.ServeHTTP(w, r)
	})
	sites[0].front.Store(&front)
	got := c.at(sites[1].site).call("1", "where", "", "Authorization: ada\n"+onlyJSON).text()
	assert.Assert(t, strings.Contains(got, "at 0"), got)
	seen, body := <-sent, <-bodies
	sealed := seen.Header.Get("Stdwire-Forwarded")
	for name := range seen.Header {
		assert.Assert(t, name != "Authorization")
	}
	assert.Assert(t, !strings.Contains(fmt.Sprint(seen.Header), "ada"))

	send := func(s *site, method, path, body, sealed string) int {
		t.Helper()
		return s.do(t.Context(), method, strings.TrimSuffix(s.url, "/mcp")+path, body,
			header("Stdwire-Forwarded: "+sealed+"\nMcp-Session-Id: "+c.id)).StatusCode
	}
	assert.Equal(t, send(sites[0].site, "POST", "/mcp", body, sealed), 421) // again
	frame := func(from, to *owner) string {
		return streamable.Frame(from.handler, to.handler, c.id, "GET", "/mcp", "ada")
	}
	for i, at := range []int{
		send(sites[0].site, "POST", "/mcp", body, "nonsense"),
		send(sites[0].site, "POST", "/mcp", body, "AAAA"+sealed[4:]),
		send(sites[0].site, "POST", "/mcp", body, strings.Repeat("A", 60<<10)),
		send(sites[2].site, "POST", "/mcp", body, sealed),                    // another receiver
		send(sites[0].site, "DELETE", "/mcp", "", frame(sites[1], sites[0])), // another method
		send(sites[0].site, "GET", "/mcp/x", "", frame(sites[1], sites[0])),  // another path
		send(sites[0].site, "POST", "/mcp", `{"jsonrpc":"2.0","id":9,"method":"ping"}`,
			streamable.Frame(sites[1].handler, sites[0].handler, c.id, "POST", "/mcp", "ada")),
		send(sites[2].site, "GET", "/mcp", "", frame(sites[1], sites[2])),     // not the owner: no loop
		send(sites[0].site, "GET", "/mcp", "", frame(sites[1], sites[0])[4:]), // cut
	} {
		assert.Equal(t, at, 421, "%d", i)
	}
	assert.Equal(t, sites[2].handler.Stats().Forwarded, int64(0))
	// Where sessions have no owners, the header says nothing.
	plain := startWorld(t, streamable.Options{Authorize: func(*http.Request) (streamable.Caller,
		error) {
		return streamable.Caller{}, &streamable.Refusal{}
	}}, server.Options{})
	assert.Equal(t, send(plain, "GET", "/mcp", "", sealed), 401)
}

// What answers at the address of an owner that is gone, or has been started again without Forward,
// says nothing of the session: only a marked response reaches the client.
func TestAnotherProgramAtTheAddress(t *testing.T) {
	one := openStore(t, nil)
	sites := own(t, 2, streamable.Options{}, func() *streamable.Store { return one })
	c := sites[0].connect("2025-11-25", "")
	for i, status := range []int{401, 404, 200} {
		var answered atomic.Int32
		front := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Stdwire-Forwarded") == "" || answered.Add(1) > 1 {
				sites[0].handler.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Stdwire-Forwarded", "AAAA")
			w.WriteHeader(status)
		})
		sites[0].front.Store(&front)
		d := c.at(sites[1].site)
		ping(d).wants(200, pinged)
		assert.Equal(t, answered.Load(), int32(2), "%d", status)
		answered.Store(0)
		got := d.call(fmt.Sprint(i), "where", "", onlyJSON) // nobody has begun it
		assert.Equal(t, got.StatusCode, 200)
		assert.Equal(t, got.Header.Get("Stdwire-Forwarded"), "")
		assert.Equal(t, answered.Load(), int32(2), "%d", status)
	}
}

func TestForwardURLs(t *testing.T) {
	for url, want := range map[string]bool{
		"http://10.0.0.5:8081": true, "https://a.example/": true, "http://[::1]:80": true,
		"": false, "10.0.0.5:8081": false, "ftp://a": false, "http://": false, "http://:80": false,
		"http://a/mcp": false, "http://u:p@a": false, "http://a?x": false, "http://a#": false,
		"http://a b": false, "http://0.0.0.0:80": false, "http://[::]:80": false,
		"http://[::ffff:0.0.0.0]:80": false, "http://fd00::5:8081": false, "http://fd00::5": false,
	} {
		err := (&streamable.Forward{URL: url}).Check()
		assert.Equal(t, err == nil, want, "%s: %v", url, err)
	}
}
