package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const updated, acknowledged = "notifications/resources/updated",
	"notifications/subscriptions/acknowledged"

// three returns a server with the resources x:1 to x:3 and the template t:{id}.
func three(t *testing.T, o server.Options) *server.Server {
	return made(o, func(s *server.Server) {
		must(t, errors.Join(s.AddResource(resource("x:1")), s.AddResource(resource("x:2")),
			s.AddResource(resource("x:3")), s.AddResourceTemplate(echoes("t:{id}"))))
	})
}

func TestLegacyResourceSubscriptions(t *testing.T) {
	in(t, legacyRevisions, func(t *testing.T, revision string) {
		synctest.Test(t, func(t *testing.T) {
			s := three(t, quiet)
			k := speak(t, s, revision, `{}`)
			for _, uri := range []string{"x:1", "x:1", "x:2", "t:7"} {
				k.want("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri), `{}`)
			}
			k.expectError("resources/subscribe", `{"uri":"x:9"}`, -32002, "Resource not found: x:9")
			k.expectError("resources/subscribe", `{}`, -32602, "uri is required")
			for range 5 {
				s.ResourceUpdated("x:1")
				s.ResourceUpdated("x:3") // no client has subscribed
				s.ResourceUpdated("t:7")
				s.ResourceUpdated("x:9")
			}
			// once, or twice if the first was sent before the last change
			got := k.settledNotifications()
			slices.Sort(got)
			assert.Assert(t, len(got) <= 4, got)
			assert.DeepEqual(t, slices.Compact(got), []string{`{"uri":"t:7"}`, `{"uri":"x:1"}`})

			k.want("resources/unsubscribe", `{"uri":"x:1"}`, `{}`)
			k.want("resources/unsubscribe", `{"uri":"x:9"}`, `{}`) // not subscribed
			s.ResourceUpdated("x:1")
			s.ResourceUpdated("x:2")
			k.next().expectMethod(updated, `{"uri":"x:2"}`)
			time.Sleep(time.Second)
			k.expectNothing()
		})
	})
}

func TestSubscriptionsToResourcesAreBounded(t *testing.T) {
	o := quiet
	o.MaxWatched = 2
	s := three(t, o)
	k := speak(t, s, "2025-11-25", `{}`)
	k.want("resources/subscribe", `{"uri":"x:1"}`, `{}`)
	k.want("resources/subscribe", `{"uri":"x:2"}`, `{}`)
	k.want("resources/subscribe", `{"uri":"x:2"}`, `{}`) // a second subscription to the same URI
	k.expectError("resources/subscribe", `{"uri":"x:3"}`, rpc.CodeBusy,
		"2 resources are subscribed to already")
	k.want("resources/unsubscribe", `{"uri":"x:1"}`, `{}`)
	k.want("resources/subscribe", `{"uri":"x:3"}`, `{}`)

	k = speak(t, s, newest, `{}`)
	k.expectError("subscriptions/listen",
		`{"notifications":{"resourceSubscriptions":["x:1","x:2","x:3"]}}`, -32602,
		"more than 2 resources")
	k.request("subscriptions/listen",
		`{"notifications":{"resourceSubscriptions":["x:1","x:2"]}}`).expectMethod(acknowledged, "")
}

func TestModernResourceSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		k := speak(t, s, newest, `{}`)
		listen := func(uris string) (meta string) {
			k.start("subscriptions/listen", `{"notifications":{"resourceSubscriptions":`+uris+`}}`)
			meta = fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/subscriptionId":%d}`, k.id)
			k.next().expectMethod(acknowledged, `{"notifications":{"resourceSubscriptions":`+uris+`},`+meta+
				`}`)
			synctest.Wait()
			return meta
		}
		first := listen(`["x:1","x:2"]`)
		second := listen(`["x:2","x:3"]`)
		s.ResourceUpdated("x:1")
		k.next().expectMethod(updated, `{"uri":"x:1",`+first+`}`)
		s.ResourceUpdated("x:2")
		got := []string{string(k.next().Params), string(k.next().Params)}
		slices.Sort(got)
		assert.DeepEqual(t, got,
			[]string{`{"uri":"x:2",` + first + `}`, `{"uri":"x:2",` + second + `}`})
		s.ResourceUpdated("x:9")
		must(t, s.AddResource(resource("x:4"))) // the client has not subscribed to list changes
		time.Sleep(time.Second)
		k.expectNothing()

		k.write(fmt.Sprintf(
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`,
			strings.Trim(first[strings.LastIndex(first, ":")+1:], "}")))
		synctest.Wait()
		s.ResourceUpdated("x:1")
		s.ResourceUpdated("x:2")
		k.next().expectMethod(updated, `{"uri":"x:2",`+second+`}`)
		time.Sleep(time.Second)
		k.expectNothing()
	})
}

func TestListenRefuses(t *testing.T) {
	k := speak(t, three(t, quiet), newest, `{}`)
	for _, params := range []string{`{}`, `{"notifications":null}`, `{"notifications":[]}`,
		`{"notifications":true}`} {
		k.expectError("subscriptions/listen", params, -32602,
			"notifications is required and must be an object")
	}
	for _, filter := range []string{`{"toolsListChanged":"yes"}`, `{"resourceSubscriptions":"x:1"}`,
		`{"resourceSubscriptions":[1]}`, `{"toolsListChanged":true,"toolsListChanged":true}`} {
		k.expectError("subscriptions/listen", `{"notifications":`+filter+`}`, -32602, "notifications")
	}
}

// A subscription gets only notifications about items of the server.
func TestListenIsAcknowledgedForWhatThereIs(t *testing.T) {
	const everything = `{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:1"],"future":true}}`
	for name, tc := range map[string]struct {
		add  func(s *server.Server)
		want string
	}{
		"nothing": {func(*server.Server) {}, `{"toolsListChanged":true}`},
		"prompts": {func(s *server.Server) { must(t, s.AddPrompt(recites("p"))) },
			`{"toolsListChanged":true,"promptsListChanged":true}`},
		"resources": {func(s *server.Server) {
			must(t, s.AddResource(resource("x:2")))
		}, `{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:1"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			k := speak(t, made(quiet, tc.add), newest, `{}`)
			m := k.request("subscriptions/listen", everything).expectMethod(acknowledged, "")
			assert.Assert(t, strings.Contains(m.raw, `"notifications":`+tc.want+`,`), m.raw)
		})
	}
}

// Each kind of list has its own notification in both eras, one for a burst of changes.
func TestListChangedOfEveryKind(t *testing.T) {
	changed := map[mcp.Kind]string{
		mcp.KindTool:             "notifications/tools/list_changed",
		mcp.KindPrompt:           "notifications/prompts/list_changed",
		mcp.KindResource:         "notifications/resources/list_changed",
		mcp.KindResourceTemplate: "notifications/resources/list_changed",
	}
	in(t, allRevisions, func(t *testing.T, revision string) {
		synctest.Test(t, func(t *testing.T) {
			s := made(quiet, completes)
			k := speak(t, s, revision, `{}`)
			meta := ""
			if k.modern() {
				k.request("subscriptions/listen",
					`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`).expectMethod(
					acknowledged, "")
				meta = fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%d}}`, k.id)
			}
			synctest.Wait()
			for name, d := range kinds {
				for i := range 20 {
					must(t, d.add(s, fmt.Sprintf("new%d", i)))
				}
				k.next().expectMethod(changed[name], meta)
				first := len(k.settledNotifications())
				// one was sent after the first change, the other after that was read
				assert.Assert(t, first <= 1, first)
				for i := range 20 {
					assert.Equal(t, d.remove(s, fmt.Sprintf("new%d", i)), 1)
				}
				k.next().expectMethod(changed[name], meta)
				second := len(k.settledNotifications())
				assert.Assert(t, second <= 1, second)
				assert.Equal(t, d.remove(s, "new0"), 0) // no change, no notification
				assert.Equal(t, len(k.settledNotifications()), 0)
			}
		})
	})
}

