package streamable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// openStore opens a store of a server, or of this process if there is none, and waits until it is
// there.
func openStore(t *testing.T, of *redistest.Server) *streamable.Store {
	t.Helper()
	url := "memory:"
	if of != nil {
		url = "unix://" + of.Options.Address
		redistest.Available(t, of.Client())
	}
	s, err := streamable.StoreOptions{Secret: []byte(key)}.Open(url)
	assert.NilError(t, err)
	t.Cleanup(s.Close)
	return s
}

// eachStore runs a test with a store in memory and with one on a server.
func eachStore(t *testing.T, f func(t *testing.T, open func() *streamable.Store)) {
	t.Run("memory", func(t *testing.T) {
		one := openStore(t, nil)
		f(t, func() *streamable.Store { return one })
	})
	t.Run("redis", func(t *testing.T) {
		of := redistest.Start(t)
		f(t, func() *streamable.Store { return openStore(t, of) })
	})
}

// share starts replicas with stores of their own connection.
func share(t *testing.T, n int, o streamable.Options, open func() *streamable.Store) []*site {
	t.Helper()
	all := make([]*site, n)
	for i := range all {
		o.Store = open()
		all[i] = startWorld(t, o, server.Options{StateKey: []byte(key)})
		assert.NilError(t, all[i].server.AddResource(server.Resource{
			Resource: mcp.Resource{URI: "sea://depth", Name: "depth"},
			Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
				return nil, errors.New("not read")
			}}))
	}
	return all
}

// at is the session at another replica.
func (c *client) at(s *site) *client { return &client{s, c.id} }

// postUntil posts until the status is another one than 503, which has Retry-After.
func (c *client) postUntil(body string) *answer {
	c.t.Helper()
	var a *answer
	eventually.True(c.t, "another status than 503", func() bool {
		a = c.post(body, "")
		if a.StatusCode == 503 {
			assert.Equal(c.t, a.Header.Get("Retry-After"), "1")
		}
		return a.StatusCode != 503
	})
	return a
}

// until reads events until one has this in its data, and returns it.
func (a *answer) until(contains string) sent {
	a.t.Helper()
	for {
		e, ok := a.next()
		assert.Assert(a.t, ok, "the stream has ended before %s", contains)
		if strings.Contains(e.data, contains) {
			return e
		}
	}
}

const pinged = `{"jsonrpc":"2.0","id":1,"result":{}}`

func ping(c *client) *answer { return c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "") }

// Any replica serves a session, knows what the client has told another one, and sees it end.
func TestReplicasShareSessions(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := share(t, 3, streamable.Options{}, open)
		levels := make(chan mcp.LoggingLevel, 10)
		for _, s := range sites {
			s.offer("level", func(ctx context.Context) (*mcp.CallToolResult, error) {
				levels <- server.LogLevelFrom(ctx)
				return &mcp.CallToolResult{}, nil
			})
		}
		c := sites[0].connect("2025-11-25", "")
		for i := range 9 {
			id := fmt.Sprint(i + 1)
			got := c.at(sites[i%3]).call(id, "echo", "x", "-Accept\nAccept: application/json")
			assert.Equal(t, got.StatusCode, 200)
			assert.Assert(t, strings.Contains(got.text(), `"id":`+id+`,"result"`))
		}
		got := c.at(sites[1]).post(
			`{"jsonrpc":"2.0","id":20,"method":"logging/setLevel","params":{"level":"error"}}`, "")
		got.wants(200, `{"jsonrpc":"2.0","id":20,"result":{}}`)
		for i, s := range sites {
			assert.Equal(t, c.at(s).call(fmt.Sprint(30+i), "level", "", "").StatusCode, 200)
			assert.Equal(t, <-levels, mcp.LoggingLevel("error"))
		}
		// Subscriptions that several replicas get at once are all kept.
		var group sync.WaitGroup
		for i, s := range sites {
			for j := range 5 {
				assert.NilError(t, s.server.AddResourceTemplate(server.ResourceTemplate{
					ResourceTemplate: mcp.ResourceTemplate{Name: fmt.Sprint("t", j),
						URITemplate: fmt.Sprintf("sea://%d/{x}", j)},
					Read: func(context.Context, string, map[string]string) (*mcp.ReadResourceResult,
						error) {
						return nil, nil
					}}))
				group.Go(func() {
					got := c.at(s).post(fmt.Sprintf(
						`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"sea://%d/%d"}}`,
						100+10*i+j, j, i), "")
					assert.Check(t, got.StatusCode == 200)
				})
			}
		}
		group.Wait()
		for _, s := range sites {
			ping(c.at(s)).wants(200, pinged)
			assert.Equal(t, len(s.server.Integration().SubscribedResources()), 15)
		}
		// Nobody learns of sessions that do not exist.
		for _, wrong := range []string{"nonsense", c.id + "A"} {
			assert.Equal(t, ping(&client{sites[2], wrong}).StatusCode, 404)
		}
		// The store was empty a moment ago, so another replica could still put this one back.
		assert.Equal(t, ping(&client{sites[2], strings.Repeat("A", 26)}).StatusCode, 503)
		// The end is seen everywhere, by streams as well.
		stream := c.at(sites[2]).get("").isStream()
		ended := c.at(sites[1]).do(t.Context(), "DELETE", sites[1].url, "",
			header("Mcp-Session-Id: "+c.id))
		assert.Equal(t, ended.StatusCode, 204)
		for open := true; open; { // changes of lists come before
			_, open = stream.next()
		}
		for _, s := range sites {
			assert.Equal(t, ping(c.at(s)).StatusCode, 404)
			eventually.True(t, "the copy is gone",
				func() bool { return s.handler.Stats().Sessions == 0 })
		}
	})
}

