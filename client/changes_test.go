package client

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/internal/subscription"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A toolbox is a server whose list of tools grows by one at each tools/list. It counts these
// requests.
type toolbox struct {
	*scripted
	mu      sync.Mutex
	looks   int
	listens []message
}

func (b *toolbox) run() {
	for m := b.read(); m.line != ""; m = b.read() {
		b.mu.Lock()
		switch m.Method {
		case "tools/list":
			b.looks++
			names := strings.Fields(strings.Repeat("t ", b.looks))
			b.reply(m, page("", names...))
		case "subscriptions/listen":
			b.listens = append(b.listens, m)
			b.notify("notifications/subscriptions/acknowledged",
				fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}`,
					m.ID))
		}
		b.mu.Unlock()
	}
}

// changed sends n notifications that the list has changed.
func (b *toolbox) changed(n int) {
	for range n {
		b.mu.Lock()
		params := "{}"
		if len(b.listens) > 0 {
			params = fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}`,
				b.listens[len(b.listens)-1].ID)
		}
		b.notify("notifications/tools/list_changed", params)
		b.mu.Unlock()
	}
}

// watchToolbox connects to a toolbox. The channel receives the number of tools, and the time, for
// each callback.
func watchToolbox(t *testing.T, o Options, handshake func(*scripted), took time.Duration) (*Client,
	*toolbox, chan heard) {
	news := make(chan heard, 100)
	began := time.Now()
	o.OnToolsChanged = func(tools []*mcp.Tool, err error) {
		news <- heard{len(tools), time.Since(began), err}
		time.Sleep(took)
	}
	box := new(toolbox)
	c, err := o.Connect(t.Context(),
		stream(func(s *scripted) { box.scripted = s; handshake(s); box.run() }))
	assert.NilError(t, err)
	synctest.Wait()
	return c, box, news
}

type heard struct {
	tools int
	at    time.Duration
	err   error
}

func TestToolsChanged(t *testing.T) {
	for name, handshake := range map[string]func(*scripted){"modern": (*scripted).modern,
		"legacy": (*scripted).legacy} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, box, news := watchToolbox(t, Options{}, handshake, 0)
				assert.Equal(t, len(box.listens) == 1, name == "modern")
				assert.Equal(t, len(news), 0)
				box.changed(500)
				assert.Equal(t, <-news, heard{1, 100 * time.Millisecond, nil})
				time.Sleep(time.Minute)
				assert.Equal(t, box.looks, 1)
				box.changed(1)
				assert.Equal(t, <-news, heard{2, time.Minute + 200*time.Millisecond, nil})
				shut(t, c)
				assert.Equal(t, len(news), 0)
			})
		})
	}
}

// OnListChanged is called for a change, and nothing is fetched.
func TestListChanged(t *testing.T) {
	for name, handshake := range map[string]func(*scripted){"modern": (*scripted).modern,
		"legacy": (*scripted).legacy} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				changed := make(chan string, 10)
				box := new(toolbox)
				o := Options{OnListChanged: func(kind mcp.Kind) {
					changed <- kind.Info().ListMethod
				}}
				c, err := o.Connect(t.Context(),
					stream(func(s *scripted) { box.scripted = s; handshake(s); box.run() }))
				assert.NilError(t, err)
				synctest.Wait()
				box.changed(500)
				assert.Equal(t, <-changed, mcp.MethodListTools)
				time.Sleep(time.Minute)
				assert.Equal(t, len(changed)+box.looks, 0)
				shut(t, c)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		// the callback for the list itself has precedence
		c, box, news := watchToolbox(t, Options{OnListChanged: func(mcp.Kind) {
			panic("not this one")
		}, Logger: slog.New(slog.DiscardHandler)}, (*scripted).modern, 0)
		box.changed(1)
		assert.Equal(t, (<-news).tools, 1)
		time.Sleep(time.Minute)
		assert.Equal(t, c.routes[mcp.NotificationPromptListChanged] != nil, true)
		shut(t, c)
	})
}

// Continuous changes do not delay the list forever.
func TestToolsKeepChanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, box, news := watchToolbox(t, Options{}, (*scripted).legacy, 0)
		for range 30 {
			box.changed(1)
			time.Sleep(50 * time.Millisecond)
		}
		assert.Equal(t, <-news, heard{1, time.Second, nil})
		assert.Equal(t, <-news, heard{2, 1550 * time.Millisecond, nil})
		time.Sleep(time.Minute)
		assert.Equal(t, len(news), 0)
		shut(t, c)
	})
}

// A change during the callback causes one more fetch, and not a concurrent callback.
func TestToolsChangeDuringCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, box, news := watchToolbox(t, Options{}, (*scripted).legacy, 10*time.Second)
		box.changed(1)
		assert.Equal(t, <-news, heard{1, 100 * time.Millisecond, nil})
		for range 5 {
			box.changed(1)
			time.Sleep(time.Second)
		}
		assert.Equal(t, <-news, heard{2, 10200 * time.Millisecond, nil})
		time.Sleep(time.Minute)
		assert.Equal(t, len(news), 0)
		shut(t, c)
	})
}

