package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// The defects that other implementations have, as far as a server on a stream can have them. G are those of one, M those of another.

// A blocking server has, in every place, a handler that runs until it is cancelled, and tells when it begins and why it ends.
type blocking struct {
	*server.Server
	begun chan struct{}
	ended chan error
}

func blocks(o server.Options) blocking {
	b := blocking{begun: make(chan struct{}, 100), ended: make(chan error, 100)}
	b.Server = everywhere(o, func(ctx context.Context) (string, error) {
		b.begun <- struct{}{}
		<-ctx.Done()
		b.ended <- context.Cause(ctx)
		return "", ctx.Err()
	})
	return b
}

// G1: one malformed line kills the session.
func TestG1MalformedLinesAreAnswered(t *testing.T) {
	l := dial(t, quiet, catalog())
	_ = l.stream.SetReadDeadline(time.Now().Add(patience))
	assert.Equal(t, l.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), `{"jsonrpc":"2.0","id":1,"result":{}}`) // settles the framing
	for line, want := range map[string]string{
		`{`:        `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`,
		`nonsense`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`,
		"\x00\xff": `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`,
		`{"jsonrpc":"2.0","id":1,"method":"\xff"`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`,
		`7`:  `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`,
		`[]`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`,
		`{"jsonrpc":"1.0","id":5,"method":"ping"}`:               `{"jsonrpc":"2.0","id":5,"error":{"code":-32600`,
		`{"id":6,"method":"ping"}`:                               `{"jsonrpc":"2.0","id":6,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:              `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":7,"method":7}`:                    `{"jsonrpc":"2.0","id":7,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":8,"method":"ping","params":"x"}`:  `{"jsonrpc":"2.0","id":8,"error":{"code":-3260`,
		`{"jsonrpc":"2.0","id":9,"id":10,"method":"ping"}`:       `,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":11,"method":"ping","method":"x"}`: `,"error":{"code":-32600`,
		strings.Repeat("[", 5000):                                `{"jsonrpc":"2.0","id":null,"error":{"code":-32`,
	} {
		got := l.ask("%s", line)
		assert.Assert(t, strings.Contains(got, want), "%s: %s", line, got)
	}
	l.send("\n  ")
	l.send(`{}`) // without a method and without an id there is nothing to answer
	assert.Equal(t, l.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), `{"jsonrpc":"2.0","id":1,"result":{}}`)
}

// G2, M5: a panic in a tool ends the process, or is answered to nobody; in a resource or a prompt it ends the process.
func TestG2PanicsAreAnswered(t *testing.T) {
	s := everywhere(quiet, func(context.Context) (string, error) { panic("secret") })
	inPlaces(t, func(t *testing.T, p place) {
		in(t, allRevisions, func(t *testing.T, revision string) {
			k := speak(t, s, revision, `{}`)
			m := k.request(p.method, p.params)
			assert.Equal(t, string(m.ID), fmt.Sprint(k.id))
			assert.Assert(t, !strings.Contains(m.raw, "secret"), m.raw)
			if p == places["operation"] {
				assert.Assert(t, strings.Contains(m.raw, `internal_error`), m.raw)
			} else {
				m.fails(-32603, "Internal error")
			}
			k.silent()
		})
	})
}

// G3, M16: ids pass through floating point.
func TestG3IdsAreEchoed(t *testing.T) {
	l := dial(t, quiet, catalog())
	l.initialize("2025-11-25")
	for _, id := range []string{`9007199254740993`, `-9223372036854775809`, `1.5`, `1.50`, `1e3`, `-1`, `0`, `""`, `"1"`, `"\u0061\/"`, `"ä"`} {
		assert.Equal(t, l.ask(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id), `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`)
		got := l.ask(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"weather_get","arguments":{"city":"Oslo"}}}`, id)
		assert.Assert(t, strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"result":{`), got)
		got = l.ask(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"none"}}`, id)
		assert.Assert(t, strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"error":{`), got)
	}
	// Subscriptions are known by their ids to the letter.
	for _, id := range []string{`9007199254740993`, `9007199254740992`, `"9007199254740993"`} {
		got := l.ask(`{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"_meta":{`+modern+`},"notifications":{}}}`, id)
		assert.Assert(t, strings.HasSuffix(got, `"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`}}}`), got)
	}
}

// G4: a second subscription takes the place of the first, and cancelling one ends the other.
func TestG4SubscriptionsAreTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		k := speak(t, s, newest, `{}`)
		for range 3 {
			k.request("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["x:1"]}}`).says(acknowledged, "")
		}
		synctest.Wait()
		hear := func(ids ...int) {
			t.Helper()
			s.ResourceUpdated("x:1")
			var want, got []string
			for _, id := range ids {
				want = append(want, fmt.Sprintf(`{"uri":"x:1","_meta":{"io.modelcontextprotocol/subscriptionId":%d}}`, id))
				got = append(got, string(k.next().says(updated, "").Params))
			}
			slices.Sort(got)
			assert.DeepEqual(t, got, want)
			time.Sleep(time.Second)
			k.silent()
		}
		hear(1, 2, 3)
		for i, left := range [][]int{{1, 3}, {3}, {}} {
			k.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, []int{2, 1, 3}[i]))
			synctest.Wait()
			hear(left...)
		}
	})
}

