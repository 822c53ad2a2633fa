package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// More defects of other implementations.

// G12: ended subscriptions are kept forever.
func TestG12SubscriptionsThatEndedAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.MaxSubscriptions, o.MaxWatched = 2, 2
		s := three(t, o)
		k := speak(t, s, newest, `{}`)
		for range 100 {
			k.request("subscriptions/listen",
				`{"notifications":{"resourceSubscriptions":["x:1"]}}`).expectMethod(acknowledged, "")
			k.write(fmt.Sprintf(
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`,
				k.id))
			synctest.Wait()
		}
		k = speak(t, s, "2025-11-25", `{}`)
		for i := range 100 {
			k.want("resources/subscribe", fmt.Sprintf(`{"uri":"t:%d"}`, i), `{}`)
			k.want("resources/unsubscribe", fmt.Sprintf(`{"uri":"t:%d"}`, i), `{}`)
		}
	})
}

// G13: one client that does not read delays the notifications of all others.
func TestG13StuckSubscriberDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		var clients [5]*lineClient
		for i := range clients {
			clients[i] = speak(t, s, newest, `{}`)
			clients[i].request("subscriptions/listen",
				`{"notifications":{"resourceSubscriptions":["x:1"],"toolsListChanged":true}}`).expectMethod(
				acknowledged, "")
		}
		synctest.Wait()
		start := time.Now()
		for range 100 {
			s.ResourceUpdated("x:1")
			for _, k := range clients[1:] { // the first client reads nothing
				k.next().expectMethod(updated, "")
			}
		}
		assert.Equal(t, time.Since(start), time.Duration(0))
	})
}

// G14: the items of a server cannot change while it is used.
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
					for m.Method != "" { // notifications
						m = k.next()
					}
					assert.Assert(t, m.Error == nil || m.Error.Code == -32602 ||
						m.Error.Code == -32002, m.raw)
				}
				if k.modern() {
					k.start("subscriptions/listen",
						`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:r"]}}`)
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
					answer("completion/complete",
						`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`)
				}
			})
		}
	})
	close(stop)
	changes.Wait()
}

// G17: handlers continue after their client has disconnected.
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
			assert.ErrorIs(t, <-s.ended, rpc.ErrShutdown)
		}
	})
}

// G18: an invalid name of a tool is only logged, and a client that has not declared its revision is
// served.
func TestG18MistakesAreErrors(t *testing.T) {
	s := made(quiet)
	assert.ErrorContains(t, s.AddRawTool(echo("no name", `{"type":"object"}`)), "a name is")
	k := connect(t, s)
	k.expectError("tools/list", "", -32602, "send initialize first")
	k.expectError("tools/call", `{"name":"no name"}`, -32602, "send initialize first")
	k.speak("2025-11-25", `{}`)
	k.want("tools/list", "", `{"tools":[]}`)
}

// M1: a subscription on a stream blocks the stream.
func TestM1SubscriptionsBlockNothing(t *testing.T) {
	o := quiet
	o.Limits = rpc.Limits{MaxRunning: 1} // not even if only one request runs at a time
	k := speak(t, three(t, o), newest, `{}`)
	for range 20 {
		k.request("subscriptions/listen",
			`{"notifications":{"toolsListChanged":true}}`).expectMethod(acknowledged, "")
	}
	assert.Assert(t, k.request("tools/list", "").Result != nil)
	k.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	k.expectNothing()
}

// M2: a subscription with its own connection, as over HTTP, is acknowledged but gets no
// notifications.
func TestM2SubscriptionOfItsOwnConnectionHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		c := s.Integration().NewConn(t.Context(), nil, "")
		defer c.Close()
		link := &post{nil, make(chan string, 10)}
		answered := make(chan message)
		go func() {
			answered <- handle(t, c, link,
				`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"_meta":{%s},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:1"]}}}`,
				modern)
		}()
		assert.Assert(t, strings.HasPrefix(<-link.said, acknowledged))
		synctest.Wait()
		must(t, s.AddRawTool(echo("new", `{"type":"object"}`)))
		assert.Equal(t, <-link.said,
			`notifications/tools/list_changed {"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}`)
		s.ResourceUpdated("x:1")
		assert.Equal(t, <-link.said,
			`notifications/resources/updated {"uri":"x:1","_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}`)
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
	for _, k := range []*lineClient{victim, attacker} {
		k.start("tools/call", `{"name":"t"}`)
		<-s.begun
	}
	for range 2 {
		attacker.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		attacker.expectNothing()
	}
	assert.ErrorIs(t, <-s.ended, rpc.ErrCancelled) // the client's own request
	victim.expectNothing()
	assert.Equal(t, len(s.ended), 0)
	victim.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	assert.ErrorIs(t, <-s.ended, rpc.ErrCancelled)
}