// A callback may close the client that called it.
func TestCloseInCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *Client
		closed := make(chan error, 1)
		o := Options{OnToolsChanged: func([]*mcp.Tool, error) { closed <- c.Close() }}
		box := new(toolbox)
		ready := make(chan struct{})
		c, err := o.Connect(t.Context(), stream(func(s *scripted) {
			box.scripted = s
			s.legacy()
			close(ready)
			box.run()
		}))
		assert.NilError(t, err)
		<-ready
		box.changed(1)
		assert.NilError(t, <-closed)
		assert.NilError(t, c.Wait())
	})
}

func TestToolsChangedFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs := make(chan error, 1)
		var log bytes.Buffer
		o := Options{Logger: slog.New(slog.NewTextHandler(&log, nil)),
			OnToolsChanged: func(_ []*mcp.Tool, err error) { errs <- err; panic("boom") }}
		c, err := o.Connect(t.Context(), stream(func(s *scripted) {
			s.legacy()
			for range 2 {
				s.notify("notifications/tools/list_changed", `{}`)
				s.refuse(s.read(), -32603, "no tools today")
			}
		}))
		assert.NilError(t, err)
		for range 2 { // it is called again although it has panicked
			assert.Error(t, <-errs, `server "server": tools/list: no tools today (code -32603)`)
		}
		shut(t, c)
		assert.Assert(t,
			strings.Contains(log.String(),
				`msg="mcp client: a callback panicked" callback=OnToolsChanged panic=boom`),
			log.String())
	})
}

// If a modern server ends the stream, in either way, the client opens another with growing delays,
// and fetches what it may have missed.
func TestListenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, box, news := watchToolbox(t, Options{}, (*scripted).modern, 0)
		for i, after := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			began := time.Now()
			if last := box.listens[i]; i%2 == 0 {
				box.reply(last, `{"resultType":"complete"}`)
			} else {
				box.notify("notifications/cancelled", fmt.Sprintf(`{"requestId":%s}`, last.ID))
			}
			got := <-news
			assert.Equal(t, got.tools, i+1)
			assert.Equal(t, time.Since(began), after*time.Second+100*time.Millisecond)
			assert.Equal(t, len(box.listens), i+2)
		}
		time.Sleep(time.Minute) // a stream that lasts this long resets the delay
		box.reply(box.listens[8], `{"resultType":"complete"}`)
		began := time.Now()
		<-news
		assert.Equal(t, time.Since(began), 1100*time.Millisecond)
		shut(t, c)
	})
}

func TestListenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		listens := 0
		o := Options{Logger: slog.New(slog.NewTextHandler(&log, nil)),
			OnToolsChanged: func([]*mcp.Tool, error) {}}
		c, err := o.Connect(t.Context(), stream(func(s *scripted) {
			s.modern()
			for m := s.read(); m.line != ""; m = s.read() {
				listens++
				s.refuse(m, -32601, "Method not found")
			}
		}))
		assert.NilError(t, err)
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, listens, 1)
		shut(t, c)
		assert.Assert(t, strings.Contains(log.String(), `the server refuses subscriptions/listen`),
			log.String())
	})
}

func TestListenNotAgreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := Options{Logger: slog.New(slog.NewTextHandler(&log, nil)),
			OnToolsChanged: func([]*mcp.Tool, error) {}}
		c, err := o.Connect(t.Context(), stream(func(s *scripted) {
			// before the stream exists
			s.notify("notifications/subscriptions/acknowledged", `{"notifications":{}}`)
			s.modern()
			m := s.read()
			s.notify("notifications/subscriptions/acknowledged",
				fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{}}`,
					m.ID))
		}))
		assert.NilError(t, err)
		synctest.Wait()
		shut(t, c)
		assert.Equal(t, strings.Count(log.String(),
			"does not agree to send notifications/tools/list_changed"), 1)
	})
}

// Without a callback, or with a server that does not announce changes, no stream is opened.
func TestNoListen(t *testing.T) {
	for name, test := range map[string]struct {
		options  Options
		discover string
	}{
		"no callback": {Options{}, discovered},
		"a server without news": {Options{OnToolsChanged: func([]*mcp.Tool, error) {}},
			`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := make(chan message, 1)
				c, err := test.options.Connect(t.Context(), stream(func(s *scripted) {
					s.reply(s.read(), test.discover)
					next <- s.read()
				}))
				assert.NilError(t, err)
				shut(t, c)
				assert.Equal(t, (<-next).line, "")
			})
		})
	}
}

func TestSubscriptionEndsBeforeItIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := watchToolbox(t, Options{}, (*scripted).modern, 0)
		stream := c.listening.Current()
		s := subscription.NewStream()
		assert.Assert(t, !s.End(stream.ID()))
		s.Open(stream)
		err := stream.Wait(t.Context(), nil)
		assert.Assert(t, errors.Is(err, subscription.ErrEnded), "%v", err)
		shut(t, c)
	})
}