// G5: what a handler said about caching is overwritten with "public".
func TestG5CacheScopeIsKept(t *testing.T) {
	o := quiet
	o.PublicLists = true
	s := made(o, func(s *server.Server) {
		r := resource("x:1")
		r.Read = func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
			result := text(uri, "mine")
			result.CacheHints = mcp.CacheHints{TTLMs: new(int64(5000)), CacheScope: mcp.CachePrivate}
			return result, nil
		}
		must(t, s.AddResource(r))
	})
	m := speak(t, s, newest, `{}`).request("resources/read", `{"uri":"x:1"}`)
	assert.Assert(t, strings.Contains(m.raw, `"ttlMs":5000,"cacheScope":"private"`), m.raw)
}

// G6: a handler that asks a legacy client twice is given up, and what is for modern clients reaches a legacy one.
func TestG6LegacyClientIsAskedTwice(t *testing.T) {
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		for _, key := range []string{"a", "b", "c"} {
			if _, err := server.Elicit(ctx, key, mcp.ElicitParams{Message: key, RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}); err != nil {
				return "", err
			}
		}
		return "all three", nil
	})
	inPlaces(t, func(t *testing.T, p place) {
		k := speak(t, s, "2025-06-18", everything)
		k.start(p.method, p.params)
		for range 3 {
			k.reply(k.next().says("elicitation/create", ""), `{"action":"accept"}`)
		}
		m := k.next()
		m.told("all three")
		assert.Assert(t, !strings.Contains(m.raw, "inputRequests") && !strings.Contains(m.raw, "resultType"), m.raw)
	})
}

// G7, M4: what takes long delays what comes behind it, its own cancellation too.
func TestG7SlowHandlersDelayNobody(t *testing.T) {
	inPlaces(t, func(t *testing.T, p place) {
		in(t, []string{"2025-11-25", newest}, func(t *testing.T, revision string) {
			s := blocks(quiet)
			k := speak(t, s.Server, revision, `{}`)
			for range 10 {
				k.start(p.method, p.params)
				<-s.begun
			}
			k.silent()
			assert.Assert(t, k.request("tools/list", "").Result != nil)
			first := k.id - 11
			for i := range 10 {
				k.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, first+i))
				assert.ErrorIs(t, <-s.ended, rpc.ErrCancelled)
			}
			k.silent() // none of them is answered
		})
	})
}

// G8: there is no bound to what waits and runs.
func TestG8WhatRunsAndWaitsIsBounded(t *testing.T) {
	o := quiet
	o.Limits = rpc.Limits{MaxRunning: 2, MaxQueued: 3}
	s := blocks(o)
	k := speak(t, s.Server, "2025-11-25", `{}`)
	for range 5 {
		k.start("tools/call", `{"name":"t"}`)
	}
	<-s.begun
	<-s.begun
	k.refuse("tools/call", `{"name":"t"}`, rpc.CodeBusy, "too many requests wait already")
	k.refuse("ping", "", rpc.CodeBusy, "too many requests wait already")
	for id := 6; id >= 2; id-- { // those that wait first: they never run
		k.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	}
	for range 2 {
		assert.ErrorIs(t, <-s.ended, rpc.ErrCancelled)
	}
	for m := k.request("ping", ""); m.Error != nil; m = k.request("ping", "") {
		m.fails(rpc.CodeBusy, "") // they are on their way out
	}
	assert.Equal(t, len(s.begun), 0)
}