// A question of one replica is answered at another, and a request of one cancelled at another.
func TestReplicasShareAnswersAndCancellations(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := share(t, 2, streamable.Options{}, open)
		c := sites[0].connect("2025-06-18", "")
		other := c.at(sites[1])
		stray := func(id string) int {
			return other.post(`{"jsonrpc":"2.0","id":`+id+`,"result":{"action":"accept"}}`, "").
				StatusCode
		}
		assert.Equal(t, stray("77"), 202)
		asking := c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`, "").
			isStream()
		var question struct{ ID json.Number }
		assert.NilError(t, json.Unmarshal([]byte(asking.event("Who?").data), &question))
		reply := func(name string) int {
			return other.post(`{"jsonrpc":"2.0","id":`+question.ID.String()+
				`,"result":{"action":"accept","content":{"name":"`+name+`"}}}`, "").StatusCode
		}
		assert.Equal(t, stray("78"), 202)
		assert.Equal(t, reply("Ada"), 202)
		asking.event(`accept{\"name\":\"Ada\"}`)
		asking.ends()
		assert.Equal(t, reply("late"), 202) // as in one process

		held := make(chan *answer, 1)
		go func() { held <- c.call("3", "hold", "x", "") }()
		<-sites[0].begun
		// Another client's request with the same id is not meant.
		stranger := sites[1].connect("2025-06-18", "")
		const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"enough"}}`
		assert.Equal(t, stranger.post(cancel, "").StatusCode, 202)
		assert.Equal(t, other.post(cancel, "").StatusCode, 202)
		assert.ErrorContains(t, <-sites[0].ended, "enough")
		(<-held).isStream().ends()
	})
}

// A call whose id was used runs on no other replica: not while the first runs, not after it, and
// not if its replica is gone.
func TestReplicasRunCallsOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := share(t, 3, streamable.Options{}, open)
		ran := make(chan string, 100)
		for _, s := range sites {
			s.offer("count", func(context.Context) (*mcp.CallToolResult, error) {
				ran <- "once"
				return &mcp.CallToolResult{}, nil
			})
		}
		c := sites[0].connect("2025-03-26", "")
		var group sync.WaitGroup
		codes := make(chan int, 30)
		for i := range 30 { // all at once
			group.Go(func() { codes <- c.at(sites[i%3]).call("5", "count", "", "").StatusCode })
		}
		group.Wait()
		close(codes)
		served := 0
		for code := range codes {
			if code == 200 {
				served++
			} else {
				assert.Check(t, code == 409 || code == 400, "%d", code)
			}
		}
		assert.Equal(t, served, 1)
		assert.Equal(t, len(ran), 1)
		again := c.at(sites[1]).call("5", "count", "", "")
		assert.Equal(t, again.StatusCode, 409)
		text := again.text()
		assert.Assert(t, strings.Contains(text, `"id":5`) &&
			strings.Contains(text, "outcome of that one is unknown"), text)
		batch := c.at(sites[2]).post(`[{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"count"}},
			{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"count"}}]`, "").text()
		assert.Assert(t, strings.Contains(batch, "outcome of that one is unknown") &&
			strings.Contains(batch, `"id":6,"result"`), batch)
		assert.Equal(t, len(ran), 2)
		// What only reads may run again.
		for _, s := range sites {
			ping(c.at(s)).wants(200, pinged)
		}

		// A replica that dies: its call is not run again, and the session goes on elsewhere.
		group.Go(func() {
			c.do(t.Context(), "POST", c.url, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"hold","arguments":{"text":""}}}`,
				header("Mcp-Session-Id: "+c.id))
		})
		<-sites[0].begun
		sites[0].handler.Close()
		<-sites[0].ended
		assert.Equal(t, c.at(sites[1]).call("9", "hold", "", "").StatusCode, 409)
		assert.Equal(t, c.at(sites[2]).call("10", "count", "", "").StatusCode, 200)
		group.Wait()
	})
}