// A client that does not read gets each notification once or twice when it reads again, however
// many updates there were. The server does not wait.
func TestUpdatesCoalesce(t *testing.T) {
	for _, revision := range []string{"2025-11-25", newest} {
		for name, o := range map[string]server.Options{"plain": quiet,
			"with middleware": passing(quiet)} {
			t.Run(revision+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := three(t, o)
					k := speak(t, s, revision, `{}`)
					if k.modern() {
						k.request("subscriptions/listen",
							`{"notifications":{"resourceSubscriptions":["x:1","x:2"]}}`).expectMethod(
							acknowledged, "")
					} else {
						k.want("resources/subscribe", `{"uri":"x:1"}`, `{}`)
						k.want("resources/subscribe", `{"uri":"x:2"}`, `{}`)
					}
					for range 1000 {
						s.ResourceUpdated("x:1")
						s.ResourceUpdated("x:2")
						synctest.Wait()
					}
					news := len(k.settledNotifications())
					// the first are being sent when the second arrive
					assert.Assert(t, news >= 2 && news <= 4, "%d pieces of news", news)
				})
			})
		}
	}
}

// passing adds middleware that does nothing.
func passing(o server.Options) server.Options {
	nothing := func(next rpc.Handler) rpc.Handler { return next }
	o.Middleware, o.Outgoing = []rpc.Middleware{nothing}, []rpc.Middleware{nothing}
	return o
}

