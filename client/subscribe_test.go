package client

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/internal/subscription"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

func TestSubscribe(t *testing.T) {
	eras(t, func(t *testing.T, era mcp.Era) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(server.Options{})
			for _, uri := range []string{"a:1", "a:2", "a:3"} {
				addResource(t, s, uri, say("x"))
			}
			addPrompt(t, s, "p", say("x"))
			news := make(chan string, 100)
			c, err := Options{Era: era,
				OnResourceUpdated: func(uri string) { news <- uri },
				OnResourcesChanged: func(all []*mcp.Resource,
					err error) {
					news <- fmt.Sprint(len(all), " resources ", err)
				},
				OnPromptsChanged: func(all []*mcp.Prompt,
					err error) {
					news <- fmt.Sprint(len(all), " prompts ", err)
				},
			}.Connect(t.Context(), streamTo(t, s))
			assert.NilError(t, err)
			quietly := func() {
				t.Helper()
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.Equal(t, len(news), 0)
			}
			s.ResourceUpdated("a:1")
			quietly()
			assert.NilError(t, c.Subscribe(t.Context(), "a:1", "a:2"))
			assert.NilError(t, c.Subscribe(t.Context(), "a:2"))
			synctest.Wait()
			for _, uri := range []string{"a:2", "a:1"} {
				s.ResourceUpdated(uri)
				assert.Equal(t, <-news, uri)
			}
			s.ResourceUpdated("a:3")
			quietly()
			assert.NilError(t, c.Subscribe(t.Context(), "a:3"))
			synctest.Wait() // the previous stream has ended: for a moment, both send notifications
			for _, uri := range []string{"a:1", "a:3"} {
				s.ResourceUpdated(uri)
				assert.Equal(t, <-news, uri)
			}
			assert.NilError(t, c.Unsubscribe(t.Context(), "a:1", "a:9"))
			synctest.Wait()
			s.ResourceUpdated("a:1")
			quietly()
			s.ResourceUpdated("a:2")
			assert.Equal(t, <-news, "a:2")

			addPrompt(t, s, "q", say("x"))
			assert.Equal(t, <-news, "2 prompts <nil>")
			addResource(t, s, "a:4", say("x"))
			assert.Equal(t, <-news, "4 resources <nil>")
			assert.NilError(t, c.Unsubscribe(t.Context(), "a:2", "a:3"))
			synctest.Wait()
			s.ResourceUpdated("a:2")
			s.Remove(mcp.KindResource, "a:2")
			assert.Equal(t, <-news, "3 resources <nil>")
			quietly()
			shut(t, c)
		})
	})
}

// Without callbacks for lists, there is a stream only while there is a subscription.
func TestSubscribeOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(server.Options{})
		addResource(t, s, "a:1", say("x"))
		news := make(chan string, 100)
		c, err := Options{OnResourceUpdated: func(uri string) { news <- uri }}.Connect(t.Context(),
			streamTo(t, s))
		assert.NilError(t, err)
		for range 3 {
			assert.Assert(t, c.listening.Current() == nil)
			assert.NilError(t, c.Subscribe(t.Context(), "a:1"))
			s.ResourceUpdated("a:1")
			assert.Equal(t, <-news, "a:1")
			assert.NilError(t, c.Unsubscribe(t.Context(), "a:1"))
		}
		shut(t, c)
	})
}

func acked(m message, uris ...string) string {
	agreed := ""
	if len(uris) > 0 {
		agreed = `"resourceSubscriptions":["` + strings.Join(uris, `","`) + `"]`
	}
	return fmt.Sprintf(
		`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{%s}}`, m.ID,
		agreed)
}

// A lost stream is opened again with all subscriptions and with growing delays, and possible
// changes are reported.
func TestSubscribeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		news := make(chan string, 100)
		listens := make(chan message, 100)
		var server *scripted
		c, err := Options{OnResourceUpdated: func(uri string) { news <- uri }}.Connect(t.Context(),
			stream(func(s *scripted) {
				server = s
				s.reply(s.read(), everything)
				for m := s.read(); m.line != ""; m = s.read() {
					if m.Method == mcp.MethodListen {
						s.notify(mcp.NotificationSubscriptionsAcknowledged, acked(m, "a:1", "a:2"))
					}
					listens <- m
				}
			}))
		assert.NilError(t, err)
		assert.NilError(t, c.Subscribe(t.Context(), "a:1"))
		assert.NilError(t, c.Subscribe(t.Context(), "a:2"))
		first, m, cancelled := <-listens, <-listens, <-listens
		assert.Equal(t, string(cancelled.Params),
			fmt.Sprintf(`{"requestId":%s,"reason":"cancelled by the client"}`, first.ID))
		for _, after := range []time.Duration{1, 2, 4} {
			began := time.Now()
			server.reply(m, `{"resultType":"complete"}`)
			m = <-listens
			assert.Equal(t, time.Since(began), after*time.Second)
			assert.Assert(t,
				strings.Contains(m.line, `"notifications":{"resourceSubscriptions":["a:1","a:2"]}`),
				m.line)
			assert.Equal(t, <-news+<-news, "a:1a:2")
		}
		server.notify(mcp.NotificationResourceUpdated, `{"uri":"a:1/below"}`)
		assert.Equal(t, <-news, "a:1/below")
		server.reply(m, `{"resultType":"complete"}`)
		synctest.Wait()
		// at a time without a stream, so a new one is opened
		assert.NilError(t, c.Unsubscribe(t.Context(), "a:2"))
		assert.Assert(t, strings.Contains((<-listens).line, `["a:1"]`))
		assert.Equal(t, <-news, "a:1")
		time.Sleep(time.Hour)
		assert.Equal(t, len(listens), 0)
		shut(t, c)
	})
}