// While the store cannot be reached, sessions wait; they go on when it is back, even without what
// it had.
func TestReplicasWithoutTheirStore(t *testing.T) {
	of := redistest.Start(t)
	sites := share(t, 2, streamable.Options{}, func() *streamable.Store { return openStore(t, of) })
	c := sites[0].connect("2025-06-18", "")
	other := c.at(sites[1])
	ping(other).wants(200, pinged)
	deleted := sites[0].connect("2025-11-25", "")
	ping(deleted.at(sites[1])).wants(200, pinged)
	assert.Equal(t, deleted.do(t.Context(), "DELETE", deleted.url, "",
		header("Mcp-Session-Id: "+deleted.id)).StatusCode, 204)
	eventually.True(t, "the copy is gone",
		func() bool { return sites[1].handler.Stats().Sessions == 1 })
	asking := c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`, "").
		isStream()
	var question struct{ ID json.Number }
	assert.NilError(t, json.Unmarshal([]byte(asking.event("Who?").data), &question))
	stream := c.get("").isStream()

	of.Kill()
	for _, s := range sites {
		eventually.True(t, "a session is refused",
			func() bool { return ping(c.at(s)).StatusCode == 503 })
		down := ping(c.at(s))
		assert.Equal(t, down.Header.Get("Retry-After"), "1")
		assert.Assert(t, strings.Contains(down.text(), "the session goes on"))
	}
	opened := sites[0].do(t.Context(), "POST", sites[0].url,
		strings.Replace(initialize, "REVISION", "2025-11-25", 1), "")
	assert.Equal(t, opened.StatusCode, 503)
	assert.Equal(t, opened.Header.Get("Mcp-Session-Id"), "")
	assert.Equal(t, sites[0].tool("echo", `{"text":"modern"}`, "").StatusCode, 200)

	of.Restart() // empty
	// An answer waits until the replica that asked has made the call known again.
	answered := other.postUntil(`{"jsonrpc":"2.0","id":` + question.ID.String() +
		`,"result":{"action":"accept","content":{"name":"Ada"}}}`)
	assert.Equal(t, answered.StatusCode, 202)
	asking.event(`accept{\"name\":\"Ada\"}`)
	asking.ends()
	other.postUntil(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).wants(200, pinged)
	sites[0].changeTools("new")
	stream.until("tools/list_changed") // it was never closed
}

// A session ends when nobody uses it, and not while a stream or a request of it is open anywhere.
func TestSharedSessionsExpire(t *testing.T) {
	o := streamable.Options{Store: openStore(t, nil), Heartbeat: 24 * time.Hour}
	inBubble(t, o, func(t *testing.T, one *bubble) {
		two, end := openBubble(t, new(http.Server), o)
		defer end()
		session, idle := one.connect("2025-06-18"), one.connect("2025-11-25")
		stream := two.dial().ask("GET", "", session+"\nAccept: text/event-stream")
		time.Sleep(20 * time.Minute)
		assert.Equal(t, two.ping(idle), 200) // it is used
		time.Sleep(20 * time.Minute)
		assert.Equal(t, one.ping(idle), 200)
		time.Sleep(40 * time.Minute)
		assert.Equal(t, one.handler.Stats().Sessions, 0)
		assert.Equal(t, one.ping(session), 200) // it was open at another replica only
		for _, b := range []*bubble{one, two} {
			assert.Equal(t, b.ping(idle), 404)
		}
		two.changeTools("new")
		stream.until("tools/list_changed")
	})
}

// The session of a principal is not that of another one, and ends everywhere with its credentials.
func TestSharedSessionsBelongToTheirPrincipal(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		var mu sync.Mutex
		type credentials struct {
			context.Context
			end context.CancelFunc
		}
		known := map[string]credentials{}
		o := streamable.Options{Authorize: func(r *http.Request) (streamable.Caller, error) {
			mu.Lock()
			defer mu.Unlock()
			name := r.Header.Get("Authorization")
			if _, ok := known[name]; !ok {
				ctx, cancel := context.WithCancel(context.Background())
				known[name] = credentials{ctx, cancel}
			}
			return streamable.Caller{Principal: name, Credentials: known[name]}, nil
		}}
		sites := share(t, 2, o, open)
		c := sites[0].connect("2025-11-25", "Authorization: ada")
		const body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		for range 2 { // before and after the other replica has a copy
			assert.Equal(t, c.at(sites[1]).post(body, "Authorization: bob").StatusCode, 404)
			assert.Equal(t, c.at(sites[1]).post(body, "Authorization: ada").StatusCode, 200)
		}
		known["ada"].end()
		eventually.True(t, "the session ends", func() bool {
			mu.Lock()
			delete(known, "ada") // other credentials of the same principal
			mu.Unlock()
			return c.at(sites[1]).post(body, "Authorization: ada").StatusCode == 404
		})
		assert.Equal(t, c.post(body, "Authorization: ada").StatusCode, 404)
	})
}