// G9, M6: a message may be of any size.
func TestG9MessagesAreBounded(t *testing.T) {
	o := quiet
	o.Limits = rpc.Limits{Limits: framing.Limits{MaxFrame: 10_000}}
	l := dial(t, o, catalog())
	got := l.ask(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%q}}`, strings.Repeat("x", 100_000))
	assert.Assert(t, strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`), got)
	assert.Equal(t, l.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`), `{"jsonrpc":"2.0","id":2,"result":{}}`)
	// A result that is too large is not sent, and its caller not left waiting.
	got = l.ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"weather_get","arguments":{"city":%q},"_meta":{%s}}}`, strings.Repeat("x", 9000), modern)
	assert.Assert(t, strings.HasPrefix(got, `{"jsonrpc":"2.0","id":3,"error":{"code":-32603`), got)
}

// G12: what has ended is kept for ever.
func TestG12SubscriptionsThatEndedAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.MaxSubscriptions, o.MaxWatched = 2, 2
		s := three(t, o)
		k := speak(t, s, newest, `{}`)
		for range 100 {
			k.request("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["x:1"]}}`).says(acknowledged, "")
			k.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, k.id))
			synctest.Wait()
		}
		k = speak(t, s, "2025-11-25", `{}`)
		for i := range 100 {
			k.want("resources/subscribe", fmt.Sprintf(`{"uri":"t:%d"}`, i), `{}`)
			k.want("resources/unsubscribe", fmt.Sprintf(`{"uri":"t:%d"}`, i), `{}`)
		}
	})
}

// G13: one client that does not read delays the news of all others.
func TestG13StuckSubscriberDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		var clients [5]*talk
		for i := range clients {
			clients[i] = speak(t, s, newest, `{}`)
			clients[i].request("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["x:1"],"toolsListChanged":true}}`).says(acknowledged, "")
		}
		synctest.Wait()
		start := time.Now()
		for range 100 {
			s.ResourceUpdated("x:1")
			for _, k := range clients[1:] { // the first reads nothing
				k.next().says(updated, "")
			}
		}
		assert.Equal(t, time.Since(start), time.Duration(0))
	})
}

// G14: what a server has cannot change while it is used.
func TestG14EverythingMayChangeAtAnyTime(t *testing.T) {
	c := dispatch.NewCatalog()
	o := quiet
	o.PageSize = 2
	s := o.New(server.Info{Name: "test", Version: "1.2"}, c)
	completes(s)
	stop := make(chan struct{})
	var changes sync.WaitGroup
	for name, d := range kinds {
		changes.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("%s%d", name, i%5)
				if err := d.add(s, key); err != nil {
					t.Error(err)
					return
				}
				s.ResourceUpdated("x:r")
				if i%2 == 0 {
					d.remove(s, key)
				}
			}
		})
	}
	changes.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				addTool(c, fmt.Sprintf("op.n%d", i%5))
				c.Remove(fmt.Sprintf("op.n%d", i%5))
			}
		}
	})
	t.Run("clients", func(t *testing.T) {
		for _, revision := range []string{"2025-06-18", newest, newest} {
			t.Run(revision, func(t *testing.T) {
				t.Parallel()
				k := speak(t, s, revision, `{}`)
				answer := func(method, params string) {
					t.Helper()
					k.start(method, params)
					m := k.next()
					for m.Method != "" { // news
						m = k.next()
					}
					assert.Assert(t, m.Error == nil || m.Error.Code == -32602 || m.Error.Code == -32002, m.raw)
				}
				if k.modern() {
					k.start("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:r"]}}`)
				} else {
					answer("resources/subscribe", `{"uri":"x:r"}`)
				}
				for i := range 50 {
					for _, d := range kinds {
						answer(d.method, "")
					}
					answer("tools/call", fmt.Sprintf(`{"name":"tool%d"}`, i%5))
					answer("tools/call", fmt.Sprintf(`{"name":"op_n%d"}`, i%5))
					answer("prompts/get", fmt.Sprintf(`{"name":"prompt%d"}`, i%5))
					answer("resources/read", fmt.Sprintf(`{"uri":"r:resource%d"}`, i%5))
					answer("resources/read", `{"uri":"x:1/2"}`)
					answer("completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`)
				}
			})
		}
	})
	close(stop)
	changes.Wait()
}