// M7: requests, responses and notifications of several goroutines are interleaved.
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
	k.check = nil // it does not support several goroutines
	var answered int
	questions := make(chan message, calls)
	go func() {
		for i := range calls {
			k.stream.Write(fmt.Appendf(nil,
				`{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"t"}}`+"\n", i))
		}
		for range calls {
			q := <-questions
			k.stream.Write(fmt.Appendf(nil,
				`{"jsonrpc":"2.0","id":%s,"result":{"action":"cancel"}}`+"\n", q.ID))
		}
	}()
	for answered < calls {
		switch m := k.next(); {
		case m.Method == "elicitation/create":
			questions <- m
		case m.Method == "":
			m.expectText("cancel " + long)
			answered++
		}
	}
}

// M8: notifications are lost in a burst, and none are coalesced.
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
			k.next().expectMethod("notifications/message",
				fmt.Sprintf(`{"level":"info","data":{"i":%d,"message":"m"}}`, i))
			k.next().expectMethod("notifications/progress",
				fmt.Sprintf(`{"progressToken":1,"progress":%d}`, i+1))
		}
		k.next().expectText("done")
	})
	// Change notifications may be coalesced: only the fact of a change matters.
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		k := speak(t, s, "2025-11-25", `{}`)
		k.expectNothing()
		for i := range 50 {
			must(t, s.AddRawTool(echo(fmt.Sprint("new", i), `{"type":"object"}`)))
		}
		k.next().expectMethod("notifications/tools/list_changed", "")
		assert.Assert(t, len(k.settledNotifications()) <= 1)
	})
}

// M16: an error response to an unknown request is treated as a request, and answered.
func TestM16StrayAnswersAreNotAnswered(t *testing.T) {
	k := speak(t, three(t, quiet), "2025-11-25", `{}`)
	for _, stray := range []string{`"id":99,"error":{"code":1,"message":"m"}`,
		`"id":99,"result":{}`, `"id":null,"error":{"code":1,"message":"m"}`,
		`"id":"x","result":null`} {
		k.write(`{"jsonrpc":"2.0",` + stray + `}`)
	}
	k.expectNothing()
}

// M17: arguments are validated only on request, and an invalid schema accepts everything.
func TestM17SchemasHold(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		must(t, s.AddRawTool(echo("strict", `{"type":"object","required":["a"]}`)))
	})
	for _, schema := range []string{`{"type":"object","properties":{"a":{"type":"nonsense"}}}`,
		`{"type":"object","properties":{"a":{"pattern":"("}}}`,
		`{"type":"object","$ref":"#/nowhere"}`} {
		assert.ErrorContains(t, s.AddRawTool(echo("broken", schema)), `server: tool "broken"`)
	}
	k := speak(t, s, newest, `{}`)
	assert.Assert(t,
		strings.Contains(k.request("tools/call", `{"name":"strict","arguments":{}}`).raw,
			`"isError":true`))
	k.expectError("tools/call", `{"name":"broken"}`, -32602, "Unknown tool")
}

// A link that fails while it sends a notification does not affect other links.
func TestBrokenLinkHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		broken := s.Integration().NewConn(t.Context(), breaks{}, "")
		defer broken.Close()
		handle(t, broken, breaks{},
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
		handle(t, broken, breaks{}, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		k := speak(t, s, "2025-11-25", `{}`)
		k.expectNothing()
		for range 3 {
			must(t, s.AddPrompt(recites("p")))
			k.next().expectMethod("notifications/prompts/list_changed", "")
			synctest.Wait()
		}
	})
}

type breaks struct{}

func (breaks) Notify(context.Context, string, any) error    { return errors.New("broken") }
func (breaks) Call(context.Context, string, any, any) error { return errors.New("broken") }

// Arguments are valid during the whole call, whatever messages arrive meanwhile.
func TestArgumentsAreNotOverwritten(t *testing.T) {
	release := make(chan struct{})
	s := made(quiet, func(s *server.Server) {
		slow := echo("slow", `{"type":"object"}`)
		slow.Call = func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult,
			error) {
			before := bytes.Clone(arguments)
			<-release
			return &mcp.CallToolResult{
				Content: []mcp.Content{
					&mcp.TextContent{Text: fmt.Sprint(bytes.Equal(before, arguments))}}}, nil
		}
		must(t, s.AddRawTool(slow))
	})
	k := speak(t, s, newest, `{}`)
	for i := range 10 {
		k.start("tools/call",
			fmt.Sprintf(`{"name":"slow","arguments":{"x":%q}}`,
				strings.Repeat(fmt.Sprint(i), 2000)))
	}
	for range 50 {
		k.expectNothing()
	}
	close(release)
	for range 10 {
		m := k.next()
		assert.Assert(t, strings.Contains(m.raw, `"text":"true"`), m.raw)
	}
}