// A change of one replica reaches the clients of all: streams of sessions wherever they are, also
// those that are opened later, and subscriptions of modern clients.
func TestReplicasShareChanges(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := share(t, 3, streamable.Options{}, open)
		c := sites[0].connect("2025-06-18", "")
		const subscribe = `{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"sea://depth"}}`
		c.at(sites[1]).post(subscribe, "").wants(200, `{"jsonrpc":"2.0","id":4,"result":{}}`)
		stream := c.at(sites[2]).get("").isStream()
		listening := sites[1].modern("subscriptions/listen", "",
			`"notifications":{"toolsListChanged":true,"resourceSubscriptions":["sea://depth"]},`,
			"").isStream()
		listening.until("acknowledged")
		for _, s := range sites {
			s.server.ResourceUpdated("sea://depth")
			stream.until(`"notifications/resources/updated","params":{"uri":"sea://depth"}`)
			listening.until(`"uri":"sea://depth"`)
		}
		sites[0].server.ResourceUpdated("sea://other") // nobody has subscribed to it
		sites[0].changeTools("new")
		stream.until("tools/list_changed")
		listening.until("tools/list_changed")

		// A session whose stream is opened after a change, at a replica that did not know it.
		late := sites[0].connect("2025-06-18", "")
		release := sites[1].server.Integration().DeferListChanged()
		sites[1].changeTools("newer")
		sites[1].changeTools("newest")
		release()
		stream.until("tools/list_changed")
		late.at(sites[2]).get("").isStream().until("tools/list_changed")
	})
}

// What changes while the store cannot be reached is told when it is back.
func TestReplicasShareChangesLater(t *testing.T) {
	of := redistest.Start(t)
	sites := share(t, 2, streamable.Options{}, func() *streamable.Store { return openStore(t, of) })
	c := sites[0].connect("2025-06-18", "")
	stream := c.at(sites[1]).get("").isStream()
	sites[0].changeTools("first")
	stream.until("tools/list_changed")
	of.Kill()
	eventually.True(t, "a session is refused", func() bool { return ping(c).StatusCode == 503 })
	sites[0].changeTools("second")
	of.Restart()
	stream.until("tools/list_changed")
}