// Possible changes are reported once no change can be missed any more: when the server has
// acknowledged the new stream, or has not done so in time.
func TestSubscribeAgainSlowly(t *testing.T) {
	for delay, told := range map[time.Duration]time.Duration{
		200 * time.Millisecond: 200 * time.Millisecond, time.Hour: 300 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				news := make(chan string, 100)
				c, err := Options{OnResourceUpdated: func(uri string) {
					news <- uri
				}}.Connect(t.Context(), stream(func(s *scripted) {
					s.reply(s.read(), everything)
					first := s.read()
					s.notify(mcp.NotificationSubscriptionsAcknowledged, acked(first, "a:1"))
					time.Sleep(time.Minute)
					s.reply(first, `{"resultType":"complete"}`)
					second := s.read()
					time.Sleep(delay)
					s.notify(mcp.NotificationSubscriptionsAcknowledged, acked(second, "a:1"))
					s.hold()
				}))
				assert.NilError(t, err)
				assert.NilError(t, c.Subscribe(t.Context(), "a:1"))
				began := time.Now()
				assert.Equal(t, <-news, "a:1")
				assert.Equal(t, time.Since(began), time.Minute+time.Second+told)
				time.Sleep(2 * time.Hour)
				assert.Equal(t, len(news), 0)
				shut(t, c)
			})
		})
	}
}

// A failed subscription does not affect the earlier ones.
func TestSubscribeFails(t *testing.T) {
	for name, test := range map[string]struct {
		script func(s *scripted, m message)
		want   string
		is     error
	}{
		"not agreed": {func(s *scripted, m message) {
			s.notify(mcp.NotificationSubscriptionsAcknowledged, acked(m, "a:1"))
		},
			`subscriptions/listen "a:2": the server does not agree to send change notifications`,
			ErrNotAgreed},
		"refused": {func(s *scripted, m message) { s.refuse(m, -32602, "no") },
			"subscriptions/listen: no (code -32602)", rpc.ErrInvalidParams},
		"ended": {func(s *scripted, m message) { s.reply(m, `{}`) },
			"subscriptions/listen: ended by the server", subscription.ErrEnded},
		"cancelled": {func(s *scripted, m message) {
			s.notify("notifications/cancelled", fmt.Sprintf(`{"requestId":%s}`, m.ID))
		},
			"subscriptions/listen: ended by the server", subscription.ErrEnded},
		"silence": {func(*scripted, message) {},
			"subscriptions/listen: no answer after 7s; the server last sent something 7s ago",
			context.DeadlineExceeded},
		"a stranger's acknowledgment": {func(s *scripted, m message) {
			m.ID = []byte(`"x"`)
			s.notify(mcp.NotificationSubscriptionsAcknowledged, acked(m, "a:1", "a:2"))
		},
			"subscriptions/listen: no answer after 7s; the server last sent something 7s ago",
			context.DeadlineExceeded},
		"hung up": {func(s *scripted, _ message) { s.out.Close() },
			"subscriptions/listen: closed the connection", rpc.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				news := make(chan string, 100)
				o := Options{CallTimeout: 7 * time.Second,
					OnResourceUpdated: func(uri string) { news <- uri }}
				c, err := o.Connect(t.Context(), stream(func(s *scripted) {
					s.reply(s.read(), everything)
					s.notify(mcp.NotificationSubscriptionsAcknowledged, acked(s.read(), "a:1"))
					test.script(s, s.read())
					s.hold()
				}))
				assert.NilError(t, err)
				assert.NilError(t, c.Subscribe(t.Context(), "a:1"))
				was := c.listening.Current()
				err = c.Subscribe(t.Context(), "a:2")
				assert.Error(t, err, `server "server": `+test.want)
				assert.ErrorIs(t, err, test.is)
				assert.Assert(t, c.listening.Current() == was)
				assert.DeepEqual(t, c.listening.Subscribed(), map[string]bool{"a:1": true})
				assert.NilError(t, c.Close())
				_ = c.Wait()
			})
		})
	}
}

func TestSubscribeInVain(t *testing.T) {
	c := connect(t, Options{}, (*scripted).modern)
	assert.Error(t, c.Subscribe(t.Context(), "a:1"),
		`server "server": resources/subscribe: Options.OnResourceUpdated is not set, so no update would be reported`)
	o := Options{OnResourceUpdated: func(string) {}}
	for _, handshake := range []func(*scripted){(*scripted).modern, (*scripted).legacy} {
		c = connect(t, o, handshake)
		assert.ErrorIs(t, c.Subscribe(t.Context(), "a:1"), rpc.ErrMethodNotFound)
	}
	s := newServer(server.Options{})
	addResource(t, s, "a:1", say("x"))
	c = connectTo(t, s, Options{Era: mcp.Legacy, OnResourceUpdated: func(string) {}})
	err := c.Subscribe(t.Context(), "a:1", "a:2")
	assert.ErrorContains(t, err, `server "server": resources/subscribe "a:2": `)
	assert.DeepEqual(t, c.listening.Subscribed(), map[string]bool{"a:1": true})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, c.Subscribe(cancelled, "a:3"), context.Canceled)
	assert.NilError(t, c.Close())
	assert.ErrorIs(t, c.Subscribe(t.Context(), "a:3"), rpc.ErrClosed)
}

// The acknowledgment may arrive before the stream is known.
func TestAcknowledgedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := watchToolbox(t, Options{}, (*scripted).modern, 0)
		stream := c.listening.Current()
		s := subscription.NewStream()
		s.Acknowledge(subscription.Ack{ID: stream.ID().String()}, 0)
		assert.Equal(t, len(s.Expect(stream)), 1)
		s.Acknowledge(subscription.Ack{}, 0) // another one does not block
		shut(t, c)
	})
}