// G17: handlers of a client that is gone run on.
func TestG17HandlersEndWithTheirClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := blocks(quiet)
		k := speak(t, s.Server, newest, `{}`)
		for _, p := range places {
			k.start(p.method, p.params)
			<-s.begun
		}
		k.stream.Close()
		for range places {
			assert.ErrorIs(t, <-s.ended, rpc.ErrClosed)
		}
	})
}

// G18: a tool with a name that is none is only logged, and a client that has not said what it speaks is served.
func TestG18MistakesAreErrors(t *testing.T) {
	s := made(quiet)
	assert.ErrorContains(t, s.AddTool(echo("no name", `{"type":"object"}`)), "a name is")
	k := connect(t, s)
	k.refuse("tools/list", "", -32602, "say initialize first")
	k.refuse("tools/call", `{"name":"no name"}`, -32602, "say initialize first")
	k.speak("2025-11-25", `{}`)
	k.want("tools/list", "", `{"tools":[]}`)
}

// M1: a subscription on a stream blocks the stream.
func TestM1SubscriptionsBlockNothing(t *testing.T) {
	o := quiet
	o.Limits = rpc.Limits{MaxRunning: 1} // not even where one request runs at a time
	k := speak(t, three(t, o), newest, `{}`)
	for range 20 {
		k.request("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`).says(acknowledged, "")
	}
	assert.Assert(t, k.request("tools/list", "").Result != nil)
	k.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	k.silent()
}

// M2: a subscription that is a connection of its own, as over HTTP, is acknowledged and then hears nothing.
func TestM2SubscriptionOfItsOwnConnectionHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		c := s.NewConn(t.Context(), nil, "")
		defer c.Close()
		link := &post{nil, make(chan string, 10)}
		answered := make(chan message)
		go func() {
			answered <- handle(t, c, link, `{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"_meta":{%s},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:1"]}}}`, modern)
		}()
		assert.Assert(t, strings.HasPrefix(<-link.said, acknowledged))
		synctest.Wait()
		must(t, s.AddTool(echo("new", `{"type":"object"}`)))
		assert.Equal(t, <-link.said, `notifications/tools/list_changed {"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}`)
		s.ResourceUpdated("x:1")
		assert.Equal(t, <-link.said, `notifications/resources/updated {"uri":"x:1","_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}`)
		c.Finish()
		assert.Assert(t, strings.HasPrefix(<-link.said, "notifications/cancelled"))
		m := <-answered
		assert.Equal(t, string(m.ID), `"l"`)
		assert.Assert(t, strings.Contains(m.raw, `"resultType":"complete"`), m.raw)
	})
}

// M3: one client cancels the requests of another that have the same id.
func TestM3ClientsCancelTheirOwnRequests(t *testing.T) {
	s := blocks(quiet)
	victim, attacker := speak(t, s.Server, newest, `{}`), speak(t, s.Server, newest, `{}`)
	for _, k := range []*talk{victim, attacker} {
		k.start("tools/call", `{"name":"t"}`)
		<-s.begun
	}
	for range 2 {
		attacker.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		attacker.silent()
	}
	assert.ErrorIs(t, <-s.ended, rpc.ErrCancelled) // its own
	victim.silent()
	assert.Equal(t, len(s.ended), 0)
	victim.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	assert.ErrorIs(t, <-s.ended, rpc.ErrCancelled)
}

// M7: questions, answers and news of several goroutines are written through each other.
func TestM7MessagesAreWhole(t *testing.T) {
	long := strings.Repeat("ä", 20_000)
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		server.Logger(ctx).Info(long)
		said, err := elicitName(ctx)
		return said + long, err
	})
	k := speak(t, s, "2025-11-25", everything)
	k.want("logging/setLevel", `{"level":"info"}`, `{}`)
	const calls = 40
	k.check = nil // which is not for several goroutines
	var answered int
	questions := make(chan message, calls)
	go func() {
		for i := range calls {
			k.stream.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"t"}}`+"\n", i))
		}
		for range calls {
			q := <-questions
			k.stream.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"action":"cancel"}}`+"\n", q.ID))
		}
	}()
	for answered < calls {
		switch m := k.next(); {
		case m.Method == "elicitation/create":
			questions <- m
		case m.Method == "":
			m.told("cancel " + long)
			answered++
		}
	}
}