// A random history over several replicas has the answers that one process without a store gives.
func TestReplicasDoAsOneProcess(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := share(t, 3, streamable.Options{}, open)
		one := share(t, 1, streamable.Options{}, func() *streamable.Store { return nil })[0]
		for _, s := range append([]*site{one}, sites...) {
			for i := range 4 {
				assert.NilError(t, s.server.AddResource(server.Resource{
					Resource: mcp.Resource{URI: fmt.Sprint("sea://", i), Name: fmt.Sprint(i)},
					Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
						return nil, errors.New("not read")
					}}))
			}
			s.offer("level", func(ctx context.Context) (*mcp.CallToolResult, error) {
				client := server.ConnFrom(ctx)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
					Text: fmt.Sprint(server.LogLevelFrom(ctx),
						client.Capabilities().Elicitation != nil, server.ClientFrom(ctx).Name,
						client.Revision())}}}, nil
			})
		}
		for seed := range uint64(4) {
			random := rand.New(rand.NewPCG(seed, 7))
			var model, replicated []*client
			for step := range 120 {
				revision := []string{"2025-03-26", "2025-06-18", "2025-11-25"}[random.IntN(3)]
				if len(model) == 0 || random.IntN(25) == 0 {
					model = append(model, one.connect(revision, ""))
					replicated = append(replicated, sites[random.IntN(3)].connect(revision, ""))
				}
				i := random.IntN(len(model))
				a, b := model[i], replicated[i].at(sites[random.IntN(3)])
				method, body := "POST", ""
				switch random.IntN(8) {
				case 0:
					body = fmt.Sprintf(`"method":"logging/setLevel","params":{"level":%q}`,
						[]string{"debug", "error", "none"}[random.IntN(3)])
				case 1:
					body = fmt.Sprintf(`"method":"resources/%s","params":{"uri":"sea://%d"}`,
						[]string{"subscribe", "unsubscribe"}[random.IntN(2)], random.IntN(5))
				case 2:
					body = `"method":"tools/call","params":{"name":"absent"}`
				case 3:
					body = `"method":"nonsense"`
				case 4:
					if random.IntN(6) == 0 {
						method = "DELETE"
					}
					body = `"method":"ping"`
				default:
					body = `"method":"tools/call","params":{"name":"level"}`
				}
				body = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, step, body)
				do := func(c *client) string {
					got := c.do(t.Context(), method, c.url, body,
						header("Mcp-Session-Id: "+c.id+"\n-Accept\nAccept: application/json"))
					return fmt.Sprint(got.StatusCode, " ", got.text())
				}
				assert.Equal(t, do(b), do(a), "seed %d, step %d: %s %s", seed, step, method, body)
			}
			// The subscriptions of all sessions are the same, once each replica has looked.
			for i, c := range replicated {
				for _, s := range sites {
					assert.Equal(t, ping(c.at(s)).StatusCode, ping(model[i]).StatusCode)
				}
			}
			for _, s := range sites {
				assert.DeepEqual(t, s.server.Integration().SubscribedResources(),
					one.server.Integration().SubscribedResources())
			}
			for i := range model {
				model[i].do(t.Context(), "DELETE", one.url, "", header("Mcp-Session-Id: "+model[i].id))
				replicated[i].do(t.Context(), "DELETE", sites[0].url, "",
					header("Mcp-Session-Id: "+replicated[i].id))
			}
			for _, s := range sites {
				eventually.True(t, "all copies are gone",
					func() bool { return s.handler.Stats().Sessions == 0 })
			}
		}
	})
}

// A store that can be reached but is full refuses sessions, and says so.
func TestSessionsWithAFullStore(t *testing.T) {
	of := redistest.Start(t)
	kept := openStore(t, of)
	s := share(t, 1, streamable.Options{}, func() *streamable.Store { return kept })[0]
	admin := of.Client()
	redistest.Available(t, admin)
	limit := func(bytes string) {
		_, err := admin.Do(t.Context(), "CONFIG", "SET", "maxmemory", bytes)
		assert.NilError(t, err)
	}
	s.connect("2025-06-18", "")
	assert.NilError(t, kept.Failure())
	limit("1")
	refused := s.do(t.Context(), "POST", s.url,
		strings.Replace(initialize, "REVISION", "2025-11-25", 1), "")
	assert.Equal(t, refused.StatusCode, 503)
	assert.ErrorContains(t, kept.Failure(), "there is no room")
	eventually.True(t, "the session that was refused is gone", func() bool {
		return s.handler.Stats().Sessions == 1
	})
	limit("0")
	s.connect("2025-06-18", "")
}