// A gate is a link that delays the acknowledgment.
type gate struct {
	open chan struct{}
	said chan string
}

func (g *gate) Notify(ctx context.Context, method string, params any) error {
	text, err := params.(rpc.Appender).AppendJSON(nil)
	if err != nil {
		return err
	}
	if method == acknowledged {
		<-g.open
	}
	g.said <- method + " " + string(text)
	return nil
}

func (g *gate) Call(context.Context, string, any, any) error {
	return errors.New("a modern client is not called")
}

// Changes that happen while the acknowledgment is being sent are sent after it: all of them,
// however often some resources changed.
func TestNotificationBeforeTheAcknowledgmentIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		g := &gate{make(chan struct{}), make(chan string, 100)}
		c := s.Integration().NewConn(t.Context(), server.ConnOptions{})
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			m, err := rpc.ParseMessage(
				[]byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{` +
					modern + `},
				"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:1","x:2"]}}}`))
			assert.Check(t, err == nil)
			_, err = c.Handle(ctx, m.Request(), g)
			ended <- err
		}()
		synctest.Wait()
		for range 50 {
			s.ResourceUpdated("x:1")
		}
		must(t, s.AddRawTool(echo("new", `{"type":"object"}`)))
		s.ResourceUpdated("x:2")
		synctest.Wait()
		assert.Equal(t, len(g.said), 0)
		close(g.open)
		synctest.Wait()
		var said []string
		for range len(g.said) {
			method, _, _ := strings.Cut(<-g.said, ",")
			said = append(said, method)
		}
		assert.Assert(t, len(said) == 4 && strings.HasPrefix(said[0], acknowledged), said)
		slices.Sort(said[1:])
		assert.DeepEqual(t, said[1:],
			[]string{updated + ` {"uri":"x:1"`, updated + ` {"uri":"x:2"`,
				`notifications/tools/list_changed {"_meta":{"io.modelcontextprotocol/subscriptionId":1}}`})
		cancel()
		assert.ErrorIs(t, <-ended, context.Canceled)
		s.ResourceUpdated("x:1") // without a subscriber
		synctest.Wait()
		assert.Equal(t, len(g.said), 0)
	})
}

// A client that disconnects leaves no state that could disturb the next change.
func TestSubscriptionsEndWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		gone := speak(t, s, newest, `{}`)
		gone.request("subscriptions/listen",
			`{"notifications":{"resourceSubscriptions":["x:1"]}}`).expectMethod(acknowledged, "")
		k := speak(t, s, "2025-11-25", `{}`)
		k.want("resources/subscribe", `{"uri":"x:1"}`, `{}`)
		s.ResourceUpdated("x:1") // the client does not read it
		gone.stream.Close()
		k.next().expectMethod(updated, `{"uri":"x:1"}`)
		synctest.Wait()
		s.ResourceUpdated("x:1")
		k.next().expectMethod(updated, `{"uri":"x:1"}`)
		k.stream.Close()
		synctest.Wait()
		assert.DeepEqual(t, s.Integration().SubscribedResources(), []string(nil))
	})
}

func TestSubscribersOfOneResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		modern := speak(t, s, newest, `{}`)
		for range 2 { // each filter contains the URI twice, and is accepted with it once
			modern.start("subscriptions/listen",
				`{"notifications":{"resourceSubscriptions":["x:1","x:1"]}}`)
			modern.next().expectMethod(acknowledged,
				fmt.Sprintf(`{"notifications":{"resourceSubscriptions":["x:1"]},`+
					`"_meta":{"io.modelcontextprotocol/subscriptionId":%d}}`, modern.id))
		}
		k1, k2 := speak(t, s, "2025-11-25", `{}`), speak(t, s, "2025-06-18", `{}`)
		k1.want("resources/subscribe", `{"uri":"x:1"}`, `{}`)
		k2.want("resources/subscribe", `{"uri":"x:1"}`, `{}`)
		synctest.Wait() // until the subscriptions are active
		s.ResourceUpdated("x:1")
		for _, k := range []*lineClient{modern, modern, k1, k2} {
			k.next().expectMethod(updated, "")
		}
		k1.want("resources/unsubscribe", `{"uri":"x:1"}`, `{}`)
		k2.stream.Close()
		synctest.Wait()
		s.ResourceUpdated("x:1")
		modern.next().expectMethod(updated, "")
		modern.next().expectMethod(updated, "")
		synctest.Wait()
		modern.expectNothing()
		k1.expectNothing()
		assert.DeepEqual(t, s.Integration().SubscribedResources(), []string{"x:1"})
		modern.stream.Close()
		synctest.Wait()
		assert.DeepEqual(t, s.Integration().SubscribedResources(), []string(nil))
	})
}