// M8: notifications are lost when many come at once, and none are put together.
func TestM8NotificationsAreKept(t *testing.T) {
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		for i := range 1000 {
			server.Logger(ctx).Info("m", "i", i)
			server.Progress(ctx, float64(i+1), 0, "")
		}
		return "done", nil
	})
	inPlaces(t, func(t *testing.T, p place) {
		k := speak(t, s, "2025-11-25", `{}`)
		k.want("logging/setLevel", `{"level":"info"}`, `{}`)
		k.start(p.method, strings.TrimSuffix(p.params, "}")+`,"_meta":{"progressToken":1}}`)
		for i := range 1000 {
			k.next().says("notifications/message", fmt.Sprintf(`{"level":"info","data":{"i":%d,"message":"m"}}`, i))
			k.next().says("notifications/progress", fmt.Sprintf(`{"progressToken":1,"progress":%d}`, i+1))
		}
		k.next().told("done")
	})
	// Changes are another matter: what counts is that there was one.
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		k := speak(t, s, "2025-11-25", `{}`)
		k.silent()
		for i := range 50 {
			must(t, s.AddTool(echo(fmt.Sprint("new", i), `{"type":"object"}`)))
		}
		k.next().says("notifications/tools/list_changed", "")
		assert.Assert(t, len(k.settled()) <= 1)
	})
}

// M16: an error that answers nothing is taken for a request, and answered.
func TestM16StrayAnswersAreNotAnswered(t *testing.T) {
	k := speak(t, three(t, quiet), "2025-11-25", `{}`)
	for _, stray := range []string{`"id":99,"error":{"code":1,"message":"m"}`, `"id":99,"result":{}`, `"id":null,"error":{"code":1,"message":"m"}`, `"id":"x","result":null`} {
		k.write(`{"jsonrpc":"2.0",` + stray + `}`)
	}
	k.silent()
}

// M17: arguments are validated only on request, and a schema that does not compile allows everything.
func TestM17SchemasHold(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		must(t, s.AddTool(echo("strict", `{"type":"object","required":["a"]}`)))
	})
	for _, schema := range []string{`{"type":"object","properties":{"a":{"type":"nonsense"}}}`, `{"type":"object","properties":{"a":{"pattern":"("}}}`, `{"type":"object","$ref":"#/nowhere"}`} {
		assert.ErrorContains(t, s.AddTool(echo("broken", schema)), `server: tool "broken"`)
	}
	k := speak(t, s, newest, `{}`)
	assert.Assert(t, strings.Contains(k.request("tools/call", `{"name":"strict","arguments":{}}`).raw, `"isError":true`))
	k.refuse("tools/call", `{"name":"broken"}`, -32602, "Unknown tool")
}

// A link that breaks while news is told is no reason to stop telling others.
func TestBrokenLinkHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		broken := s.NewConn(t.Context(), breaks{}, "")
		defer broken.Close()
		handle(t, broken, breaks{}, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
		handle(t, broken, breaks{}, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		k := speak(t, s, "2025-11-25", `{}`)
		k.silent()
		for range 3 {
			must(t, s.AddPrompt(recites("p")))
			k.next().says("notifications/prompts/list_changed", "")
			synctest.Wait()
		}
	})
}

type breaks struct{}

func (breaks) Notify(context.Context, string, any) error    { return errors.New("broken") }
func (breaks) Call(context.Context, string, any, any) error { return errors.New("broken") }

// Arguments live as long as the call, whatever else comes in meanwhile.
func TestArgumentsAreNotOverwritten(t *testing.T) {
	release := make(chan struct{})
	s := made(quiet, func(s *server.Server) {
		slow := echo("slow", `{"type":"object"}`)
		slow.Call = func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			before := bytes.Clone(arguments)
			<-release
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(bytes.Equal(before, arguments))}}}, nil
		}
		must(t, s.AddTool(slow))
	})
	k := speak(t, s, newest, `{}`)
	for i := range 10 {
		k.start("tools/call", fmt.Sprintf(`{"name":"slow","arguments":{"x":%q}}`, strings.Repeat(fmt.Sprint(i), 2000)))
	}
	for range 50 {
		k.silent()
	}
	close(release)
	for range 10 {
		m := k.next()
		assert.Assert(t, strings.Contains(m.raw, `"text":"true"`), m.raw)
	}
}
