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
	"github.com/stdwire/stdwire/server"
)

// Defect G4 of other implementations: a second subscription replaces the first, and cancelling one
// ends the other.
func TestG4SubscriptionsAreTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		k := speak(t, s, newest, `{}`)
		for range 3 {
			k.request("subscriptions/listen",
				`{"notifications":{"resourceSubscriptions":["x:1"]}}`).expectMethod(acknowledged, "")
		}
		synctest.Wait()
		hear := func(ids ...int) {
			t.Helper()
			s.ResourceUpdated("x:1")
			var want, got []string
			for _, id := range ids {
				want = append(want,
					fmt.Sprintf(`{"uri":"x:1","_meta":{"io.modelcontextprotocol/subscriptionId":%d}}`,
						id))
				got = append(got, string(k.next().expectMethod(updated, "").Params))
			}
			slices.Sort(got)
			assert.DeepEqual(t, got, want)
			time.Sleep(time.Second)
			k.expectNothing()
		}
		hear(1, 2, 3)
		for i, left := range [][]int{{1, 3}, {3}, {}} {
			k.write(fmt.Sprintf(
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`,
				[]int{2, 1, 3}[i]))
			synctest.Wait()
			hear(left...)
		}
	})
}

// Defect G12 of other implementations: ended subscriptions are kept forever.
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

// Defect G13 of other implementations: one client that does not read delays the notifications of
// all others.
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

// Defect M1 of other implementations: a subscription on a stream blocks the stream.
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

// Defect M2 of other implementations: a subscription with its own connection, as over HTTP, is
// acknowledged but gets no notifications.
func TestM2SubscriptionOfItsOwnConnectionHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		c := s.Integration().NewConn(t.Context(), server.ConnOptions{})
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

// Defect M8 of other implementations: notifications are lost in a burst, and none are coalesced.
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

// A link that fails while it sends a notification does not affect other links.
func TestBrokenLinkHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		broken := s.Integration().NewConn(t.Context(), server.ConnOptions{Link: breaks{}})
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
